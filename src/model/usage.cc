#include "model/usage.h"

#include <algorithm>

namespace phalanx {

Usage usage_of(Quantity cpus, std::int64_t memory, std::size_t gpus, Duration held) {
  constexpr std::int64_t kMib = std::int64_t{1} << 20;
  const std::int64_t ms = std::max<std::int64_t>(held.count(), 0);
  Usage usage;
  usage.gpu_ms = static_cast<std::int64_t>(gpus) * ms;
  // In two parts, so that no product overflows: whole seconds × milli-CPUs are CPU-milliseconds.
  usage.cpu_ms = cpus.in_milli() * (ms / 1000) + cpus.in_milli() * (ms % 1000) / 1000;
  usage.memory_mb_ms = (memory + kMib - 1) / kMib * ms;
  usage.node_ms = ms;
  return usage;
}

Usage& operator+=(Usage& sum, const Usage& more) {
  sum.gpu_ms += more.gpu_ms;
  sum.cpu_ms += more.cpu_ms;
  sum.memory_mb_ms += more.memory_mb_ms;
  sum.node_ms += more.node_ms;
  return sum;
}

}  // namespace phalanx
