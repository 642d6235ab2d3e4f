// State → the objects that clients see. What users own comes from the stored body; status is never
// stored but read off State. Pods and Events are views too: a Pod is a workload that was made for a
// Job, an Event the Reason why one waits or how it failed. Pure, thread-safe, no errors.
#pragma once

#include <string>
#include <vector>

#include "dialect/kube/json.h"
#include "model/object.h"
#include "model/reason.h"
#include "model/state.h"

namespace phalanx::kube {

// `version` is the resourceVersion: the sequence number of the last event that touched it.
json::object object_json(const State& state, const Object& object, std::uint64_t version);
// The namespace that exists without anybody having made it.
inline constexpr std::string_view kDefaultNamespace = "default";
json::object default_namespace();

// `job` is the object that `pod` was made for; a finished Pod may come from the archive.
json::object pod_json(const State& state, const Outlook& outlook, const Object& job,
                      const Workload& pod, std::uint64_t version);
std::string pod_uid(const Object& job, WorkloadId pod);

// About one Pod and its Job; none while there is nothing to tell.
std::vector<json::object> events_json(const State& state, const Outlook& outlook, const Object& job,
                                      const Workload& pod, std::uint64_t version);

}  // namespace phalanx::kube
