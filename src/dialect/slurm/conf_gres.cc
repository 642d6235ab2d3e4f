#include "dialect/slurm/conf_gres.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "dialect/slurm/conf_draft.h"
#include "dialect/slurm/conf_value.h"
#include "dialect/slurm/hostlist.h"

namespace phalanx::slurm {
namespace {

constexpr std::size_t kMaxFiles = 1024;         // of one line, as in Slurm
constexpr std::size_t kMaxNames = 1'000'000;    // of nodes in all lines together
constexpr std::size_t kMaxDevices = 2'000'000;  // of all nodes together

struct GresDraft {
  std::optional<std::uint64_t> count;
  AutoDetect autodetect = AutoDetect::Unset;
  bool has_nodes = false;
  GresLine line;
};

Result<AutoDetect> parse_autodetect(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, AutoDetect>, 8> ways = {{
      {"nvml", AutoDetect::Nvml},
      {"nvidia", AutoDetect::Nvidia},
      {"off", AutoDetect::Off},
      {"none", AutoDetect::Off},
      {"rsmi", AutoDetect::Rsmi},
      {"oneapi", AutoDetect::OneApi},
      {"nrt", AutoDetect::Nrt},
      {"full", AutoDetect::Full},
  }};
  for (const auto& [name, how] : ways)
    if (iequals(name, text)) return how;
  return invalid("expected nvml, nvidia, rsmi, oneapi, nrt, full or off");
}

Result<std::vector<IndexRange>> parse_cores(std::string_view text) {
  if (text.find_first_of(":%") != std::string_view::npos)
    return invalid("expected core numbers such as 0-3,8");
  return TRY(parse_array(text)).ranges;
}

Result<std::vector<std::int64_t>> parse_links(std::string_view text) {
  std::vector<std::int64_t> links;
  for (const std::string& word : parse_words(text)) {
    const auto n = parse_int(word);
    if (!n || *n < -1) return invalid("expected numbers of links such as 0,-1,4");
    links.push_back(*n);
  }
  return links;
}

Status store_gres(GresDraft& draft, std::string_view key, std::string_view value) {
  GresLine& line = draft.line;
  if (key == "NodeName") {
    line.nodes = TRY(expand_hosts(value));
    draft.has_nodes = true;
  }
  if (key == "Name") line.name = to_lower(value);
  if (key == "Type") line.type = std::string(value);
  if (key == "Count") draft.count = TRY(parse_count(value));
  if (key == "File" || key == "MultipleFiles") {
    line.files = TRY(expand_hosts(value, kMaxFiles));
    line.multiple_files = key == "MultipleFiles";
  }
  if (key == "Cores") line.cores = TRY(parse_cores(value));
  if (key == "Links") line.links = TRY(parse_links(value));
  if (key == "Flags") line.flags = parse_words(value);
  if (key == "AutoDetect") draft.autodetect = TRY(parse_autodetect(value));
  return {};
}

class GresReader {
 public:
  void record(const ConfRecord& record) {
    GresDraft draft;
    draft.line.at = record.pairs.front().at;
    const std::size_t before = out_.diagnostics.size();
    for (const ConfPair& pair : record.pairs) {
      const ConfKey* key = accept(out_.diagnostics, ConfSection::Gres, pair);
      if (key == nullptr) continue;
      if (const Status status = store_gres(draft, key->name, pair.value); !status)
        bad_value(out_.diagnostics, pair, status.error().message);
      else
        check_value(*key, pair);
    }
    for (std::size_t i = before; i < out_.diagnostics.size(); ++i)
      if (out_.diagnostics[i].severity == Diagnostic::Severity::Error) return;
    add(std::move(draft));
  }

  Parsed<GresConf> finish(std::vector<Diagnostic> first) {
    for (const GresLine& line : out_.value.lines)
      if (line.name == "gpu" && line.files.empty() && !detected(line))
        warn(
            out_.diagnostics, line.at,
            "a gpu line without File hides no device from other jobs; add File=/dev/nvidia[0-7] or "
            "AutoDetect=nvml");
    first.insert(first.end(), out_.diagnostics.begin(), out_.diagnostics.end());
    out_.diagnostics = std::move(first);
    finish_messages(out_.diagnostics);
    return std::move(out_);
  }

 private:
  void add(GresDraft draft) {
    GresLine& line = draft.line;
    named_ += line.nodes.size();
    if (named_ > kMaxNames) {
      out_.error(line.at, format("the lines name more than {} nodes in all", kMaxNames));
      return;
    }
    if (draft.autodetect != AutoDetect::Unset) {
      if (draft.has_nodes)
        out_.value.node_autodetect.push_back({line.nodes, draft.autodetect});
      else
        out_.value.autodetect = draft.autodetect;
    }
    if (line.name.empty()) {
      if (draft.autodetect == AutoDetect::Unset)
        out_.error(line.at, "the line has no Name, such as Name=gpu");
      return;
    }
    const bool shares = line.name == "mps" || line.name == "shard";
    const std::uint64_t devices = line.files.empty()    ? 1
                                  : line.multiple_files ? 1
                                                        : line.files.size();
    line.count = draft.count.value_or(devices);
    if (!line.files.empty() && !shares && line.count != devices) {
      out_.error(line.at, format("Count={} but File names {} devices; leave Count out", line.count,
                                 devices));
      return;
    }
    out_.value.lines.push_back(std::move(line));
  }

