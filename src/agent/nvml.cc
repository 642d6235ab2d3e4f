#include "agent/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "agent/kernel_file.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

// NVML's binary interface, from its reference manual.
using Return = int;
using Device = void*;
constexpr Return kSuccess = 0;
constexpr Return kNotSupported = 3;
constexpr Return kInsufficientSize = 7;
constexpr std::size_t kTextSize = 96;
constexpr unsigned kMigEnabled = 1;

struct Memory {
  unsigned long long total, free, used;
};
struct Pci {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct ProcessV1 {
  unsigned pid;
  unsigned long long used_memory;
};
struct ProcessV2 {  // also of the functions _v3
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
using ListProcesses = Return (*)(Device, unsigned*, void*);
using Text = std::array<char, kTextSize>;

std::string to_text(const Text& text) { return {text.begin(), std::ranges::find(text, '\0')}; }

// "0-3,8" from a bit mask.
std::string cpu_list(const std::vector<unsigned long>& mask) {
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  const auto set = [&](std::size_t cpu) {
    return cpu < mask.size() * kBits && ((mask[cpu / kBits] >> (cpu % kBits)) & 1U) != 0;
  };
  std::vector<std::string> ranges;
  for (std::size_t cpu = 0; cpu < mask.size() * kBits; ++cpu) {
    if (!set(cpu)) continue;
    const std::size_t first = cpu;
    while (set(cpu + 1)) ++cpu;
    ranges.push_back(first == cpu ? format("{}", first) : format("{}-{}", first, cpu));
  }
  return join(ranges, ",");
}

// The name under /sys/bus/pci/devices: NVML writes the domain with eight digits and in capitals.
std::string pci_name(const Pci& pci) {
  return format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  bool initialised = false;
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*count)(unsigned*) = nullptr;
  Return (*by_index)(unsigned, Device*) = nullptr;
  Return (*name)(Device, char*, unsigned) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  Return (*minor)(Device, unsigned*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*pci)(Device, Pci*) = nullptr;
  Return (*cpu_affinity)(Device, unsigned, unsigned long*) = nullptr;
  Return (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  ListProcesses compute = nullptr;
  ListProcesses graphics = nullptr;
  bool first_process_layout = false;

  ~Library() {
    if (initialised && shutdown != nullptr) (void)shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }

  template <class Function>
  bool find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(handle, symbol));
    return function != nullptr;
  }

  // The first required function that is missing; nullptr if all are there.
  const char* load() {
    if (!find(init, "nvmlInit_v2")) return "nvmlInit_v2";
    if (!find(count, "nvmlDeviceGetCount_v2")) return "nvmlDeviceGetCount_v2";
    if (!find(by_index, "nvmlDeviceGetHandleByIndex_v2")) return "nvmlDeviceGetHandleByIndex_v2";
    if (!find(name, "nvmlDeviceGetName")) return "nvmlDeviceGetName";
    if (!find(uuid, "nvmlDeviceGetUUID")) return "nvmlDeviceGetUUID";
    if (!find(minor, "nvmlDeviceGetMinorNumber")) return "nvmlDeviceGetMinorNumber";
    if (!find(memory, "nvmlDeviceGetMemoryInfo")) return "nvmlDeviceGetMemoryInfo";
    find(shutdown, "nvmlShutdown");
    find(error_string, "nvmlErrorString");
    find(driver_version, "nvmlSystemGetDriverVersion");
    find(pci, "nvmlDeviceGetPciInfo_v3");
    find(cpu_affinity, "nvmlDeviceGetCpuAffinity");
    find(mig_mode, "nvmlDeviceGetMigMode");
    for (const char* version : {"_v3", "_v2", ""}) {
      if (!find(compute, format("nvmlDeviceGetComputeRunningProcesses{}", version).c_str()))
        continue;
      find(graphics, format("nvmlDeviceGetGraphicsRunningProcesses{}", version).c_str());
      first_process_layout = std::string_view(version).empty();
      break;
    }
    return nullptr;
  }

  [[nodiscard]] Error error(std::string_view what, Return code) const {
    const char* text = error_string != nullptr ? error_string(code) : nullptr;
    return unavailable(text != nullptr ? format("{}: {}", what, text)
                                       : format("{}: NVML error {}", what, code));
  }

  [[nodiscard]] Result<Device> device(int index) const {
    Device found = nullptr;
    const Return code = by_index(static_cast<unsigned>(index), &found);
    if (code != kSuccess) return error(format("GPU {} does not answer", index), code);
    return found;
  }

