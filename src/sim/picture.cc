// What is drawn and counted at the end of a story: the text itself, the picture, the ledger, the
// expectations.
#include <algorithm>

#include "base/text.h"
#include "sim/story.h"
#include "sim/words.h"

namespace phalanx::sim {
namespace {

constexpr std::size_t kTimeWidth = 8, kWhatWidth = 9, kWhereWidth = 16;
constexpr Duration kSteps[] = {seconds(1), seconds(5), seconds(10), seconds(30), minutes(1),
                               minutes(2), minutes(5), minutes(10), minutes(20), minutes(30),
                               hours(1),   hours(2),   hours(6),    hours(12),   hours(24)};
constexpr int kMostColumns = 18;

std::string show(Time t) { return to_string(t - kStart); }

}  // namespace

Time Story::horizon() const {
  Time end = kStart;
  for (const Bar& bar : bars_)
    if (bar.id) end = std::max(end, bar.to.value_or(world_.now()));
  return end;
}

std::string Story::text() const {
  std::string out;
  const auto add = [&](const std::string& part) {
    if (!out.empty() && !part.empty()) out += '\n';
    out += part;
  };
  const auto& show_parts = scenario_.play.show;
  if (show_parts.contains("story")) add(story());
  if (show_parts.contains("gantt")) add(gantt());
  if (show_parts.contains("ledger")) add(ledger());
  if (!scenario_.expectations.empty()) add(expectations());
  return out;
}

std::string Story::story() const {
  std::size_t who = 0;
  for (const Line& line : lines_) who = std::max(who, line.who.size());
  std::string out;
  for (const Line& line : lines_) {
    // Where there is a place but no reason, or the other way round, the columns stay.
    out +=
        without_trailing_blanks(pad(show(line.at), kTimeWidth) + pad(line.what, kWhatWidth) +
                                pad(line.who, who + 2) + pad(line.where, kWhereWidth) + line.why) +
        '\n';
  }
  return out;
}

// Who holds something on the node in this stretch of time; "." nobody; "x" it is down; "/" drained.
std::string Story::cell(NodeId node, Time from, Time to) const {
  std::vector<std::string> names;
  std::string mark = ".";
  for (const Bar& bar : bars_) {
    if (bar.node != node || bar.from >= to || bar.to.value_or(kNever) <= from) continue;
    if (!bar.id) {
      if (mark != "x") mark = bar.name;
    } else if (std::find(names.begin(), names.end(), bar.name) == names.end()) {
      names.push_back(bar.name);
    }
  }
  if (names.empty()) return mark;
  const bool letters =
      std::all_of(names.begin(), names.end(), [](const std::string& n) { return n.size() == 1; });
  return join(names, letters ? "" : ",");
}

std::string Story::gantt() const {
  const Time end = horizon();
  if (end == kStart) return "";
  Duration step = scenario_.play.step;
  for (const Duration d : kSteps)
    if (step == Duration{} && (end - kStart) / d < kMostColumns) step = d;
  if (step == Duration{}) step = hours(24);
  std::vector<std::vector<std::string>> rows{{"gantt"}};
  for (Time t = kStart; t < end; t += step) rows.front().push_back(show(t));
  for (const NodeId node : nodes_) {
    rows.push_back({node_names_.at(node)});
    for (Time t = kStart; t < end; t += step) rows.back().push_back(cell(node, t, t + step));
  }
  std::size_t first = kTimeWidth, width = 6;
  for (const auto& row : rows) {
    first = std::max(first, row.front().size() + 1);
    for (std::size_t i = 1; i < row.size(); ++i) width = std::max(width, row[i].size() + 1);
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = pad(row.front(), first);
    for (std::size_t i = 1; i < row.size(); ++i) line += pad(row[i], width);
    out += without_trailing_blanks(line) + '\n';
  }
  return out;
}

// What each finished workload cost: amounts times the time they were held, over all its attempts.
std::string Story::ledger() const {
  std::string out = "ledger  gpu-time    cpu-time    node-time\n";
  for (const Workload& w : world_.archive()) {
    const std::string line =
        pad(label(w.id), kTimeWidth) + pad(to_string(Duration(w.charged.gpu_ms)), 12) +
        pad(to_string(Duration(w.charged.cpu_ms)), 12) + to_string(Duration(w.charged.node_ms));
    out += line + '\n';
  }
  return out;
}

// --- expectations

std::int64_t Story::measure(const Expectation& e) const {
  const Time end = horizon();
  if (e.metric == "makespan") return (end - kStart).count();
  if (e.metric == "starved")
    return std::count_if(lives_.begin(), lives_.end(),
                         [](const auto& life) { return !life.second.started; });
  if (e.metric == "utilisation") {
    std::int64_t gpus = 0, held = 0;
    for (const MachineRow& m : scenario_.machines)
      gpus += static_cast<std::int64_t>(m.spec.devices.size());
    for (const Bar& bar : bars_) held += bar.gpus * (bar.to.value_or(end) - bar.from).count();
    const std::int64_t all = gpus * (end - kStart).count();
    return all == 0 ? 0 : held * 100 / all;
  }
  for (const auto& [id, life] : lives_) {
    if (label(id) != e.subject) continue;
    if (e.metric == "attempts") return life.attempts;
    const auto& moment = e.metric == "start" ? life.started : life.ended;
    return moment ? (*moment - kStart).count() : -1;
  }
  return -1;
}

bool Story::holds(const Expectation& e) const {
  const std::int64_t value = measure(e);
  if (e.comparison == "<=") return value >= 0 && value <= e.bound;
  return e.comparison == ">=" ? value >= e.bound : value == e.bound;
}

std::string Story::expectations() const {
  std::string out;
  for (const Expectation& e : scenario_.expectations)
    out += without_trailing_blanks(pad("expect", kTimeWidth) + pad(e.what, 28) +
                                   (holds(e) ? "holds" : "FAILS")) +
           '\n';
  return out;
}

std::vector<std::string> Story::broken_expectations() const {
  std::vector<std::string> out;
  for (const Expectation& e : scenario_.expectations)
    if (!holds(e)) out.push_back(format("it was expected that {}, but that is not so", e.what));
  return out;
}

}  // namespace phalanx::sim
