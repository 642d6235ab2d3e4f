// NVIDIA's management library, loaded when there is one. Debian has no nvml.h, so nvml.cc declares
// the few functions and structures that are used, as NVIDIA documents them.
//
// Ownership: an Nvml keeps the library loaded and initialised. Threads: any, one at a time. Errors:
// Unavailable with a sentence for people. Only what every data-centre driver since 2020 offers is
// required; a function that a driver lacks leaves its field unknown.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/device.h"
#include "base/result.h"

namespace phalanx::agent {

class Nvml {
 public:
  // `library` is a name for the dynamic loader or a path.
  static Result<Nvml> open(const std::string& library);
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  [[nodiscard]] std::string driver_version() const;
  [[nodiscard]] Result<int> count() const;
  // Everything about one GPU. `sysfs` tells the NUMA node, and the near CPUs if NVML does not.
  [[nodiscard]] Result<GpuInfo> describe(int index, const std::string& sysfs = "/sys") const;
  // The processes with a context on it, compute or graphics, sorted; ids as this process sees them.
  [[nodiscard]] Result<std::vector<int>> processes(int index) const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace phalanx::agent
