// The small languages inside Slurm's option values: times, memory, counts, signals, arrays,
// dependencies, gres, exports, constraints, output patterns, state names. Each has a parser and,
// where Slurm prints it, a printer that gives Slurm's form; parse(print(x)) is x.
//
// Pure functions over text. Local time enters as a Zone and the hour as an argument; nothing is
// read from outside. Memory is in whole MiB, times in Duration with kForever for "no limit". Errors
// are Error{Invalid} that quote the value and say what to write. Nothing expands beyond the bounds
// that are named here.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace phalanx::slurm {

// --- times (grammar_time.cc)
// --------------------------------------------------------------------------- The six forms m, m:s,
// h:m:s, d-h, d-h:m, d-h:m:s, to the second; "-1", UNLIMITED and INFINITE are kForever.
Result<Duration> parse_time(std::string_view text);
// A job's limit: as above, rounded up to whole minutes; a written 0 means no limit.
Result<Duration> parse_time_limit(std::string_view text);
std::string print_time(Duration d);  // "5:00", "1:03:00", "1-02:00:00", "UNLIMITED": squeue
std::string print_time_padded(
    Duration d);  // "00:05:00", "1-02:00:00", "UNLIMITED": scontrol, sacct

// The offset of local time from UTC: `offset` at first, then that of the last transition that has
// passed.
struct Zone {
  struct Change {
    Time at{};
    Duration offset{};
    bool operator==(const Change&) const = default;
  };
  Duration offset{};
  std::vector<Change> changes;  // ascending
  bool operator==(const Zone&) const = default;
};
BOOST_DESCRIBE_STRUCT(Zone::Change, (), (at, offset))
BOOST_DESCRIBE_STRUCT(Zone, (), (offset, changes))

struct CivilTime {
  int year = 1970, month = 1, day = 1;
  int hour = 0, minute = 0, second = 0;
  auto operator<=>(const CivilTime&) const = default;
};
CivilTime to_civil(Time t, const Zone& zone);
// A local time that occurs twice is the first of the two; one that is skipped is the moment after
// the jump.
Time from_civil(const CivilTime& civil, const Zone& zone);

// --begin, --deadline, -S, -E: "now+1hour", "16:00", "4:30pm", "tomorrow", "noon", "teatime",
// "12/25", "2026-12-01T10:00", a time and a date together. A time of day that has passed is
// tomorrow's.
Result<Time> parse_moment(std::string_view text, Time now, const Zone& zone);
std::string print_moment(Time t, const Zone& zone);  // "2026-12-25T01:55:55"; kNever: "Unknown"

// --- sizes, counts, signals (grammar.cc)
// ---------------------------------------------------------------
// --mem and its kin: a whole number of K, M, G or T with an optional B, all 1024-based; bare: MB; K
// rounds up.
Result<std::int64_t> parse_mbytes(std::string_view text);
std::string print_mbytes(std::int64_t mbytes);  // in the largest unit that is exact: "32G", "1536M"
// gres, TRES and burst buffers: k, m, g, t, p and kib… are powers of 1024, kb, mb… powers of 1000.
Result<std::uint64_t> parse_count(std::string_view text);
// A positive whole number, for --ntasks and the like; the error names the option.
Result<std::uint32_t> parse_positive(std::string_view text, std::string_view option);

struct NodeCount {
  std::uint32_t min = 0, max = 0;
  bool operator==(const NodeCount&) const = default;
};
BOOST_DESCRIBE_STRUCT(NodeCount, (), (min, max))
Result<NodeCount> parse_nodes(std::string_view text);  // "2", "1-4", "1k"
std::string print_nodes(const NodeCount& nodes);

// A signal's number: "USR1", "SIGUSR1", "10".
Result<int> parse_signal_name(std::string_view text);
std::string print_signal_name(int signal);  // "USR1"; the number where it has no name
struct SignalSpec {
  int signal = 0;
  std::uint32_t seconds = 60;  // before the end of the limit
  bool batch_only = false;     // B: the batch shell, not the steps
  bool reservation = false;    // R: also when a reservation comes
  bool operator==(const SignalSpec&) const = default;
};
BOOST_DESCRIBE_STRUCT(SignalSpec, (), (signal, seconds, batch_only, reservation))
Result<SignalSpec> parse_signal(std::string_view text);  // "[{R|B|RB}:]sig[@seconds]"
std::string print_signal(const SignalSpec& spec);

struct ExitCode {
  int code = 0, signal = 0;
  bool operator==(const ExitCode&) const = default;
};
BOOST_DESCRIBE_STRUCT(ExitCode, (), (code, signal))
std::string print_exit_code(ExitCode exit);  // "0:9"

