#include "agent/device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <utility>

#include "agent/machine.h"
#include "agent/nvml.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

// What the fake library shows during one test.
class Fake {
 public:
  using Setting = std::pair<std::string, std::string>;
  Fake(std::initializer_list<Setting> settings) : settings_(settings) {
    for (const auto& [name, value] : settings_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  Fake(const Fake&) = delete;
  Fake& operator=(const Fake&) = delete;
  ~Fake() {
    for (const auto& [name, value] : settings_) ::unsetenv(name.c_str());
  }

 private:
  std::vector<Setting> settings_;
};

// A file below a directory of this test.
class Tree {
 public:
  Tree() : root_(std::filesystem::path(testing::TempDir()) / format("machine.{}", ::getpid())) {}
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

TEST(Device, WithoutTheLibraryThereAreNoGpusAndASentenceSaysSo) {
  const GpuInventory found = discover_gpus("/nonexistent/libnvidia-ml.so.1");
  EXPECT_TRUE(found.gpus.empty());
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes[0].find("cannot be loaded"), std::string::npos) << found.notes[0];
}

TEST(Device, ALibraryThatIsNotNvmlIsNamedAsSuch) {
  const GpuInventory found = discover_gpus("libc.so.6");
  EXPECT_TRUE(found.gpus.empty());
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes[0].find("has no nvmlInit_v2"), std::string::npos) << found.notes[0];
}

TEST(Device, ADriverThatDoesNotStartIsSaid) {
  const Fake fake{{"FAKE_NVML_INIT", "9"}};
  const GpuInventory found = discover_gpus(FAKE_NVML);
  EXPECT_TRUE(found.gpus.empty());
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes[0].find("Driver Not Loaded"), std::string::npos) << found.notes[0];
}

TEST(Device, EverythingAboutTwoGpus) {
  Tree sys;
  sys.put("bus/pci/devices/0000:3b:00.0/numa_node", "0");
  sys.put("bus/pci/devices/0000:3c:00.0/numa_node", "1");
  const Fake fake{{"FAKE_NVML_PIDS", "1:4711,0:12,1:99"}, {"FAKE_NVML_MIG", "1"}};
  const GpuInventory found = discover_gpus(FAKE_NVML, sys.root());
  EXPECT_EQ(found.driver_version, "570.86.15");
  EXPECT_TRUE(found.notes.empty());
  ASSERT_EQ(found.gpus.size(), 2U);
  const GpuInfo& first = found.gpus[0];
  EXPECT_EQ(first.index, 0);
  EXPECT_EQ(first.minor, 1) << "the minor is asked for, never guessed from the index";
  EXPECT_EQ(first.uuid, "GPU-00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(first.product, "NVIDIA RTX PRO 6000 Blackwell");
  EXPECT_EQ(first.type, "rtx_pro_6000_blackwell");
  EXPECT_EQ(first.pci, "0000:3b:00.0");
  EXPECT_EQ(first.memory_bytes, std::int64_t{96} << 30);
  EXPECT_EQ(first.cpu_affinity, "0-3,8");
  EXPECT_EQ(first.numa_node, 0);
  EXPECT_FALSE(first.mig);
  EXPECT_FALSE(first.emulated);
  EXPECT_EQ(first.foreign_pids, std::vector<int>({12}));
  EXPECT_TRUE(first.failure.empty());
  const GpuInfo& second = found.gpus[1];
  EXPECT_EQ(second.minor, 0);
  EXPECT_EQ(second.cpu_affinity, "64-65");
  EXPECT_EQ(second.numa_node, 1);
  EXPECT_TRUE(second.mig);
  EXPECT_EQ(second.foreign_pids, std::vector<int>({99, 4711}));
}

TEST(Device, AGpuThatFellOffTheBusStaysInTheListAsFailed) {
  const Fake fake{{"FAKE_NVML_GPUS", "3"}, {"FAKE_NVML_FAILING", "1"}};
  const GpuInventory found = discover_gpus(FAKE_NVML);
  ASSERT_EQ(found.gpus.size(), 3U);
  EXPECT_TRUE(found.gpus[0].failure.empty());
  EXPECT_EQ(found.gpus[1].failure, "GPU 1 does not answer: GPU is lost");
  EXPECT_EQ(found.gpus[1].index, 1);
  EXPECT_TRUE(found.gpus[2].failure.empty());
  EXPECT_EQ(found.notes, std::vector<std::string>({"GPU 1 does not answer: GPU is lost"}));
}

TEST(Device, ManyProcessesFit) {
  std::string pids;
  for (int pid = 1; pid <= 200; ++pid) pids += format("{}0:{}", pid == 1 ? "" : ",", pid);
  const Fake fake{{"FAKE_NVML_GPUS", "1"}, {"FAKE_NVML_PIDS", pids}};
  Result<Nvml> nvml = Nvml::open(FAKE_NVML);
  ASSERT_TRUE(nvml) << nvml.error().message;
  const Result<std::vector<int>> found = nvml->processes(0);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->size(), 200U);
}

TEST(Device, OurOwnProcessesAreNotForeign) {
  std::vector<GpuInfo> gpus = emulated_devices(2, "h100");
  gpus[0].foreign_pids = {10, 20, 30};
  gpus[1].foreign_pids = {40};
  keep_foreign(gpus, {20, 40});
  EXPECT_EQ(gpus[0].foreign_pids, std::vector<int>({10, 30}));
  EXPECT_TRUE(gpus[1].foreign_pids.empty());
}

