// The front door of dialect/slurm: what Slurm's users write and read, as values of the model. Pure.
//
//   options.h, script.h    command lines, directives, environment variables of sbatch, srun, salloc
//   translate.h            what was asked for, as a WorkloadSpec
//   environment.h          the SLURM_* variables of a job and its tasks
//   client_wire.h          what those clients and the controller say to each other
//   view.h                 squeue, sinfo, scontrol, sacct, scancel, why, top, ledger: one function
//   conf.h, cluster_config.h  slurm.conf and gres.conf as a ClusterConfig
//   grammar.h, hostlist.h  the small languages inside values
#pragma once

#include "dialect/slurm/client_wire.h"
#include "dialect/slurm/cluster_config.h"
#include "dialect/slurm/conf.h"
#include "dialect/slurm/conf_cgroup.h"
#include "dialect/slurm/environment.h"
#include "dialect/slurm/grammar.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/options.h"
#include "dialect/slurm/script.h"
#include "dialect/slurm/translate.h"
#include "dialect/slurm/view.h"
