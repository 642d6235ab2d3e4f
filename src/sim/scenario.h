// A scenario: a cluster, the work that comes, what goes wrong, and what must hold. Parsed from the
// tables of a .scn file (test/scenario/README.md documents every column). Values; parsing is total
// and pure, and diagnoses each cell that it cannot read, unknown columns and names included.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "model/input.h"
#include "sim/table.h"

namespace phalanx::sim {

struct MachineRow {
  NodeSpec spec;
  Duration joins{};    // when its agent first connects
  Duration prepare{};  // to make room for an attempt
  Duration cleanup{};  // to clean up after one
  Duration link{};     // each message takes so long
};

// What a script does when it is run, and what it does when it is asked to stop.
struct Program {
  Duration runs = kForever;
  std::int32_t exit_code = 0;
  std::int32_t exit_signal = 0;
  bool out_of_memory = false;
  bool cannot_start = false;  // "no such directory": the user's fault
  Duration after_term{};      // TERM ends it so much later; kForever: it takes no notice
};

struct AfterRow {
  DependencyKind kind = DependencyKind::afterok;
  std::string on;  // the name of a workload; empty: singleton
  Duration delay{};
  bool any = false;
};

struct WorkRow {
  std::string name;
  Position at;
  Duration submit{};
  WorkloadSpec spec;
  bool tasks_given = false, runs_given = false;
  std::optional<Array> array;
  bool hold = false;
  std::optional<std::int64_t> priority;
  Duration begin{};
  std::vector<AfterRow> after;
  Program program;
};

enum class Verb {
  lose_node,
  return_node,
  cut_link,
  mend_link,
  slow_link,
  restart_agent,
  break_gpu,
  mend_gpu,
  refuse_prepare,
  hang_prepare,
  serve_prepare,
  drain_node,
  resume_node,
  down_node,
  kill_controller,
  set_partition,
  cancel,
  hold,
  release,
  requeue,
  set_limit,
  set_priority,
};

// One row of the table `at`.
struct Happening {
  Duration at{};
  Position where;
  Verb verb = Verb::cancel;
  std::string subject;  // a node, a partition or a workload: "A", "A_3", "A_[1-2]"
  Duration duration{};
  std::int64_t number = 0;
  std::string text;  // a reason
  PartitionState state = PartitionState::up;
  std::string by;  // who asks; empty: the owner or, for nodes, root
};

// One row of the table `expect`: "makespan <= 2h".
struct Expectation {
  Position where;
  std::string what;  // as written
  std::string metric, subject;
  std::string comparison;
  std::int64_t bound = 0;  // milliseconds for times
};

struct Play {
  Duration until = kForever;
  Duration step{};  // of the picture; zero: a round one that gives a dozen columns
  std::set<std::string> show{"story", "gantt"};
  std::optional<std::uint64_t> chaos;  // seed: links, agents and the controller fail at random
};

struct Scenario {
  std::string title;
  ClusterConfig config;
  std::vector<MachineRow> machines;
  std::vector<WorkRow> work;
  std::vector<Happening> happenings;
  std::vector<Expectation> expectations;
  Play play;
};

Parsed<Scenario> parse_scenario(std::string_view above, const std::string& file);

// A user by name; "root" is an operator.
Identity identity_of(const std::string& user);

// Internal to the parser: what one cell means for a row, for each kind of table.
Status set_work_cell(WorkRow& row, std::string_view column, std::string_view text);
std::vector<std::string_view> work_columns();
void finish_work_row(WorkRow& row);
Result<Happening> parse_happening(const std::vector<Cell>& row);

}  // namespace phalanx::sim
