// phalanx top: the cluster as a picture. A row a node, a cell a GPU with its holder's letter, a
// legend of the holders, the queue below.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/node_row.h"
#include "dialect/slurm/query.h"

namespace phalanx::slurm {
namespace {

using V = Flag::Value;
constexpr Flag kFlags[] = {{"help", 'h'}, {"once", '1'}, {"no-color", 0}};

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr int kColours[] = {32, 33, 34, 35, 36, 92, 93, 94, 95, 96};
constexpr std::size_t kMostLines = 20;  // of the legend and of the queue

class Picture {
 public:
  Picture(const View& view, const Ask& ask, bool colour)
      : view_(view), ask_(ask), colour_(colour), jobs_(job_rows(view, {})) {
    name_holders();
  }

  std::string draw() {
    head();
    nodes();
    legend();
    queue();
    return std::move(out_);
  }

 private:
  // Every holder of a device gets a letter, in the order of ids; beyond the alphabet '#'.
  void name_holders() {
    for (const auto& [id, use] : view_.state.use)
      for (const WorkloadId owner : use.device_owner)
        if (owner) letters_[owner] = '#';
    std::size_t next = 0;
    for (auto& [id, letter] : letters_)
      if (next < kLetters.size()) letter = kLetters[next++];
  }

  std::string painted(char letter, std::string_view text) const {
    if (!colour_) return std::string(text);
    const std::size_t at = std::min(kLetters.find(letter), kLetters.size());
    return format("\x1b[{}m{}\x1b[0m", kColours[at % std::size(kColours)], text);
  }

  void head() {
    std::int64_t all = 0;
    std::int64_t taken = 0;
    for (const auto& [id, node] : view_.state.nodes) {
      all += static_cast<std::int64_t>(node.spec.devices.size());
      taken += NodeRow(view_, node).gpus_taken();
    }
    const auto count = [&](auto is) {
      return std::count_if(jobs_.rows.begin(), jobs_.rows.end(), is);
    };
    out_ += format("{}  {}  GPUs {}/{} taken, {} jobs run, {} wait\n\n", view_.state.config.name,
                   print_moment(view_.now, ask_.zone), taken, all,
                   count([](const JobRow& r) { return r.running(); }),
                   count([](const JobRow& r) { return r.pending(); }));
  }

  std::string cells(const NodeRow& row) const {
    std::string text;
    for (DeviceIndex i = 0; i < row.node().spec.devices.size(); ++i) {
      const WorkloadId owner = row.holder(i);
      const Device& device = row.node().spec.devices[i];
      if (owner)
        text += painted(letters_.at(owner), std::string(1, letters_.at(owner)));
      else
        text += device.health == DeviceHealth::usable && row.usable() ? "·" : "x";
      text += ' ';
    }
    return text.empty() ? "no GPUs " : text;
  }

  void nodes() {
    std::vector<const Node*> list;
    std::size_t width = 4;
    for (const auto& [id, node] : view_.state.nodes) {
      list.push_back(&node);
      width = std::max(width, node.spec.name.size());
    }
    std::sort(list.begin(), list.end(),
              [](const Node* a, const Node* b) { return host_before(a->spec.name, b->spec.name); });
    for (const Node* node : list) {
      const NodeRow row(view_, *node);
      const std::string type = row.gres();
      out_ += format("{}  {} {}  cpu {}/{}  {}{}{}\n", pad_right(node->spec.name, width),
                     pad_right(row.state(), 10), cells(row), row.cpus_taken(), row.cpus(), type,
                     row.emulated() ? " (emulated)" : "",
                     row.reason().empty() ? "" : "  " + row.reason());
    }
  }

  void legend() {
    std::size_t lines = 0;
    for (const auto& [id, letter] : letters_) {
      const auto row = std::find_if(jobs_.rows.begin(), jobs_.rows.end(), [&](const JobRow& r) {
        return r.workload() && r.workload()->id == id;
      });
      if (lines++ == 0) out_ += "\n";
      if (lines > kMostLines) continue;
      if (row != jobs_.rows.end())
        out_ += format("{}  {} {} {} {} {}\n", painted(letter, std::string(1, letter)),
                       pad_right(row->id(), 10), pad_right(row->spec().owner.user, 10),
                       pad_right(cut(printable(row->spec().name), 24), 24),
                       pad_left(print_time(row->elapsed()), 11), row->nodes());
      else if (const Workload* w = find_workload(view_.state, id))
        out_ += format("{}  pod        {} {}\n", painted(letter, std::string(1, letter)),
                       pad_right(w->spec->owner.user, 10), printable(w->spec->name));
    }
    if (lines > kMostLines) out_ += format("   and {} more\n", lines - kMostLines);
  }

  void queue() {
    std::size_t lines = 0;
    for (const JobRow& row : jobs_.rows) {
      if (!row.pending()) continue;
      if (lines++ == 0) out_ += "\nwaiting\n";
      if (lines > kMostLines) continue;
      out_ += format(
          "   {} {} {} {}\n", pad_right(row.id(), 10), pad_right(row.spec().owner.user, 10),
          pad_right(cut(printable(row.spec().name), 24), 24), waiting_for(row, moments_of(ask_)));
    }
    if (lines > kMostLines) out_ += format("   and {} more\n", lines - kMostLines);
  }

  const View& view_;
  const Ask& ask_;
  bool colour_;
  JobRows jobs_;
  std::map<WorkloadId, char> letters_;
  std::string out_;
};

}  // namespace

Answer top(const View& view, const Ask& ask) {
  const Arguments a = read_arguments("phalanx top", kFlags, ask.args);
  if (a.error.code != 0) return {a.error, {}, {}};
  if (a.has("help")) return {{"Usage: phalanx top [--once] [--no-color]\n", "", 0}, {}, {}};
  return {{Picture(view, ask, ask.terminal && !a.has("no-color")).draw(), "", 0}, {}, {}};
}

}  // namespace phalanx::slurm