// First seen while an attempt held the GPU, a process is what that attempt left; else somebody
// else's.
TEST(Device, LeftoversAreNotOutsiders) {
  std::vector<GpuInfo> gpus = emulated_devices(2, "h100");
  const std::vector<GpuInfo> clean = gpus;
  Leftovers leftovers;
  gpus[0].foreign_pids = {10};
  leftovers.mark(gpus, {});  // before any job: an outsider, and it stays one
  EXPECT_EQ(gpus[0].left_pid, 0);
  gpus[0].foreign_pids = {10, 30};
  gpus[1].foreign_pids = {20};
  leftovers.mark(gpus, {{gpus[0].uuid, "7"}, {gpus[1].uuid, "8_3"}});
  EXPECT_EQ(gpus[0].left_pid, 30);
  EXPECT_EQ(gpus[1].left_by, "8_3");
  gpus = clean;
  gpus[1].foreign_pids = {20};
  leftovers.mark(gpus, {});  // the jobs are gone, one process is not
  EXPECT_EQ(gpus[0].left_pid, 0);
  EXPECT_EQ(gpus[1].left_pid, 20);
  gpus = clean;
  leftovers.mark(gpus, {});
  gpus[1].foreign_pids = {20};
  leftovers.mark(gpus, {});  // the number belongs to another process by now
  EXPECT_EQ(gpus[1].left_pid, 0);
}

TEST(Device, EmulatedGpusAreLabelled) {
  const std::vector<GpuInfo> gpus = emulated_devices(8, "H100");
  ASSERT_EQ(gpus.size(), 8U);
  EXPECT_TRUE(gpus[7].emulated);
  EXPECT_EQ(gpus[7].type, "h100");
  EXPECT_EQ(gpus[7].index, 7);
  EXPECT_EQ(gpus[7].minor, -1);
  EXPECT_NE(gpus[6].uuid, gpus[7].uuid);
}

TEST(Device, TypeNames) {
  const std::pair<const char*, const char*> kCases[] = {
      {"NVIDIA RTX PRO 6000 Blackwell", "rtx_pro_6000_blackwell"},
      {"NVIDIA H100 80GB HBM3", "h100_80gb_hbm3"},
      {"NVIDIA A100-SXM4-40GB", "a100_sxm4_40gb"},
      {"Tesla V100-SXM2-16GB", "tesla_v100_sxm2_16gb"},
      {"NVIDIA GeForce RTX 4090", "geforce_rtx_4090"},
      {"  NVIDIA  L40S ", "l40s"},
      {"NVIDIA", "nvidia"},
      {"", ""},
  };
  for (const auto& [product, type] : kCases) EXPECT_EQ(type_name(product), type) << product;
}

TEST(Device, ConfiguredTypesMatchHardware) {
  struct Case {
    const char* configured;
    const char* found;
    bool matches;
  };
  const Case kCases[] = {
      {"rtxpro6000", "rtx_pro_6000_blackwell", true},
      {"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell", true},
      {"RTX-PRO-6000", "rtx_pro_6000_blackwell", true},
      {"a100", "NVIDIA A100-SXM4-40GB", true},
      {"nvidia_a100-sxm4-40gb", "NVIDIA A100-SXM4-40GB", true},
      {"a100", "a10", false},
      {"h100", "NVIDIA A100-SXM4-40GB", false},
      {"a10", "NVIDIA A100-SXM4-40GB", true},  // a part of the name, like Slurm's AutoDetect
      {"", "a100", false},
      {"-_", "a100", false},
  };
  for (const Case& c : kCases)
    EXPECT_EQ(type_matches(c.configured, c.found), c.matches) << c.configured << " / " << c.found;
}

TEST(Machine, CountsSocketsCoresAndThreads) {
  Tree tree;
  tree.put("sys/devices/system/cpu/online", "0-7");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string dir = format("sys/devices/system/cpu/cpu{}/topology/", cpu);
    tree.put(dir + "physical_package_id", format("{}", cpu / 2 % 2));
    tree.put(dir + "core_id", format("{}", cpu % 2));
  }
  tree.put("proc/meminfo", "MemFree: 5 kB\nMemTotal:       65536 kB");
  tree.put("proc/sys/kernel/random/boot_id", "6f1c");
  tree.put("sys/devices/system/node/online", "0-1");
  tree.put("sys/devices/system/node/node0/cpulist", "0-3");
  tree.put("sys/devices/system/node/node1/cpulist", "4-7");
  tree.put("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:  32768 kB");
  const MachineInfo machine = discover_machine(tree.root());
  EXPECT_EQ(machine.cpus, 8);
  EXPECT_EQ(machine.sockets, 2);
  EXPECT_EQ(machine.cores_per_socket, 2);
  EXPECT_EQ(machine.threads_per_core, 2);
  EXPECT_EQ(machine.memory_mib, 64);
  EXPECT_EQ(machine.boot_id, "6f1c");
  ASSERT_EQ(machine.numa.size(), 2U);
  EXPECT_EQ(machine.numa[0].cpus, "0-3");
  EXPECT_EQ(machine.numa[1].memory_mib, 32);
}

TEST(Machine, ThisMachineIsPlausible) {
  const MachineInfo machine = discover_machine();
  EXPECT_FALSE(machine.hostname.empty());
  EXPECT_EQ(machine.boot_id.size(), 36U);
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_GE(machine.cpus, 1);
  EXPECT_LE(machine.cpus, machine.sockets * machine.cores_per_socket * machine.threads_per_core);
  EXPECT_GT(machine.memory_mib, 0);
}

TEST(Machine, NothingReadableIsOneCpu) {
  const MachineInfo machine = discover_machine("/nonexistent");
  EXPECT_EQ(machine.cpus, 1);
  EXPECT_EQ(machine.sockets, 1);
  EXPECT_EQ(machine.memory_mib, 0);
  EXPECT_TRUE(machine.boot_id.empty());
}

}  // namespace
}  // namespace phalanx::agent
