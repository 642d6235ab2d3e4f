// Any text as each of the configuration files: no crash, bounded, and what comes out holds
// together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/assert.h"
#include "base/text.h"
#include "dialect/slurm/conf.h"
#include "dialect/slurm/conf_cgroup.h"
#include "dialect/slurm/conf_gres.h"

namespace {

constexpr std::size_t kMaxSmall = 512;
constexpr int kMaxIncludes = 4;
constexpr const char* kCluster = "NodeName=a[1-3] Gres=gpu:t:2,mps:200\nNodeName=b Gres=gpu:1\n";

void check_messages(const std::vector<phalanx::Diagnostic>& diagnostics) {
  for (const phalanx::Diagnostic& d : diagnostics) {
    ASSERT(!d.message.empty());
    ASSERT(d.message == phalanx::printable(d.message));
  }
}

void check_conf(const phalanx::slurm::SlurmConf& conf) {
  std::set<std::string> names;
  for (const auto& node : conf.nodes) {
    ASSERT(names.insert(node.name).second);
    ASSERT(node.cpus >= 1 && node.sockets >= 1 && node.cores_per_socket >= 1 &&
           node.threads_per_core >= 1);
  }
  ASSERT(std::ranges::count_if(conf.partitions, [](const auto& p) { return p.is_default; }) <= 1);
  for (const auto& partition : conf.partitions) {
    for (const std::string& node : partition.nodes) ASSERT(names.contains(node));
    ASSERT(!partition.default_time || *partition.default_time <= partition.max_time);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace slurm = phalanx::slurm;
  const slurm::ConfSource source{"/etc/slurm/slurm.conf",
                                 std::string(reinterpret_cast<const char*>(data), size)};
  int includes = 0;
  const slurm::ReadFile half = [&](const std::string&) -> phalanx::Result<std::string> {
    if (++includes > kMaxIncludes) return phalanx::not_found("no such file");
    return source.text.substr(size / 2);
  };
  const auto conf = slurm::read_conf(source, half);
  check_messages(conf.diagnostics);
  check_conf(conf.value);
  if (size > kMaxSmall) return 0;  // the others share everything that long inputs exercise
  const auto gres = slurm::read_gres_conf(source, half);
  check_messages(gres.diagnostics);
  const auto cluster = slurm::read_conf({"", kCluster});
  const auto inventories = slurm::merge(cluster.value, gres.value);
  check_messages(inventories.diagnostics);
  ASSERT(!inventories.ok() || inventories.value.size() == cluster.value.nodes.size());
  check_messages(slurm::read_cgroup_conf(source, half).diagnostics);
  check_messages(slurm::read_topology_conf(source, half).diagnostics);
  return 0;
}
