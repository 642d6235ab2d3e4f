// What can be said only after the last line: which nodes a partition has, and what must hold
// between lines.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/conf_draft.h"
#include "dialect/slurm/hostlist.h"

namespace phalanx::slurm {
namespace {

constexpr std::size_t kMaxNames = 2'000'000;  // of nodes in all partitions together
constexpr std::size_t kMaxReported = 3;       // unknown names in one list

class Resolver {
 public:
  explicit Resolver(ConfDraft& draft) : draft_(draft), conf_(draft.out.value) {
    for (std::size_t i = 0; i < conf_.nodes.size(); ++i) index_.emplace(conf_.nodes[i].name, i);
  }

  void down_nodes() {
    for (const DownNodesDraft& down : draft_.down_nodes)
      for (std::size_t i : indexes(down.nodes, down.at, "DownNodes", {})) {
        conf_.nodes[i].state = down.state;
        conf_.nodes[i].reason = down.reason;
      }
  }

  void node_sets() {
    for (const NodeSetDraft& set : draft_.node_sets) {
      if (index_.contains(set.name))
        draft_.out.error(set.at,
                         format("NodeSet {} has the name of a node; give it another", set.name));
      std::vector<std::size_t>& members = sets_[set.name];
      const std::vector<std::size_t> named = indexes(set.nodes, set.at, "NodeSet " + set.name, {});
      members.insert(members.end(), named.begin(), named.end());
      if (set.feature.empty()) continue;
      for (std::size_t i = 0; i < conf_.nodes.size(); ++i)
        if (std::ranges::find(conf_.nodes[i].features, set.feature) !=
            conf_.nodes[i].features.end())
          members.push_back(i);
    }
  }

  void partitions() {
    for (PartitionConf& p : conf_.partitions) {
      std::vector<std::size_t> members = indexes(p.nodes_text, p.at, "partition " + p.name, sets_);
      std::ranges::sort(members);
      const auto repeated = std::ranges::unique(members);
      members.erase(repeated.begin(), repeated.end());
      for (std::size_t i : members) p.nodes.push_back(conf_.nodes[i].name);
    }
  }

  void gres_types() {
    std::set<std::string> told;
    for (const NodeConf& node : conf_.nodes)
      for (const NodeGres& gres : node.gres) {
        const bool known = std::ranges::any_of(
            conf_.gres_types, [&](const std::string& t) { return iequals(t, gres.name); });
        if (known || !told.insert(gres.name).second) continue;
        warn(draft_.out.diagnostics, node.at,
             format("Gres={} is not among GresTypes; add GresTypes={}", gres.name, gres.name));
      }
  }

 private:
  using Sets = std::map<std::string, std::vector<std::size_t>>;

  // The nodes that a list names: node names, sets, ALL. Unknown names are errors at `at`.
  std::vector<std::size_t> indexes(const std::string& list, const Position& at,
                                   const std::string& who, const Sets& sets) {
    std::vector<std::size_t> out;
    const Result<std::vector<std::string>> names = expand_hosts(list);
    if (!names) {
      draft_.out.error(at, format("{}: {}", who, names.error().message));
      return out;
    }
    std::size_t unknown = 0;
    for (const std::string& name : *names) {
      if (const auto node = index_.find(name); node != index_.end())
        out.push_back(node->second);
      else if (const auto set = sets.find(name); set != sets.end())
        out.insert(out.end(), set->second.begin(), set->second.end());
      else if (iequals(name, "ALL"))
        for (std::size_t i = 0; i < conf_.nodes.size(); ++i) out.push_back(i);
      else if (++unknown <= kMaxReported)
        draft_.out.error(at, unknown_node(who, name));
      if (named_ + out.size() <= kMaxNames) continue;
      draft_.out.error(at,
                       format("{}: partitions and sets name more than {} nodes", who, kMaxNames));
      return {};
    }
    named_ += out.size();
    if (unknown > kMaxReported)
      draft_.out.error(at, format("{}: {} more unknown nodes", who, unknown - kMaxReported));
    return out;
  }

  static std::string unknown_node(const std::string& who, const std::string& name) {
    return format("{} names {}, but there is no NodeName or NodeSet line for it", who, name);
  }

  ConfDraft& draft_;
  SlurmConf& conf_;
  std::map<std::string, std::size_t> index_;
  Sets sets_;
  std::size_t named_ = 0;
};

}  // namespace

void resolve(ConfDraft& draft) {
  Resolver resolver(draft);
  resolver.down_nodes();
  resolver.node_sets();
  resolver.partitions();
  resolver.gres_types();
}

}  // namespace phalanx::slurm
