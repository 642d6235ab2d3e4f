#include "cluster/decide.h"

#include <type_traits>
#include <variant>

#include "cluster/access.h"
#include "cluster/cluster.h"

namespace phalanx::cluster {
namespace {

// Inputs that only the cluster's own parts give: nobody else may say what a node reports.
template <class Input>
inline constexpr bool kFromCluster =
    std::is_same_v<Input, AgentConnected> || std::is_same_v<Input, AgentReported> ||
    std::is_same_v<Input, DevicesReported> || std::is_same_v<Input, AgentSilent> ||
    std::is_same_v<Input, Propose> || std::is_same_v<Input, Tick> ||
    std::is_same_v<Input, ArchiveHas> || std::is_same_v<Input, ClientGone>;

}  // namespace

Outcome decide(const State& state, const Heard& heard, const Input& input) {
  Draft draft(state, heard, input);
  std::visit(
      [&](const auto& what) {
        if (kFromCluster<std::decay_t<decltype(what)>> &&
            !draft.accept(may_speak_for_cluster(input.who)))
          return;
        decide_one(draft, what);
      },
      input.what);
  return std::move(draft.out);
}

}  // namespace phalanx::cluster
