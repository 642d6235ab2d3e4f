// The columns of sacct, and its rows: a job, one of its earlier attempts, or a step. Internal to
// dialect/slurm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dialect/slurm/query.h"

namespace phalanx::slurm {

// What was measured of a row: sums over its nodes, and its largest part on one of them. Absent: not
// measured.
struct Measured {
  Used sum;  // memory_peak: the sum of the nodes' peaks
  std::optional<std::int64_t> peak;
  NodeId peak_node;
};

struct AccountRow {
  const JobRow* job = nullptr;
  const PastAttempt* attempt = nullptr;  // an earlier one (-D)
  std::optional<Step> step;              // kBatchStep: the script

  [[nodiscard]] std::string id(bool raw) const;
  [[nodiscard]] std::string state() const;  // "CANCELLED by 1001"
  [[nodiscard]] Time start() const;
  [[nodiscard]] Time end() const;  // zero: not yet
  [[nodiscard]] Duration elapsed() const;
  [[nodiscard]] std::vector<std::string> nodes() const;
  [[nodiscard]] std::int64_t cpus() const;
  [[nodiscard]] std::int64_t gpus() const;
  [[nodiscard]] std::string tres() const;  // held; empty: none
  [[nodiscard]] ExitCode exit_code() const;
  [[nodiscard]] Usage usage() const;            // what it cost so far
  [[nodiscard]] std::int64_t restarts() const;  // before it
  [[nodiscard]] Measured measured() const;
  [[nodiscard]] std::string node(NodeId id) const;  // its name
};

struct AccountStyle {
  Moments moments;
  char unit = 0;           // of memory: 'K', 'M', 'G', 'T'; 0: the largest exact one
  bool noconvert = false;  // as it was counted
};

struct AccountField {
  std::string_view name;
  int width;             // negative: aligned left
  bool of_jobs = false;  // empty for steps
  std::string (*text)(const AccountRow& row, const AccountStyle& style) = nullptr;  // null: unknown
};
std::span<const AccountField> account_fields();
// By name or the start of it, case ignored.
const AccountField* account_field(std::string_view name);

}  // namespace phalanx::slurm
