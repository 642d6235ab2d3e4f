// A node as sinfo, scontrol and top show it: its state in Slurm's words and what is taken of it.
// Internal to dialect/slurm. Points into the View.
#pragma once

#include <string>
#include <vector>

#include "dialect/slurm/view.h"

namespace phalanx::slurm {

class NodeRow {
 public:
  NodeRow(const View& view, const Node& node);

  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] std::string state() const;    // "mixed", "drained*"
  [[nodiscard]] std::string compact() const;  // "mix", "drain*"
  [[nodiscard]] std::string flagged() const;  // "IDLE+DRAIN", as scontrol joins it
  [[nodiscard]] int rank() const;             // order of sinfo: drained ones first, down last
  [[nodiscard]] bool is(std::string_view state) const;  // a name that -t takes
  [[nodiscard]] bool usable() const;                    // up and not drained
  [[nodiscard]] bool busy() const;

  [[nodiscard]] std::int64_t cpus() const { return node_->spec.cpus; }
  [[nodiscard]] std::int64_t cpus_taken() const;
  [[nodiscard]] std::int64_t memory_mb() const;
  [[nodiscard]] std::int64_t memory_taken_mb() const;
  [[nodiscard]] std::int64_t gpus_taken() const;
  [[nodiscard]] std::string gres() const;       // "gpu:h100:8"; empty: none
  [[nodiscard]] std::string gres_used() const;  // "gpu:h100:2(IDX:0-1)"
  [[nodiscard]] bool emulated() const;          // it or its GPUs are there in name only
  [[nodiscard]] std::string features() const;   // empty: none
  [[nodiscard]] std::string load() const;       // of a minute, "1.87"; "N/A" while it is silent
  [[nodiscard]] std::string free_mb() const;    // memory that could be used now; "N/A"
  [[nodiscard]] std::string reason() const;     // why it is not usable, or a note; empty: none
  [[nodiscard]] WorkloadId holder(DeviceIndex device) const;

 private:
  enum class Base { down, idle, allocated, mixed, completing };
  [[nodiscard]] Base base() const;
  [[nodiscard]] bool silent() const;
  [[nodiscard]] const Heartbeat* vitals() const;

  const View* view_;
  const Node* node_;
  const NodeUse* use_;
};

// Amounts of all, "cpu=16,mem=62.50G,billing=16,gres/gpu=8".
std::string configured_tres(std::int64_t cpus, std::int64_t memory_mb, std::int64_t nodes,
                            std::int64_t gpus);
std::string partition_state(phalanx::PartitionState state);  // "up", "inact"

}  // namespace phalanx::slurm
