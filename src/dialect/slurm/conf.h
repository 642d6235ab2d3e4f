// slurm.conf as typed values. read_conf reads a file and its includes, applies DEFAULT lines,
// expands host lists, derives CPU counts and resolves partitions to node names; every key that is
// not given has the default that Slurm documents (where versions differ, 22.05's; SelectType is
// cons_tres, as in newer ones). What Phalanx does with each key is in conf_keys.h.
//
// Plain values, copied freely; pure and total: any bytes give a value and diagnostics with file and
// line. Units: Duration for times, MB where the name ends in _mb, micro-units where it ends in
// _micro. An absent optional means "no limit" or "not set"; an empty allow list means everybody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/time.h"
#include "dialect/slurm/conf_lines.h"

namespace phalanx::slurm {

using Words = std::vector<std::string>;

// Gres=gpu:h100:8 on a node.
struct NodeGres {
  std::string name, type;  // the type may be empty
  std::uint64_t count = 1;
  bool no_consume = false;
  auto operator<=>(const NodeGres&) const = default;
};

enum class NodeState { Unknown, Down, Drain, Fail, Failing, Future, Cloud };

struct NodeConf {
  std::string name, hostname, addr;  // the last two are the name where not given
  std::int64_t cpus = 1;
  std::int64_t boards = 1;
  std::int64_t sockets = 1;  // of the whole node
  std::int64_t cores_per_socket = 1;
  std::int64_t threads_per_core = 1;
  std::int64_t core_spec_count = 0;
  std::int64_t real_memory_mb = 1;
  std::int64_t mem_spec_limit_mb = 0;
  std::int64_t tmp_disk_mb = 0;
  std::int64_t weight = 1;
  Words features;
  std::vector<NodeGres> gres;
  NodeState state = NodeState::Unknown;
  std::string reason;
  Position at;
};

enum class PartitionState { Up, Down, Drain, Inactive };
enum class OverSubscribe { No, Yes, Force };
enum class PartitionExclusive { No, Node, User, Topo };

enum class PreemptMode { Off, Cancel, Requeue, Suspend };
struct Preemption {
  PreemptMode mode = PreemptMode::Off;
  bool gang = false;
  bool within = false;
  auto operator<=>(const Preemption&) const = default;
};

// SelectTypeParameters: what a job takes from a node.
enum class SelectUnit { Core, Cpu, Socket, Board, Node };
struct Selection {
  SelectUnit unit = SelectUnit::Core;
  bool memory = true;
  bool one_task_per_core = false;
  bool block_distribution = false;  // CR_CORE_DEFAULT_DIST_BLOCK
  bool least_loaded_nodes = false;  // CR_LLN
  bool pack_nodes = false;
  auto operator<=>(const Selection&) const = default;
};

// "mem=.25G" of TRESBillingWeights: weight_micro / 1e6 for every `per` base units (memory: MB).
struct TresWeight {
  std::string tres;
  std::int64_t weight_micro = 0;
  std::int64_t per = 1;
  auto operator<=>(const TresWeight&) const = default;
};

// Default and greatest memory of a job; at most one default is set. Zero: no limit. In a partition,
// absent: the cluster's.
struct MemoryLimits {
  std::optional<std::int64_t> def_per_cpu_mb, def_per_gpu_mb, def_per_node_mb;
  std::optional<std::int64_t> max_per_cpu_mb, max_per_node_mb;
  auto operator<=>(const MemoryLimits&) const = default;
};

struct PartitionConf {
  std::string name;
  std::string nodes_text;  // as written: "n[1-4]", "ALL"
  Words nodes;             // resolved, in the order of the NodeName lines
  bool is_default = false;
  PartitionState state = PartitionState::Up;
  Duration max_time = kForever;
  std::optional<Duration> default_time;  // absent: MaxTime
  std::int64_t min_nodes = 0;
  std::optional<std::int64_t> max_nodes;
  std::optional<std::int64_t> max_cpus_per_node, max_cpus_per_socket;
  std::optional<std::int64_t> def_cpu_per_gpu;
  MemoryLimits memory;
  std::int64_t priority_tier = 1;
  std::int64_t priority_job_factor = 1;
  OverSubscribe oversubscribe = OverSubscribe::No;
  std::int64_t oversubscribe_jobs =
      1;  // at most so many on one resource; 4 for YES and FORCE alone
  PartitionExclusive exclusive = PartitionExclusive::No;
  std::optional<Selection> select;
  Words allow_accounts, allow_groups, allow_qos, deny_accounts, deny_qos;
  std::string qos;
  bool hidden = false;
  bool root_only = false;
  bool require_reservation = false;
  bool least_loaded_nodes = false;
  std::optional<bool> disable_root_jobs;
  Duration grace_time{0};
  std::optional<Duration> over_time_limit;
  std::optional<Preemption> preempt;
  std::vector<TresWeight> billing;
  Position at;
};

struct ControllerHost {
  std::string name, addr;  // SlurmctldHost=name(addr); addr is the name where not given
  auto operator<=>(const ControllerHost&) const = default;
};

enum class PreemptType { None, PartitionPriority, Qos };
enum class EnforceLimits { No, Any, All };

struct PriorityConf {
  bool multifactor = true;  // as since 23.11; with all weights 0 it is priority/basic
  std::int64_t age = 0, assoc = 0, fairshare = 0, job_size = 0, partition = 0, qos = 0;  // weights
  std::vector<TresWeight> tres;
  Duration decay_half_life = hours(24 * 7);  // zero: usage never decays
  Duration calc_period = minutes(5);
  Duration max_age = hours(24 * 7);
  bool favor_small = false;
  Words flags;
  std::string usage_reset_period = "NONE";
};

// Programs of the administrator; a path may be a pattern such as /etc/slurm/prolog.d/*.
struct ScriptConf {
  Words prolog, epilog, prolog_slurmctld, epilog_slurmctld;
  std::string task_prolog, task_epilog, srun_prolog, srun_epilog, reboot_program;
  std::optional<Duration> prolog_timeout, epilog_timeout;  // absent: for ever
  Words prolog_flags;
};

struct Timers {
  Duration kill_wait = seconds(30);
  Duration min_job_age = seconds(300);     // zero: finished jobs are never forgotten
  Duration slurmd_timeout = seconds(300);  // zero: a silent node is never down
  Duration slurmctld_timeout = seconds(120);
  Duration inactive_limit = seconds(60);  // zero: none (Slurm's default)
  Duration over_time_limit{0};
  Duration batch_start_timeout = seconds(10);
  Duration unkillable_step_timeout = seconds(60);
  Duration complete_wait{0};
  Duration wait_time{0};
  Duration resv_over_run{0};
  Duration preempt_exempt_time{0};
};

struct SlurmConf {
  std::string cluster_name;
  std::vector<ControllerHost> controllers;  // the first is the primary
  std::string controller_addr;              // SlurmctldAddr: a virtual address; may be empty
  std::vector<NodeConf> nodes;
  std::vector<PartitionConf> partitions;

