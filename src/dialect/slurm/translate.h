// From a submission's options to the model: what sbatch, srun and salloc asked for becomes a
// WorkloadSpec, and what srun asks inside a job becomes a StepRequest. Every spelling of a wish
// lands in the same member, defaults are Slurm's, and what Phalanx cannot honour is refused with
// the reason.
//
// Pure. Errors are Error{Invalid} in Slurm's words where clients look for them. Memory in bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/slurm/client_wire.h"
#include "dialect/slurm/options.h"
#include "model/config.h"
#include "model/input.h"
#include "model/workload.h"

namespace phalanx::slurm {

// "No limit", asked for where the partition would put one: longer than anything runs.
inline constexpr Duration kNoLimit = hours(24 * 36'500);

// What a dependency's number stands for. `gone`: it ended and has left State; then only `ok` is
// known of it. `index`: of the array `id`, that element alone, which may be pending still.
struct KnownJob {
  WorkloadId id;
  bool gone = false;
  bool ok = false;
  std::optional<std::uint32_t> index = {};
};
using FindJob =
    std::function<std::optional<KnownJob>(JobNumber number, std::optional<std::uint32_t> index)>;

// In WorkloadSpec::asked: the numbers of the jobs that `dependencies` are on, in their order, by
// commas; a singleton's is empty.
inline constexpr const char* kDependencyNames = "dependency-jobs";

struct SubmitContext {
  const ClusterConfig& config;
  const Identity& who;
  const SubmitRequest& request;
  std::string script_blob, environment_blob;  // by hash; empty: none
  FindJob find_job;
  std::string partition;  // the one to take of the list in --partition; empty: its first
};

struct Submission {
  WorkloadSpec spec;  // with all warnings
  std::optional<Array> array;
  bool hold = false;
};

// The options that the request's tokens and its script ask for.
Parsed<JobOptions> read_options(const SubmitRequest& request, const ClusterConfig& config,
                                Time now);
Result<Submission> translate(const SubmitContext& context, const JobOptions& options);

// Tasks, nodes, CPUs, memory, GPUs.
struct Shape {
  TaskGroup group;
  bool tasks_given = false;
  std::vector<std::string> warnings;
};
Result<Shape> translate_shape(const ClusterConfig& config, const Partition* partition,
                              const JobOptions& options);  // translate_shape.cc
Result<std::vector<GpuRequest>> translate_gres(const std::vector<GresRequest>& list);
Result<std::vector<GpuRequest>> translate_gpus(const std::vector<GresRequest>& list);

// srun inside a job. `options` include what the job's own variables say (Origin::Environment).
struct StepPlan {
  StepRequest request;
  std::int64_t gpus_per_task = 0;  // each task is shown so many of the node's; 0: all
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // what the options themselves said when they were read
};
Result<StepPlan> translate_step(const Workload& w, const JobOptions& options,
                                const std::string& program);  // translate_step.cc

// One launcher a task where one a node was meant, as in "srun torchrun --nproc-per-node=8" with 8
// tasks a node: a warning for people; empty if there is nothing to say.
std::string launcher_warning(const std::string& script, const TaskGroup& group);

}  // namespace phalanx::slurm