// "2(x3),1": runs of equal numbers, in order, as in SLURM_TASKS_PER_NODE.
std::string print_runs(std::span<const std::uint32_t> numbers);
Result<std::vector<std::uint32_t>> parse_runs(std::string_view text, std::size_t limit = 65'536);

// --mail-type: upper-case names; "NONE" gives none.
Result<std::vector<std::string>> parse_mail_types(std::string_view text);

struct StateName {
  std::string_view name, compact;
};
// Base states first, then the flags in the order in which squeue lets them hide the base state.
std::span<const StateName> job_state_names();
// By long or compact name, case ignored.
std::optional<StateName> find_job_state(std::string_view text);

// --- requests (grammar_request.cc)
// ---------------------------------------------------------------------
inline constexpr std::uint32_t kMaxArraySize = 4'000'001;  // Slurm's own bound for its MaxArraySize

// Indexes of an array: a set, kept as ranges in canonical order. `first` to `last` by `step`.
struct IndexRange {
  std::uint32_t first = 0, last = 0, step = 1;
  bool operator==(const IndexRange&) const = default;
};
BOOST_DESCRIBE_STRUCT(IndexRange, (), (first, last, step))
struct ArraySpec {
  std::vector<IndexRange> ranges;
  std::uint32_t at_once = 0;  // %N; 0: no limit
  bool operator==(const ArraySpec&) const = default;
};
BOOST_DESCRIBE_STRUCT(ArraySpec, (), (ranges, at_once))
// Brackets are optional; duplicates merge; every index is below max_size (MaxArraySize).
Result<ArraySpec> parse_array(std::string_view text, std::uint32_t max_size = kMaxArraySize);
std::string print_array(const ArraySpec& spec);  // "0-8:2%3", "1-2,6-9"
std::uint64_t array_count(const ArraySpec& spec);
bool array_contains(const ArraySpec& spec, std::uint32_t index);
// Any list of indexes, sorted and without duplicates, as canonical ranges.
std::vector<IndexRange> fold_indexes(std::span<const std::uint32_t> sorted);

enum class DependencyKind {
  After,
  AfterAny,
  AfterOk,
  AfterNotOk,
  AfterCorr,
  AfterBurstBuffer,
  Expand,
  Singleton
};
BOOST_DESCRIBE_ENUM(DependencyKind, After, AfterAny, AfterOk, AfterNotOk, AfterCorr,
                    AfterBurstBuffer, Expand, Singleton)
struct Dependency {
  DependencyKind kind = DependencyKind::AfterAny;
  std::uint32_t job = 0;
  std::optional<std::uint32_t> index;  // job_index
  std::uint32_t minutes = 0;           // after:job+minutes
  bool operator==(const Dependency&) const = default;
};
BOOST_DESCRIBE_STRUCT(Dependency, (), (kind, job, index, minutes))
struct DependencyList {
  std::vector<Dependency> items;
  bool any = false;  // joined by '?': one is enough
  bool operator==(const DependencyList&) const = default;
};
BOOST_DESCRIBE_STRUCT(DependencyList, (), (items, any))
Result<DependencyList> parse_dependencies(std::string_view text);  // empty and "0": none
std::string print_dependency(const Dependency& dependency);        // "afterok:225", "after:225+1"
std::string print_dependencies(const DependencyList& list);

struct GresRequest {
  std::string name, type;  // type: empty is any
  std::uint64_t count = 1;
  bool operator==(const GresRequest&) const = default;
};
BOOST_DESCRIBE_STRUCT(GresRequest, (), (name, type, count))
// "gpu:a100:2,gpu:v100", "gres/gpu=2"; "none": empty.
Result<std::vector<GresRequest>> parse_gres(std::string_view text);
// --gpus and its kin, "4" or "a100:4,v100:2": the word before the colon is a type.
Result<std::vector<GresRequest>> parse_gpus(std::string_view text);
std::string print_gres(std::span<const GresRequest> list);  // "gpu:a100:2"

enum class ExportBase { All, None, Nil, Listed };
BOOST_DESCRIBE_ENUM(ExportBase, All, None, Nil, Listed)
struct ExportSpec {
  ExportBase base = ExportBase::All;
  std::vector<std::string> names;             // taken from the submitter's environment
  std::map<std::string, std::string> values;  // set here
  bool operator==(const ExportSpec&) const = default;
};
BOOST_DESCRIBE_STRUCT(ExportSpec, (), (base, names, values))
// ALL, NONE, NIL, names, NAME=value; quotes in a value keep its commas and blanks.
Result<ExportSpec> parse_export(std::string_view text);

enum class ConstraintKind { Feature, And, Or, OneOf };
BOOST_DESCRIBE_ENUM(ConstraintKind, Feature, And, Or, OneOf)
struct Constraint {
  ConstraintKind kind = ConstraintKind::Feature;
  std::string feature;      // Feature only
  std::uint32_t count = 0;  // *N: on so many nodes; 0: on all
  std::vector<Constraint> parts;
  bool operator==(const Constraint&) const = default;
};
BOOST_DESCRIBE_STRUCT(Constraint, (), (kind, feature, count, parts))
// '&' and ',' are AND, '|' is OR, read from left to right as Slurm does; (…) groups; [a|b] is the
// same one of them on all nodes; x*N counts nodes. At most 16 groups deep.
Result<Constraint> parse_constraint(std::string_view text);
std::string print_constraint(const Constraint& constraint);
// Whether one node with these features may serve; counts and OneOf join several nodes and are the
// caller's.
bool constraint_allows(const Constraint& constraint, std::span<const std::string> features);

// --- output files (grammar.cc)
// -------------------------------------------------------------------------
struct PatternValues {
  std::string job_name, user, node_name, sluid;
  std::string step = "batch";  // or the number of the step
  std::uint32_t job_id = 0;
  std::uint32_t array_job_id = 0;            // 0: not an array
  std::optional<std::uint32_t> array_index;  // absent: %a is 4294967294
  std::uint32_t node_index = 0, task = 0, restarts = 0;
};
// %j, %4j, %A… in --output; a backslash anywhere switches expansion off and is dropped; unknown
// symbols stay.
std::string expand_pattern(std::string_view pattern, const PatternValues& values);

}  // namespace phalanx::slurm
