// Label and field selectors: which of many objects a client means. One parser for both. A missing
// label satisfies != and notin. Pure, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/kube/json.h"

namespace phalanx::kube {

struct Requirement {
  enum class Operator { In, NotIn, Exists, Absent };
  std::string key;
  Operator op = Operator::Exists;
  std::vector<std::string> values;
  bool operator==(const Requirement&) const = default;
};

struct Selector {
  std::vector<Requirement> labels;  // of metadata.labels
  std::vector<Requirement> fields;  // of the whole object: "metadata.name"
};

// "app=web,tier!=db,env in (a, b),!old"
Result<std::vector<Requirement>> parse_requirements(std::string_view text);

bool matches(const Selector& selector, const json::value& object);

}  // namespace phalanx::kube
