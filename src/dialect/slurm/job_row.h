// One line of a query's answer about work: a workload, live or archived, or what is still pending
// of an array. Rows give the facts in Slurm's words; each tool only arranges them. Internal to
// dialect/slurm. Rows point into the View and into JobRows, which must outlive them.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "dialect/slurm/view.h"

namespace phalanx::slurm {

// What squeue and sacct say as SystemComment where GPUs are there in name only.
inline constexpr const char* kEmulatedGpus = "emulated GPUs";

// "4711", "4711_3", "4711_[1-3,7]", "4711.0", "4711_3.batch".
struct JobName {
  JobNumber number = 0;
  std::optional<ArraySpec> indexes;
  std::optional<StepNumber> step;
};
std::optional<JobName> parse_job_name(std::string_view text);
std::string step_name(StepNumber step);  // "0", "batch"
Target to_target(const JobName& name);

struct Share {  // of the current or last attempt, with the node's name
  std::string node;
  const NodeShare* share = nullptr;
};

class JobRow {
 public:
  JobRow(const View& view, const Workload& workload);
  JobRow(const View& view, const Array& array, std::optional<std::uint32_t> index = {});

  [[nodiscard]] const View& view() const { return *view_; }
  [[nodiscard]] const Workload* workload() const { return workload_; }  // null: pending indexes
  [[nodiscard]] const Array* array() const { return array_; }  // null: none, or it has left State
  [[nodiscard]] const WorkloadSpec& spec() const { return *spec_; }
  [[nodiscard]] const TaskGroup& group() const { return spec_->groups.front(); }

  // --- names
  [[nodiscard]] JobNumber number() const;        // its own
  [[nodiscard]] JobNumber array_number() const;  // 0: not of an array
  // "3", "1-9%2" of pending indexes; empty: not of an array. `limit`: with its %limit.
  [[nodiscard]] std::string index_text(bool limit = true) const;
  [[nodiscard]] std::string id() const;  // "4711", "4711_3", "4711_[1-9%2]"
  [[nodiscard]] bool is_named(const JobName& name) const;

  // --- state
  [[nodiscard]] bool pending() const;
  [[nodiscard]] bool running() const;         // holds devices and nobody stops it
  [[nodiscard]] bool over() const;            // will not run again; its nodes may still clean up
  [[nodiscard]] std::string state() const;    // "COMPLETING", long name
  [[nodiscard]] std::string compact() const;  // "CG"
  [[nodiscard]] std::string base() const;     // the state behind COMPLETING and CONFIGURING
  [[nodiscard]] Reason why() const;
  [[nodiscard]] std::string reason() const;  // Slurm's word: "Resources", "None"
  [[nodiscard]] std::string reason_or_nodes() const;
  [[nodiscard]] std::int64_t priority() const;

  // --- times; zero: unknown
  [[nodiscard]] Time submitted() const;
  [[nodiscard]] Time eligible() const;
  [[nodiscard]] Time start() const;
  [[nodiscard]] Time expected_start() const;  // of pending work
  [[nodiscard]] Time end() const;             // real, or what the limit allows
  [[nodiscard]] Duration elapsed() const;
  [[nodiscard]] Duration limit() const;
  [[nodiscard]] Duration time_left() const;

  // --- where and how much
  [[nodiscard]] std::vector<Share> shares() const;
  [[nodiscard]] std::string nodes() const;       // a host list; empty: nowhere yet
  [[nodiscard]] std::string first_node() const;  // empty: nowhere yet
  [[nodiscard]] std::int64_t node_count() const;
  [[nodiscard]] std::int64_t tasks() const;
  [[nodiscard]] std::int64_t cpus() const;
  [[nodiscard]] std::int64_t memory_mb() const;
  [[nodiscard]] std::int64_t gpus() const;
  [[nodiscard]] bool emulated() const;  // it holds or held GPUs that are there in name only
  [[nodiscard]] std::string tres_asked() const;     // "cpu=4,mem=4000M,node=1,billing=4,gres/gpu=2"
  [[nodiscard]] std::string tres_held() const;      // empty: none yet
  [[nodiscard]] std::string tres_per_node() const;  // "gres:gpu:h100:2"; empty: none
  [[nodiscard]] std::string tres_per_job() const;
  [[nodiscard]] std::string tres_per_task() const;
  [[nodiscard]] std::string min_memory() const;  // "1000M", per CPU or per node
  [[nodiscard]] bool memory_is_per_cpu() const;

  // Those that are not satisfied yet: "afterok:225(unfulfilled)"; empty: none.
  [[nodiscard]] std::string dependency() const;
  [[nodiscard]] std::string output(const std::string& pattern, bool error_file) const;
  [[nodiscard]] ExitCode exit_code() const;

 private:
  [[nodiscard]] std::string one_dependency(std::size_t index) const;

  const View* view_;
  const Workload* workload_ = nullptr;
  const Array* array_ = nullptr;
  const WorkloadSpec* spec_;
  std::optional<std::uint32_t> index_;  // this pending one
};

// What a query looks at, in the order of numbers.
struct JobRows {
  std::deque<Workload> past;  // those that have left State
  std::vector<JobRow> rows;
};
struct RowsWanted {
  bool each_index = false;         // pending array indexes as rows of their own
  std::optional<PastFilter> past;  // none: only what State has
};
JobRows job_rows(const View& view, const RowsWanted& wanted);
// All rows that a name or a list of names means; unknown names are listed in `unknown`.
JobRows find_jobs(const View& view, const std::vector<JobName>& names, bool with_past,
                  std::vector<JobName>& unknown);

std::string state_of(EndCause cause);  // "COMPLETED"
std::string node_name(const State& state, NodeId id);
// "JobHeldUser"; the reasons of waiting work in Slurm's words.
std::string reason_word(const Reason& reason);

// Amounts of devices by type, in words: "gres/gpu=2,gres/gpu:h100=2".
std::string tres_text(std::int64_t cpus, std::int64_t memory_mb, std::int64_t nodes,
                      const std::map<std::string, std::int64_t>& gpus);
std::int64_t to_mbytes(std::int64_t bytes);  // rounded up

// --- what it cost, to the millisecond, by the ledger's rules (ledger/ledger.h)

// How long work ran, as far as its first node measured it: what its shares are charged for. Of the
// attempt that is current, or else of the last one; zero where it never was launched.
Duration ran(const PastAttempt& attempt);
Duration ran(const View& view, const Workload& work);

// Sums of what it cost: years of MiB-milliseconds of a large cluster are more than 64 bits hold.
__extension__ using Wide = __int128;
std::string exact_seconds(Wide ms);  // "12.345"

}  // namespace phalanx::slurm
