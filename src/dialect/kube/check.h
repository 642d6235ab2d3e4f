// An object from a client → the part that we keep, and everything that is wrong with it: members of
// the wrong type, unknown ones, and those that ask for what cannot be done here. Follows schema.h.
// Pure, thread-safe; findings are values, never failures.
#pragma once

#include <string>
#include <vector>

#include "dialect/kube/json.h"
#include "dialect/kube/schema.h"

namespace phalanx::kube {

// One reason why an object is invalid, as Status objects list them.
struct Cause {
  std::string reason;  // "FieldValueInvalid", "FieldValueRequired", "FieldValueNotSupported"
  std::string field;   // "spec.template.spec.containers[0].image"
  std::string message;
  bool operator==(const Cause&) const = default;
};
Cause bad_value(std::string field, std::string message);
Cause missing(std::string field, std::string message);
Cause unsupported(std::string field, std::string message);

struct Checked {
  json::object object;                // without what is unknown, null or the server's own
  std::vector<std::string> mistyped;  // "spec.parallelism: must be a whole number"
  std::vector<std::string> unknown;   // "spec.foo"
  std::vector<Cause> refused;
  std::vector<std::string> warnings;
};

Checked check(const json::value& object, const Message& message);

// What a name of an object or of a namespace must look like (RFC 1123); empty if it is fine.
std::string fault_of_name(std::string_view name);

}  // namespace phalanx::kube
