// Mutable documents of a dialect: what `kubectl` creates, gets and deletes. `body` is what the user
// owns (metadata and spec, as JSON text); `meaning` the model value that the dialect translated it
// to at the door, so that replay needs no parser. Status is never stored: the dialect projects it
// from State.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/describe.h"
#include "base/time.h"
#include "model/workload.h"

namespace phalanx {

// "batch/jobs/default/train": group (empty for the core group), resource, namespace (empty:
// cluster-wide), name.
struct ObjectKey {
  std::string group, resource, space, name;
  auto operator<=>(const ObjectKey&) const = default;
  bool operator==(const ObjectKey&) const = default;
};
BOOST_DESCRIBE_STRUCT(ObjectKey, (), (group, resource, space, name))
std::string to_string(const ObjectKey& key);
ObjectKey parse_object_key(std::string_view text);  // the inverse; missing parts are empty

// Inert: stored and given back (ConfigMap, Namespace).
struct Inert {
  PHALANX_NAMED(Inert);
  bool operator==(const Inert&) const = default;
};
BOOST_DESCRIBE_STRUCT(Inert, (), ())

// Keeps workloads of a template going until enough have succeeded (batch/v1 Job).
struct Completions {
  PHALANX_NAMED(Completions);
  std::int64_t parallelism = 1;
  std::int64_t completions = 1;
  std::int64_t backoff_limit = 6;
  bool suspended = false;
  std::shared_ptr<const WorkloadSpec>
      pod;  // `object` is set to this object's key; names are <name>-<index>
  bool operator==(const Completions&) const = default;
};
BOOST_DESCRIBE_STRUCT(Completions, (), (parallelism, completions, backoff_limit, suspended, pod))

using Meaning = std::variant<Inert, Completions>;

struct Object {
  ObjectKey key;
  std::string uid;
  std::string version;  // apiVersion as stored: "batch/v1"
  std::string kind;
  std::int64_t generation = 1;
  Time created{};
  std::optional<Time> deleting;      // waits for its workloads to go
  std::uint32_t owner = 0xffffffff;  // uid of the creator: who may change or delete it
  std::map<std::string, std::string> labels;
  std::string body;
  Meaning meaning;
  std::vector<WorkloadId> workloads;  // made for it and still known
  // Completions: what the workloads that have left State came to.
  std::int64_t succeeded = 0, failed = 0, made = 0;
  std::optional<Time> started, completed;
  bool operator==(const Object&) const = default;
};
BOOST_DESCRIBE_STRUCT(Object, (),
                      (key, uid, version, kind, generation, created, deleting, owner, labels, body,
                       meaning, workloads, succeeded, failed, made, started, completed))

}  // namespace phalanx
