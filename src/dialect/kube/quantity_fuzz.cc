#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "dialect/kube/quantity.h"
#include "dialect/kube/selector.h"

// Any text is a quantity or an error, and no quantity is negative.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto cpus = phalanx::kube::parse_cpus(text); cpus.ok())
    ASSERT(*cpus >= phalanx::Quantity());
  if (const auto bytes = phalanx::kube::parse_bytes(text); bytes.ok()) ASSERT(*bytes >= 0);
  (void)phalanx::kube::parse_count(text);
  (void)phalanx::kube::parse_requirements(text);
  return 0;
}
