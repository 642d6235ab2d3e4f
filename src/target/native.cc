// Completes a launch order for one of our agents.
#include <utility>

#include "base/text.h"
#include "dialect/slurm/slurm.h"
#include "target/target.h"

namespace phalanx::target {
namespace {

// The strings of an environment blob: each is ended by NUL.
std::vector<std::string> entries(std::string_view bytes) {
  std::vector<std::string> out;
  for (std::size_t end = bytes.find('\0'); end != std::string_view::npos; end = bytes.find('\0')) {
    out.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  return out;
}

std::string content(store::Journal& journal, const std::string& id) {
  if (id.empty()) return {};
  auto bytes = journal.blob(id);
  return bytes.ok() ? std::move(*bytes) : std::string();
}

void complete_batch(const State& state, store::Journal& journal, const Workload& w,
                    LaunchOrder& order) {
  order.script_text = content(journal, order.launch.script);
  order.environment =
      slurm::batch_environment(state, w, entries(content(journal, order.launch.environment)));
  order.std_in = slurm::named_path(state, w, order.launch.std_in);
  order.std_out = slurm::output_path(state, w, order.launch.std_out);
  order.std_err = order.launch.std_err.empty() ? order.std_out
                                               : slurm::named_path(state, w, order.launch.std_err);
}

// A container's command knows nothing of Slurm; its environment is what its manifest says.
void complete_command(const State& state, store::Journal& journal, const Workload& w,
                      LaunchOrder& order) {
  order.environment = entries(content(journal, order.launch.environment));
  order.environment.push_back(format("PHALANX_WORKLOAD={}", order.label));
  order.environment.push_back(format("PHALANX_ATTEMPT={}", w.current->number));
  if (!order.share.gpus.empty()) {
    std::string numbers;
    for (std::size_t i = 0; i < order.share.gpus.size(); ++i)
      numbers += format("{}{}", i == 0 ? "" : ",", i);
    order.environment.push_back("CUDA_VISIBLE_DEVICES=" + numbers);
  }
  order.std_in = slurm::named_path(state, w, order.launch.std_in);
  order.std_out = slurm::named_path(state, w, order.launch.std_out);
  order.std_err = order.launch.std_err.empty() ? order.std_out
                                               : slurm::named_path(state, w, order.launch.std_err);
}

}  // namespace

void complete(const State& state, store::Journal& journal, Prepare& prepare) {
  const Workload* w = find_workload(state, prepare.fence.workload);
  if (!w || !w->current || w->current->number != prepare.fence.attempt) return;
  LaunchOrder& order = prepare.order;
  if (!order.first_node) return;  // nothing runs there by itself
  if (order.kind == WorkloadKind::batch) complete_batch(state, journal, *w, order);
  if (order.kind == WorkloadKind::command) complete_command(state, journal, *w, order);
}

}  // namespace phalanx::target
