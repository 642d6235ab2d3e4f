// batch/v1 Job → what the core keeps going (Completions with a Pod's WorkloadSpec). A Pod is one
// host process (image `host`): one container, command and args as its argv, limits as its request.
//
// The Pod's process starts in workingDir, else in the owner's home, else in /tmp; its output is
// <pod>.log there. CPUs: requests.cpu, else limits.cpu, else one. Memory: limits.memory, which is
// enforced, else requests.memory. GPUs: limits of nvidia.com/gpu. Pure, thread-safe; what is wrong
// comes back as causes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "dialect/kube/check.h"
#include "dialect/kube/json.h"
#include "model/object.h"

namespace phalanx::kube {

inline constexpr std::string_view kHostImage = "host";

struct JobContext {
  Identity owner;     // whom the Pods run as
  std::string home;   // of the owner; empty or "/": /tmp is used
  std::string shell;  // of the owner: SHELL
  Duration grace{};   // between TERM and KILL here (KillWait)
};

struct JobTranslation {
  Completions meaning;                // without `pod`
  std::shared_ptr<WorkloadSpec> pod;  // launch.environment is still empty: it names a blob
  std::string environment;            // that blob: NAME=value strings, each ended by NUL
  std::vector<Cause> causes;          // non-empty: the rest is of no use
};

// Fills in what users leave out, as Kubernetes does, and takes out the labels that the server puts
// into templates (clients send back what they were shown).
void set_job_defaults(json::object& body);
// `body` has passed check() and has its defaults.
JobTranslation translate_job(const json::object& body, const JobContext& context);
// What may not change once a Job exists.
std::vector<Cause> forbidden_changes(const json::object& before, const json::object& after);

}  // namespace phalanx::kube
