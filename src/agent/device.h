// The GPUs of this machine, found through NVIDIA's management library, or emulated for trying
// things out. Plain values: the caller maps them to the model. Units: bytes. Errors: a machine
// without the library, or with a GPU that does not answer, is described, not an error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace phalanx::agent {

struct GpuInfo {
  int index = 0;   // NVML's, in PCI order
  int minor = -1;  // /dev/nvidia<minor>; -1: unknown or emulated
  std::string uuid;
  std::string type;     // "h100_80gb_hbm3": type_name(product)
  std::string product;  // "NVIDIA H100 80GB HBM3"
  std::string pci;      // "0000:3b:00.0", as in /sys/bus/pci/devices
  std::int64_t memory_bytes = 0;
  bool emulated = false;
  std::string cpu_affinity;  // the CPUs near it, "0-15,32-47"; empty: unknown
  int numa_node = -1;        // -1: unknown, or the machine has only one
  bool mig = false;          // partitioned: only its instances can be used
  std::vector<int>
      foreign_pids;     // processes on it; whose they are, the caller knows (see keep_foreign)
  int left_pid = 0;     // one of these that an attempt has left behind; 0: none
  std::string left_by;  // the attempt's label
  std::string failure;  // not empty: it is there and cannot be used; one sentence
};

struct GpuInventory {
  std::vector<GpuInfo> gpus;
  std::string driver_version;
  std::vector<std::string> notes;  // sentences for people: what is missing and what follows from it
};

// Whatever `library` and `sysfs` tell; tests put their own there.
GpuInventory discover_gpus(const std::string& library = "libnvidia-ml.so.1",
                           const std::string& sysfs = "/sys");

// GPUs that exist in name only, labelled so: a cluster can be tried out without one.
std::vector<GpuInfo> emulated_devices(int count, std::string_view type);

// Takes the processes that are ours out of each GPU's foreign_pids; `ours` is sorted.
void keep_foreign(std::vector<GpuInfo>& gpus, const std::vector<int>& ours);

// Whose the processes on GPUs are that belong to no attempt: one that was first seen while an
// attempt held the GPU is what that attempt left there, any other is somebody else's. Forgotten
// with the agent: after its restart all are somebody else's.
class Leftovers {
 public:
  // Fills in left_pid and left_by; `holders`: labels of attempts by the GPU's uuid.
  void mark(std::vector<GpuInfo>& gpus, const std::map<std::string, std::string>& holders);

 private:
  std::map<std::pair<std::string, int>, std::string> seen_;  // by uuid and process; empty: outside
};

// A product's name as a GRES type: lower case, runs of other characters as one underscore, without
// the vendor. "NVIDIA RTX PRO 6000 Blackwell" is "rtx_pro_6000_blackwell".
std::string type_name(std::string_view product);

// Whether a GPU of type or product `found` is what a configuration calls `configured`. Letters and
// digits alone count, in either case, and the configured name may be any part of the found one:
// "rtxpro6000" and "a100" match "rtx_pro_6000_blackwell" and "NVIDIA A100-SXM4-40GB". This is for
// matching gres.conf with hardware, as AutoDetect does; what a job asks for is compared whole.
bool type_matches(std::string_view configured, std::string_view found);

}  // namespace phalanx::agent