  void check_value(const ConfKey& key, const ConfPair& pair) {
    if (key.name == "Name" && !iequals(pair.value, "gpu"))
      warn(out_.diagnostics, pair.at, format("Name={}: only GPUs are offered", pair.value));
    constexpr std::string_view done[] = {"nvml", "nvidia", "off", "none"};
    if (key.name == "AutoDetect" &&
        std::ranges::none_of(done, [&](std::string_view d) { return iequals(d, pair.value); }))
      warn(out_.diagnostics, pair.at,
           format("AutoDetect={}: GPUs are found by NVML, and no others", pair.value));
  }

  [[nodiscard]] bool detected(const GresLine& line) const {
    AutoDetect how = out_.value.autodetect;
    for (const GresConf::NodeAutoDetect& own : out_.value.node_autodetect)
      if (own.nodes == line.nodes) how = own.how;
    return how != AutoDetect::Unset && how != AutoDetect::Off;
  }

  Parsed<GresConf> out_;
  std::size_t named_ = 0;
};

class Merger {
 public:
  Merger(const SlurmConf& conf, const GresConf& gres) : conf_(conf), gres_(gres) {
    for (const NodeConf& node : conf.nodes) lines_[node.name];
    std::set<Position> told;
    for (std::size_t i = 0; i < gres.lines.size(); ++i) {
      const GresLine& line = gres.lines[i];
      if (line.nodes.empty()) everywhere_.push_back(i);
      for (const std::string& name : line.nodes)
        if (const auto node = lines_.find(name); node != lines_.end())
          node->second.push_back(i);
        else if (told.insert(line.at).second)
          warn(out_.diagnostics, line.at, format("slurm.conf has no node {}", name));
    }
    for (const GresConf::NodeAutoDetect& own : gres.node_autodetect)
      for (const std::string& name : own.nodes) autodetect_[name] = own.how;
  }

  Parsed<std::vector<NodeInventory>> run() {
    std::size_t devices = 0;
    for (const NodeConf& node : conf_.nodes) {
      out_.value.push_back(inventory(node));
      devices += out_.value.back().devices.size();
      if (devices <= kMaxDevices) continue;
      out_.error(node.at, format("gres.conf describes more than {} devices in all", kMaxDevices));
      break;
    }
    finish_messages(out_.diagnostics);
    return std::move(out_);
  }

 private:
  NodeInventory inventory(const NodeConf& node) {
    NodeInventory inv;
    inv.node = node.name;
    const auto own = autodetect_.find(node.name);
    inv.autodetect = own != autodetect_.end() ? own->second : gres_.autodetect;
    std::vector<std::size_t> mine = lines_[node.name];
    mine.insert(mine.end(), everywhere_.begin(), everywhere_.end());
    std::ranges::sort(mine);
    for (std::size_t i : mine) add_devices(inv, gres_.lines[i]);
    check(node, inv);
    return inv;
  }

  static void add_devices(NodeInventory& inv, const GresLine& line) {
    ConfiguredDevice device{.name = line.name,
                            .type = line.type,
                            .count = line.count,
                            .files = line.files,
                            .cores = line.cores,
                            .links = line.links,
                            .flags = line.flags};
    if (line.files.size() <= 1 || line.multiple_files) {
      inv.devices.push_back(std::move(device));
      return;
    }
    // Shares are spread evenly over the devices; devices count one each.
    const std::uint64_t n = line.files.size();
    for (std::uint64_t i = 0; i < n; ++i) {
      device.count = line.count / n + (i < line.count % n ? 1 : 0);
      device.files = {line.files[i]};
      inv.devices.push_back(device);
    }
  }

  // Each gres of the NodeName line against what gres.conf lists.
  void check(const NodeConf& node, NodeInventory& inv) {
    const bool found_by_agent =
        inv.autodetect != AutoDetect::Unset && inv.autodetect != AutoDetect::Off;
    if (found_by_agent || gres_.lines.empty()) return;
    for (const NodeGres& wanted : node.gres) {
      std::uint64_t listed = 0;
      for (const ConfiguredDevice& d : inv.devices)
        if (d.name == wanted.name &&
            (d.type.empty() || wanted.type.empty() || iequals(d.type, wanted.type)))
          listed += d.count;
      if (listed == wanted.count || wanted.no_consume) continue;
      const std::string what =
          "gres/" + wanted.name + (wanted.type.empty() ? "" : ":" + wanted.type);
      if (listed < wanted.count && inv.fault.empty())
        inv.fault =
            format("{} count reported lower than configured ({} < {})", what, listed, wanted.count);
      tell(node, listed < wanted.count
                     ? format("{}: gres.conf lists {} of {}; the node will not be used", inv.fault,
                              listed, wanted.count)
                     : format("gres.conf lists {} of {}, of which {} are used", listed, what,
                              wanted.count));
    }
  }

  // The nodes of one NodeName line have the same fault: it is told once.
  void tell(const NodeConf& node, std::string message) {
    if (told_.emplace(node.at, message).second)
      warn(out_.diagnostics, node.at, format("node {}: {}", node.name, message));
  }

  const SlurmConf& conf_;
  const GresConf& gres_;
  std::map<std::string, std::vector<std::size_t>> lines_;
  std::vector<std::size_t> everywhere_;
  std::map<std::string, AutoDetect> autodetect_;
  std::set<std::pair<Position, std::string>> told_;
  Parsed<std::vector<NodeInventory>> out_;
};

}  // namespace

Parsed<GresConf> read_gres_conf(const ConfSource& source, const ReadFile& read) {
  Parsed<std::vector<ConfRecord>> records = read_records(source, read);
  GresReader reader;
  for (const ConfRecord& record : records.value) reader.record(record);
  return reader.finish(std::move(records.diagnostics));
}

Parsed<std::vector<NodeInventory>> merge(const SlurmConf& conf, const GresConf& gres) {
  return Merger(conf, gres).run();
}

}  // namespace phalanx::slurm
