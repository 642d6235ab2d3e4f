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
  std::int64_t promises = 1;         // K: so many blocked workloads get a dated start (EASY: 1)
  std::int64_t weight_age = 0;       // PriorityWeightAge…; 0: order by submission
  Duration max_age = hours(24 * 7);  // PriorityMaxAge
  bool backfill = true;
  bool operator==(const Policy&) const = default;
};
BOOST_DESCRIBE_STRUCT(Policy, (), (promises, weight_age, max_age, backfill))

struct Timers {
  Duration kill_wait = seconds(30);
  Duration min_job_age = seconds(300);
  Duration node_timeout = seconds(300);  // SlurmdTimeout: silent so long, a node is lost
  Duration suspect_after = seconds(15);  // silent so long, a node gets no new work
  Duration prepare_timeout =
      seconds(60);  // silent so long while preparing, an attempt has failed to launch
  Duration over_time_limit{};
  Duration backoff_first = seconds(1);  // after a failed launch: 1, 2, 4 … up to the next
  Duration backoff_most = minutes(5);
  Duration idempotency = minutes(30);
  bool operator==(const Timers&) const = default;
};
BOOST_DESCRIBE_STRUCT(Timers, (),
                      (kill_wait, min_job_age, node_timeout, suspect_after, prepare_timeout,
                       over_time_limit, backoff_first, backoff_most, idempotency))

struct ClusterConfig {
  std::string name = "phalanx";
  std::vector<NodeSpec>
      nodes;  // configured; an agent that joins under another name adds itself if `open`
  std::vector<Partition> partitions;
  bool open = true;  // unknown nodes may join
  Policy policy;
  Timers timers;
  std::int64_t max_array_size = 1001;  // indexes are below it
  std::int64_t max_jobs = 1'000'000;
  JobNumber first_job = 1;
  bool requeue_by_default = true;  // JobRequeue
  bool node_lost_confirm =
      false;                   // NodeLost=confirm: silence alone never proves that a node is dead
  bool append_output = false;  // JobFileAppend
  bool allow_root_jobs = true;
  std::vector<std::string> operators;  // user names
  std::vector<std::pair<std::string, std::string>>
      shown;  // scontrol show config, as it was written
  bool operator==(const ClusterConfig&) const = default;
};
BOOST_DESCRIBE_STRUCT(ClusterConfig, (),
                      (name, nodes, partitions, open, policy, timers, max_array_size, max_jobs,
                       first_job, requeue_by_default, node_lost_confirm, append_output,
                       allow_root_jobs, operators, shown))

}  // namespace phalanx
