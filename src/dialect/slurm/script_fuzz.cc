// Any text as a batch script: no crash; tokens point into the text; a refused script gives no
// token.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "dialect/slurm/script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  const auto script = phalanx::slurm::read_script(text, "job.sh");
  ASSERT(!script.value.components.empty());
  ASSERT(text.starts_with("#!") || !script.ok());
  for (const auto& component : script.value.components) {
    for (const auto& token : component) {
      ASSERT(token.line >= 1 && token.line <= lines);
      ASSERT(token.column > 6 && static_cast<std::size_t>(token.column) <= size);
      ASSERT(token.text.find('\n') == std::string::npos);
    }
  }
  return 0;
}