  template <class Process>
  void list(ListProcesses function, Device gpu, std::vector<int>& out, Return& code) const {
    std::vector<Process> found;
    unsigned count_of = 0;
    code = function(gpu, &count_of, nullptr);
    // More may have come since the size was told.
    for (int round = 0; code == kInsufficientSize && round < 4; ++round) {
      count_of += 16;
      found.resize(count_of);
      code = function(gpu, &count_of, found.data());
    }
    if (code != kSuccess) return;
    for (unsigned i = 0; i < count_of && i < found.size(); ++i)
      out.push_back(static_cast<int>(found[i].pid));
  }
};

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;
Nvml::~Nvml() = default;

Result<Nvml> Nvml::open(const std::string& library) {
  auto loaded = std::make_unique<Library>();
  loaded->handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded->handle == nullptr)
    return unavailable(
        format("no GPUs offered: NVIDIA's driver library cannot be loaded ({}); install "
               "the driver if this node has GPUs",
               ::dlerror()));
  if (const char* missing = loaded->load())
    return unavailable(format("no GPUs offered: {} has no {}; install a driver of 2020 or later",
                              library, missing));
  if (const Return code = loaded->init(); code != kSuccess)
    return loaded->error("no GPUs offered: NVIDIA's driver does not start", code);
  loaded->initialised = true;
  return Nvml(std::move(loaded));
}

std::string Nvml::driver_version() const {
  Text text{};
  if (library_->driver_version == nullptr ||
      library_->driver_version(text.data(), kTextSize) != kSuccess)
    return {};
  return to_text(text);
}

Result<int> Nvml::count() const {
  unsigned found = 0;
  const Return code = library_->count(&found);
  if (code != kSuccess) return library_->error("no GPUs offered: they cannot be counted", code);
  return static_cast<int>(found);
}

Result<GpuInfo> Nvml::describe(int index, const std::string& sysfs) const {
  const Library& nvml = *library_;
  Device gpu = TRY(nvml.device(index));
  GpuInfo info;
  info.index = index;
  Text text{};
  if (Return code = nvml.name(gpu, text.data(), kTextSize); code != kSuccess)
    return nvml.error(format("GPU {} does not tell its name", index), code);
  info.product = to_text(text);
  info.type = type_name(info.product);
  if (Return code = nvml.uuid(gpu, text.data(), kTextSize); code != kSuccess)
    return nvml.error(format("GPU {} does not tell its UUID", index), code);
  info.uuid = to_text(text);
  unsigned minor = 0;
  if (Return code = nvml.minor(gpu, &minor); code != kSuccess)
    return nvml.error(format("GPU {} does not tell its device file", index), code);
  info.minor = static_cast<int>(minor);
  Memory memory{};
  // GPUs that share the machine's memory have none of their own to tell.
  if (Return code = nvml.memory(gpu, &memory); code != kSuccess && code != kNotSupported)
    return nvml.error(format("GPU {} does not tell its memory", index), code);
  info.memory_bytes = static_cast<std::int64_t>(memory.total);
  if (Pci pci{}; nvml.pci != nullptr && nvml.pci(gpu, &pci) == kSuccess) info.pci = pci_name(pci);
  const std::string in_sysfs = format("{}/bus/pci/devices/{}", sysfs, info.pci);
  std::vector<unsigned long> mask(64);
  if (nvml.cpu_affinity != nullptr &&
      nvml.cpu_affinity(gpu, static_cast<unsigned>(mask.size()), mask.data()) == kSuccess)
    info.cpu_affinity = cpu_list(mask);
  else if (!info.pci.empty())
    info.cpu_affinity = read_text(in_sysfs + "/local_cpulist").value_or("");
  if (!info.pci.empty())
    info.numa_node = static_cast<int>(read_number(in_sysfs + "/numa_node").value_or(-1));
  unsigned mode = 0, pending = 0;
  info.mig = nvml.mig_mode != nullptr && nvml.mig_mode(gpu, &mode, &pending) == kSuccess &&
             mode == kMigEnabled;
  if (Result<std::vector<int>> pids = processes(index)) info.foreign_pids = std::move(*pids);
  return info;
}

Result<std::vector<int>> Nvml::processes(int index) const {
  const Library& nvml = *library_;
  Device gpu = TRY(nvml.device(index));
  std::vector<int> pids;
  for (ListProcesses function : {nvml.compute, nvml.graphics}) {
    if (function == nullptr) continue;
    Return code = kSuccess;
    nvml.first_process_layout ? nvml.list<ProcessV1>(function, gpu, pids, code)
                              : nvml.list<ProcessV2>(function, gpu, pids, code);
    // A GPU without a display part has no graphics processes to list.
    if (code != kSuccess && function == nvml.compute)
      return nvml.error(format("GPU {} does not list its processes", index), code);
  }
  std::ranges::sort(pids);
  const auto repeated = std::ranges::unique(pids);
  pids.erase(repeated.begin(), repeated.end());
  return pids;
}

}  // namespace phalanx::agent
