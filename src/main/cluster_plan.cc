#include "main/cluster_plan.h"

#include <grp.h>

#include <array>
#include <fstream>
#include <map>
#include <sstream>

#include "agent/agent.h"
#include "base/text.h"
#include "dialect/slurm/slurm.h"  // IWYU pragma: keep (a front door)

namespace phalanx {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr std::int64_t kMostNodes = 200;  // one subnet of the emulated network

std::string count_of(std::int64_t n, std::string_view what) {
  return format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::vector<std::string> figures(std::int64_t cpus, std::int64_t memory_mib,
                                 const std::map<std::string, std::int64_t>& gpus) {
  std::vector<std::string> list{"--emulate"};
  if (cpus > 0) list.push_back(format("--cpus={}", cpus));
  if (memory_mib > 0) list.push_back(format("--memory={}", memory_mib));
  for (const auto& [type, count] : gpus) list.push_back(format("--gpus={}:{}", type, count));
  return list;
}

void add_partition(ClusterPlan& plan) {
  Partition main;
  main.name = "main";
  main.is_default = true;
  for (const PlannedNode& node : plan.nodes) main.nodes.push_back(node.name);
  plan.config.partitions.push_back(std::move(main));
}

std::string describe_machine(const NodeSpec& machine, const std::vector<Device>& gpus) {
  if (gpus.empty())
    return format("{} and no GPUs: it runs CPU work", count_of(machine.cpus, "CPU"));
  return format("{} and {} by NVML ({})", count_of(machine.cpus, "CPU"),
                count_of(static_cast<std::int64_t>(gpus.size()), "GPU"), gpus.front().product);
}

Result<ClusterPlan> plan_machine(const UpOptions& options) {
  if (options.nodes > 1)
    return invalid("several nodes on one machine must be emulated: add --emulate");
  if (options.gpus_per_node || options.cpus_per_node || options.memory_per_node)
    return invalid("a real node has what it has; with --emulate it has what you say");
  ClusterPlan plan;
  const NodeSpec machine = agent::machine_spec();
  plan.nodes.push_back({machine.name, {}});
  plan.found = describe_machine(machine, agent::find_devices({}, plan.warnings));
  add_partition(plan);
  return plan;
}

Result<ClusterPlan> plan_emulated(const UpOptions& options) {
  if (options.nodes < 1 || options.nodes > kMostNodes)
    return invalid(format("--nodes must be from 1 to {}", kMostNodes));
  ClusterPlan plan;
  const std::int64_t gpus = options.gpus_per_node.value_or(0);
  std::map<std::string, std::int64_t> by_type;
  if (gpus > 0) by_type[options.gpu_type] = gpus;
  for (std::int64_t i = 1; i <= options.nodes; ++i) {
    plan.nodes.push_back({format("n{}", i), figures(options.cpus_per_node.value_or(0),
                                                    options.memory_per_node.value_or(0), by_type)});
  }
  plan.found = format("{} with {}{}", count_of(options.nodes, "emulated node"),
                      count_of(gpus, "emulated GPU"), options.nodes > 1 ? " each" : "");
  add_partition(plan);
  return plan;
}

// --- with slurm.conf

Result<std::string> read_file(const std::string& path) {
  const std::ifstream file(path);
  if (!file) return not_found(format("cannot read {}", path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// All errors of a file are told at once.
template <class T>
Result<T> taken(Parsed<T> parsed, std::vector<std::string>& warnings) {
  if (parsed.first_error()) {
    std::string errors;
    for (const Diagnostic& diagnostic : parsed.diagnostics)
      if (diagnostic.severity == Diagnostic::Severity::Error)
        errors += (errors.empty() ? "" : "\n") + to_string(diagnostic);
    return invalid(errors);
  }
  for (const Diagnostic& diagnostic : parsed.diagnostics) warnings.push_back(to_string(diagnostic));
  return std::move(parsed.value);
}

// A file that may be missing.
slurm::ConfSource optional_file(const std::string& path) {
  auto text = read_file(path);
  return {path, text.ok() ? std::move(*text) : ""};
}

// The numbers of AllowGroups; a group that this machine does not know has no members here.
void find_groups(Partition& partition) {
  for (const std::string& name : partition.allow_groups) {
    std::array<char, 16384> buffer;
    group entry{};
    group* found = nullptr;
    if (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found)
      partition.allow_gids.push_back(found->gr_gid);
  }
}

PlannedNode emulated_node(const NodeSpec& spec) {
  std::map<std::string, std::int64_t> gpus;
  for (const Device& device : spec.devices) ++gpus[device.type.empty() ? "gpu" : device.type];
  PlannedNode node{spec.name, figures(spec.cpus, spec.memory / kMib, gpus)};
  node.figures.push_back(format("--sockets={}", spec.sockets));
  node.figures.push_back(format("--threads-per-core={}", spec.threads_per_core));
  return node;
}

// The configured node that this machine is.
Result<PlannedNode> this_node(const ClusterConfig& config) {
  const std::string host = agent::machine_spec().name;
  for (const NodeSpec& node : config.nodes)
    if (node.name == host || node.address == host || config.nodes.size() == 1)
      return PlannedNode{node.name, {}};
  return invalid(
      format("slurm.conf has no node {}, which is this machine; --emulate makes all of "
             "its nodes emulated ones here",
             host));
}

Result<ClusterPlan> plan_configured(const UpOptions& options) {
  if (options.nodes > 1 || options.gpus_per_node || options.cpus_per_node ||
      options.memory_per_node)
    return invalid("with --config the nodes and what they have come from slurm.conf");
  ClusterPlan plan;
  FileConfig files = TRY(read_configuration(options.config_dir));
  plan.config = std::move(files.config);
  plan.warnings = std::move(files.warnings);
  if (plan.config.nodes.empty()) return invalid("slurm.conf has no NodeName line");
  if (!options.emulate) {
    plan.nodes.push_back(TRY(this_node(plan.config)));
    plan.found = describe_machine(agent::machine_spec(), agent::find_devices({}, plan.warnings));
    return plan;
  }
  std::int64_t gpus = 0;
  for (const NodeSpec& spec : plan.config.nodes) {
    plan.nodes.push_back(emulated_node(spec));
    gpus += static_cast<std::int64_t>(spec.devices.size());
  }
  plan.found = format("{} with {} in all",
                      count_of(static_cast<std::int64_t>(plan.nodes.size()), "emulated node"),
                      count_of(gpus, "emulated GPU"));
  return plan;
}

}  // namespace

Result<FileConfig> read_configuration(const std::string& directory) {
  FileConfig out;
  const std::string path = directory + "/slurm.conf";
  const std::string text = TRY(read_file(path));
  const slurm::SlurmConf conf = TRY(taken(slurm::read_conf({path, text}, read_file), out.warnings));
  const slurm::GresConf gres = TRY(taken(
      slurm::read_gres_conf(optional_file(directory + "/gres.conf"), read_file), out.warnings));
  TRY(taken(slurm::read_cgroup_conf(optional_file(directory + "/cgroup.conf"), read_file),
            out.warnings));
  TRY(taken(slurm::read_topology_conf(optional_file(directory + "/topology.conf"), read_file),
            out.warnings));
  const auto inventories = TRY(taken(slurm::merge(conf, gres), out.warnings));
  out.config = TRY(taken(slurm::cluster_config(conf, inventories), out.warnings));
  for (Partition& partition : out.config.partitions) find_groups(partition);
  return out;
}

Result<ClusterPlan> plan_cluster(const UpOptions& options) {
  if (!options.config_dir.empty()) return plan_configured(options);
  return options.emulate ? plan_emulated(options) : plan_machine(options);
}

}  // namespace phalanx