  Timers timers;
  PriorityConf priority;
  ScriptConf scripts;
  MemoryLimits memory;
  std::optional<std::int64_t> def_cpu_per_gpu;

  std::int64_t max_array_size = 1001;  // the greatest index is one less
  std::int64_t max_job_count = 10'000;
  std::int64_t first_job_id = 1;
  std::int64_t max_job_id = 67'043'328;
  std::int64_t max_step_count = 40'000;
  std::int64_t max_tasks_per_node = 512;
  std::int64_t max_batch_requeue = 5;
  std::int64_t return_to_service = 0;
  bool job_requeue = true;
  bool job_file_append = false;
  bool kill_on_bad_exit = false;
  bool disable_root_jobs = false;
  bool scron = false;
  bool backfill = true;
  bool whole_nodes = false;  // SelectType=select/linear
  EnforceLimits enforce_part_limits = EnforceLimits::No;
  PreemptType preempt_type = PreemptType::None;
  Preemption preempt;
  Selection select;
  Words gres_types, licenses, launch_parameters, private_data, accounting_enforce, accounting_tres;
  Words preempt_parameters, requeue_exit, requeue_exit_hold;
  Words propagate_limits = {"ALL"};
  Words propagate_limits_except;
  std::string mail_prog = "/bin/mail", mail_domain, mpi_default = "none", mpi_params;
  std::string tmp_fs = "/tmp", topology_plugin = "topology/default";
  std::string interactive_step_options = "--interactive --preserve-env --pty $SHELL";

  std::vector<ConfPair> raw;  // every global key as written, in order, for `scontrol show config`
};

Parsed<SlurmConf> read_conf(const ConfSource& source, const ReadFile& read = {});

}  // namespace phalanx::slurm
