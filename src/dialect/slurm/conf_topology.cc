#include <algorithm>
#include <map>

#include "base/text.h"
#include "dialect/slurm/conf_cgroup.h"
#include "dialect/slurm/conf_draft.h"
#include "dialect/slurm/conf_value.h"
#include "dialect/slurm/hostlist.h"

namespace phalanx::slurm {
namespace {

constexpr std::size_t kMaxNames = 1'000'000;  // of nodes and switches in all lines together

class TopologyReader {
 public:
  void record(const ConfRecord& record) {
    const ConfPair& first = record.pairs.front();
    if (iequals(first.key, "SwitchName")) return add_switch(record);
    if (iequals(first.key, "BlockName")) return add_block(record);
    for (const ConfPair& pair : record.pairs) {
      const ConfKey* key = accept(out_.diagnostics, ConfSection::Block, pair);
      if (key == nullptr) continue;
      if (key->name == "BlockSizes")
        set_block_sizes(pair);
      else
        bad_value(out_.diagnostics, pair, "the line must begin with SwitchName or BlockName");
    }
  }

  Parsed<TopologyConf> finish(std::vector<Diagnostic> first) {
    check_switches();
    first.insert(first.end(), out_.diagnostics.begin(), out_.diagnostics.end());
    out_.diagnostics = std::move(first);
    finish_messages(out_.diagnostics);
    return std::move(out_);
  }

 private:
  Words names(const ConfPair& pair) {
    const Result<Words> expanded = expand_hosts(pair.value);
    if (!expanded) {
      bad_value(out_.diagnostics, pair, expanded.error().message);
      return {};
    }
    named_ += expanded->size();
    if (named_ <= kMaxNames) return *expanded;
    bad_value(out_.diagnostics, pair, format("the file names more than {} nodes", kMaxNames));
    return {};
  }

  void add_switch(const ConfRecord& record) {
    SwitchConf sw;
    sw.at = record.pairs.front().at;
    for (const ConfPair& pair : record.pairs) {
      const ConfKey* key = accept(out_.diagnostics, ConfSection::Switch, pair);
      if (key == nullptr) continue;
      if (key->name == "SwitchName") sw.name = pair.value;
      if (key->name == "Nodes") sw.nodes = names(pair);
      if (key->name == "Switches") sw.switches = names(pair);
    }
    if (!sw.nodes.empty() && !sw.switches.empty())
      out_.error(sw.at,
                 format("switch {} has Nodes and Switches; it may have one of them", sw.name));
    if (!sw.name.empty()) out_.value.switches.push_back(std::move(sw));
  }

  void add_block(const ConfRecord& record) {
    BlockConf block;
    block.at = record.pairs.front().at;
    for (const ConfPair& pair : record.pairs) {
      const ConfKey* key = accept(out_.diagnostics, ConfSection::Block, pair);
      if (key == nullptr) continue;
      if (key->name == "BlockName") block.name = pair.value;
      if (key->name == "Nodes") block.nodes = names(pair);
      if (key->name == "BlockSizes") set_block_sizes(pair);
    }
    if (!block.name.empty()) out_.value.blocks.push_back(std::move(block));
  }

  void set_block_sizes(const ConfPair& pair) {
    out_.value.block_sizes.clear();
    for (const std::string& word : parse_words(pair.value)) {
      const Result<std::int64_t> size = parse_number(word);
      if (!size) return bad_value(out_.diagnostics, pair, size.error().message);
      out_.value.block_sizes.push_back(*size);
    }
  }

  // Every switch is named once, those below it exist, and none is below itself.
  void check_switches() {
    std::map<std::string, const SwitchConf*> by_name;
    for (const SwitchConf& sw : out_.value.switches)
      if (!by_name.emplace(sw.name, &sw).second)
        out_.error(sw.at, format("switch {} is defined twice", sw.name));
    for (const SwitchConf& sw : out_.value.switches)
      for (const std::string& below : sw.switches)
        if (!by_name.contains(below)) {
          out_.error(sw.at, format("switch {} names {}, but there is no SwitchName line for it",
                                   sw.name, below));
          break;
        }
    check_cycles(by_name);
  }

  // Takes leaves away again and again; what cannot be taken away is below itself.
  void check_cycles(const std::map<std::string, const SwitchConf*>& by_name) {
    std::map<std::string, std::size_t> open;
    std::map<std::string, Words> above;
    Words ready;
    for (const auto& [name, sw] : by_name) {
      std::size_t below = 0;
      for (const std::string& child : sw->switches) {
        if (!by_name.contains(child)) continue;
        above[child].push_back(name);
        ++below;
      }
      open[name] = below;
      if (below == 0) ready.push_back(name);
    }
    std::size_t taken = 0;
    for (; taken < ready.size(); ++taken)
      for (const std::string& parent : above[std::string(ready[taken])])
        if (--open[parent] == 0) ready.push_back(parent);
    if (taken == by_name.size()) return;
    const auto stuck =
        std::ranges::find_if(open, [](const auto& entry) { return entry.second > 0; });
    out_.error(by_name.at(stuck->first)->at,
               format("switch {} is above or part of a loop of switches", stuck->first));
  }

  Parsed<TopologyConf> out_;
  std::size_t named_ = 0;
};

}  // namespace

Parsed<TopologyConf> read_topology_conf(const ConfSource& source, const ReadFile& read) {
  Parsed<std::vector<ConfRecord>> records = read_records(source, read);
  TopologyReader reader;
  for (const ConfRecord& record : records.value) reader.record(record);
  return reader.finish(std::move(records.diagnostics));
}

}  // namespace phalanx::slurm
