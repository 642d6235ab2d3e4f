#include "cli/verbs.h"

#include <array>

#include "cli/kubeconfig.h"
#include "cli/query.h"
#include "cli/salloc.h"
#include "cli/sbatch.h"
#include "cli/srun.h"

namespace phalanx::cli {
namespace {

constexpr std::array kVerbs{
    Verb{"sbatch", run_sbatch, "submit a script", true},
    Verb{"srun", run_srun, "run tasks in a job, or in one of their own", true},
    Verb{"salloc", run_salloc, "get nodes and run a command beside them", true},
    Verb{"squeue", run_query, "jobs that wait and run", true},
    Verb{"sinfo", run_query, "partitions and nodes", true},
    Verb{"scancel", run_query, "end jobs, or send them signals", true},
    Verb{"scontrol", run_query, "show and change jobs and nodes", true},
    Verb{"sacct", run_query, "jobs that have ended, and what they used", true},
    Verb{"why", run_query, "why a job waits, or how it ended"},
    Verb{"top", run_query, "the cluster as a picture"},
    Verb{"ledger", run_query, "GPU-, CPU- and memory-seconds by account and user"},
    Verb{"kubeconfig", kubeconfig_verb, "what kubectl needs to reach this cluster as you"},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace phalanx::cli
