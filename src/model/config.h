// The cluster's configuration as one typed value. It is parsed at the door and enters State as the
// event Configured; replay reads no file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/describe.h"
#include "base/time.h"
#include "model/node.h"

namespace phalanx {

// How waiting work is ordered and promised.
struct Policy {
  std::int64_t promises = 1;            // K: so many blocked workloads get a dated start (EASY: 1)
  std::int64_t weight_age = 0;          // PriorityWeightAge; with the next 0: order by submission
  std::int64_t weight_partition = 0;    // PriorityWeightPartition: for the largest job factor
  std::int64_t largest_job_factor = 1;  // of all partitions
  Duration max_age = hours(24 * 7);     // PriorityMaxAge
  bool backfill = true;
  bool operator==(const Policy&) const = default;
};
BOOST_DESCRIBE_STRUCT(Policy, (),
                      (promises, weight_age, weight_partition, largest_job_factor, max_age,
                       backfill))

struct Timers {
  Duration kill_wait = seconds(30);
  Duration min_job_age = seconds(300);
  Duration node_timeout = seconds(300);  // SlurmdTimeout: silent so long, a node is lost
  Duration suspect_after = seconds(15);  // silent so long, a node gets no new work
  Duration prepare_timeout =
      seconds(60);  // silent so long, or so long preparing or starting: it failed to launch
  Duration over_time_limit{};
  Duration backoff_first = seconds(1);  // after a failed launch: 1, 2, 4 … up to the next
  Duration backoff_most = minutes(5);
  Duration idempotency = minutes(30);
  Duration client_timeout = seconds(60);  // InactiveLimit: salloc or srun away so long; 0: for ever
  bool operator==(const Timers&) const = default;
};
BOOST_DESCRIBE_STRUCT(Timers, (),
                      (kill_wait, min_job_age, node_timeout, suspect_after, prepare_timeout,
                       over_time_limit, backoff_first, backoff_most, idempotency, client_timeout))

// A node that the configuration keeps back. drain: it joins, and gets no work until it is resumed.
// future: it is not shown before its agent joins.
enum class Standing { drain, future };
BOOST_DESCRIBE_ENUM(Standing, drain, future)
struct NodeStanding {
  std::string node;
  Standing standing = Standing::drain;
  std::string reason;
  bool operator==(const NodeStanding&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeStanding, (), (node, standing, reason))

struct ClusterConfig {
  std::string name = "phalanx";
  std::vector<NodeSpec>
      nodes;  // configured; an agent that joins under another name adds itself if `open`
  std::vector<NodeStanding> standings;  // of the nodes that are not simply in use
  std::vector<Partition> partitions;
  bool open = true;  // unknown nodes may join
  Policy policy;
  Timers timers;
  std::int64_t max_array_size = 1001;  // indexes are below it
  std::int64_t max_jobs = 1'000'000;
  JobNumber first_job = 1;
  bool requeue_by_default = true;  // JobRequeue
  bool count_memory = false;       // CR_…_Memory: what asks for none gets all of the node's
  bool enforce_limits = false;     // EnforcePartLimits: what no limit allows is refused, not queued
  bool kill_on_bad_exit = false;   // srun's defaults: KillOnBadExit and WaitTime
  Duration wait_time{};
  bool node_lost_confirm =
      false;                   // NodeLost=confirm: silence alone never proves that a node is dead
  bool append_output = false;  // JobFileAppend
  std::vector<std::string> operators;  // user names
  std::vector<std::pair<std::string, std::string>>
      shown;  // scontrol show config, as it was written
  bool operator==(const ClusterConfig&) const = default;
};
BOOST_DESCRIBE_STRUCT(ClusterConfig, (),
                      (name, nodes, standings, partitions, open, policy, timers, max_array_size,
                       max_jobs, first_job, requeue_by_default, count_memory, enforce_limits,
                       kill_on_bad_exit, wait_time, node_lost_confirm, append_output, operators,
                       shown))

}  // namespace phalanx
