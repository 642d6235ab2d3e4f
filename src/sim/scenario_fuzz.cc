// Any text as a scenario: no crash; each complaint has a message; halves add up to the whole.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "sim/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace sim = phalanx::sim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const sim::Halves halves = sim::split_scenario(text);
  ASSERT(halves.above.size() + halves.below.size() <= text.size());
  const auto parsed = sim::parse_scenario(halves.above, "fuzz.scn");
  for (const phalanx::Diagnostic& d : parsed.diagnostics) ASSERT(!d.message.empty());
  if (parsed.ok()) ASSERT(!parsed.value.machines.empty());
  return 0;
}
