// The variables that a job, its batch script and the tasks of a step see, and the names of its
// output files. What is set is Slurm's (SLURM_*), the choice of GPUs (CUDA_VISIBLE_DEVICES and its
// kin), and a meeting point for torch and others (MASTER_ADDR, MASTER_PORT, RDZV_ENDPOINT: no other
// job on these nodes has this port).
//
// GPUs are isolated for the whole job on a node; tasks are told apart by variables only, so that
// ranks can reach each other's devices. CUDA_VISIBLE_DEVICES therefore counts the job's devices on
// that node, from 0, as a comma list; SLURM_JOB_GPUS and SLURM_STEP_GPUS name the machine's.
// Without a GPU it is not set.
//
// SLURM_UMASK and SLURM_TASK_PID are the agent's to set. What only Slurm's own wire would make true
// is not set: SLURM_LAUNCH_NODE_IPADDR, SLURM_SRUN_COMM_HOST and _PORT, SLURM_STEP_LAUNCHER_PORT,
// SLURM_WORKING_CLUSTER. No CPUs are bound, and SLURM_CPU_BIND says so.
//
// Pure. Environments are lists of NAME=value; in those of steps an entry without '=' removes a
// variable.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dialect/slurm/grammar.h"
#include "model/state.h"
#include "model/wire.h"

namespace phalanx::slurm {

using Variables = std::map<std::string, std::string>;

// What a submission takes along: --export applied to the submitter's environment, without what an
// outer job or step left there. `home` and the like stay even with NONE.
std::vector<std::string> submitted_environment(const std::vector<std::string>& all,
                                               const ExportSpec& spec);
// What srun's tasks take along of srun's own environment.
std::vector<std::string> step_base_environment(const std::vector<std::string>& all,
                                               const std::optional<ExportSpec>& spec);

// Of the job as a whole; also what salloc gives its command. `w` has nodes.
Variables job_variables(const State& state, const Workload& w);
// Of the batch script on the first node, over `submitted`.
std::vector<std::string> batch_environment(const State& state, const Workload& w,
                                           const std::vector<std::string>& submitted);

// Of a step on the node of `share`, complete; and beside it one list per rank. With `gpus_per_task`
// each task is shown its own devices of the share, else all of them.
std::vector<std::string> step_environment(const State& state, const Workload& w, const Step& step,
                                          const StepShare& share);
std::vector<std::vector<std::string>> task_environments(const Workload& w, const StepShare& share,
                                                        const State& state,
                                                        std::int64_t gpus_per_task);

// A batch job's file, absolute. `pattern` empty: "slurm-%j.out", or for an array's element
// "slurm-%A_%a.out".
std::string output_path(const State& state, const Workload& w, const std::string& pattern);
// A file that was named, expanded and made absolute; empty stays empty.
std::string named_path(const State& state, const Workload& w, const std::string& pattern);

}  // namespace phalanx::slurm
