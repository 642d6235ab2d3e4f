#include "agent/device.h"

#include <algorithm>

#include "agent/nvml.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

std::string letters_and_digits(std::string_view text) {
  std::string out = to_lower(text);
  std::erase_if(out, [](char c) { return !is_word(c); });
  return out;
}

}  // namespace

GpuInventory discover_gpus(const std::string& library, const std::string& sysfs) {
  GpuInventory found;
  Result<Nvml> nvml = Nvml::open(library);
  if (!nvml) {
    found.notes.push_back(nvml.error().message);
    return found;
  }
  found.driver_version = nvml->driver_version();
  const Result<int> count = nvml->count();
  if (!count) {
    found.notes.push_back(count.error().message);
    return found;
  }
  for (int index = 0; index < *count; ++index) {
    Result<GpuInfo> gpu = nvml->describe(index, sysfs);
    if (gpu) {
      found.gpus.push_back(std::move(*gpu));
      continue;
    }
    GpuInfo failed;
    failed.index = index;
    failed.failure = gpu.error().message;
    found.notes.push_back(failed.failure);
    found.gpus.push_back(std::move(failed));
  }
  return found;
}

std::vector<GpuInfo> emulated_devices(int count, std::string_view type) {
  constexpr std::int64_t kMemory = std::int64_t{80} << 30;
  std::vector<GpuInfo> gpus;
  for (int index = 0; index < count; ++index) {
    GpuInfo gpu;
    gpu.index = index;
    gpu.uuid = format("GPU-emulated-{}", index);
    gpu.type = type_name(type);
    gpu.product = format("Emulated {}", type);
    gpu.memory_bytes = kMemory;
    gpu.emulated = true;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

void keep_foreign(std::vector<GpuInfo>& gpus, const std::vector<int>& ours) {
  for (GpuInfo& gpu : gpus)
    std::erase_if(gpu.foreign_pids, [&](int pid) { return std::ranges::binary_search(ours, pid); });
}

void Leftovers::mark(std::vector<GpuInfo>& gpus,
                     const std::map<std::string, std::string>& holders) {
  const auto before = std::exchange(seen_, {});  // processes that are gone are forgotten
  for (GpuInfo& gpu : gpus) {
    for (const int pid : gpu.foreign_pids) {
      const std::pair key(gpu.uuid, pid);
      const auto known = before.find(key);
      const auto holder = holders.find(gpu.uuid);
      std::string left_by = known != before.end()     ? known->second
                            : holder != holders.end() ? holder->second
                                                      : "";
      if (!left_by.empty() && gpu.left_pid == 0) {
        gpu.left_pid = pid;
        gpu.left_by = left_by;
      }
      seen_.emplace(key, std::move(left_by));
    }
  }
}

std::string type_name(std::string_view product) {
  std::string name;
  for (char c : to_lower(trim(product))) {
    if (is_word(c))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  constexpr std::string_view kVendor = "nvidia_";
  if (name.starts_with(kVendor)) name.erase(0, kVendor.size());
  return name;
}

bool type_matches(std::string_view configured, std::string_view found) {
  const std::string part = letters_and_digits(configured);
  return !part.empty() && letters_and_digits(found).find(part) != std::string::npos;
}

}  // namespace phalanx::agent
