// Any words as options of each tool: no crash; what parses survives the codec and parses again to
// the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/codec.h"
#include "base/text.h"
#include "dialect/slurm/options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace slurm = phalanx::slurm;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<slurm::Token> tokens;
  for (const std::string_view line : phalanx::split(text, '\n')) {
    slurm::Token token{std::string(line), slurm::Origin::CommandLine, {}, 0, 0};
    if (line.starts_with("script "))
      token = {std::string(line.substr(7)), slurm::Origin::Script, "job.sh", 3, 9};
    if (line.starts_with("env "))
      token = {std::string(line.substr(4)), slurm::Origin::Environment, "VAR", 0, 0};
    tokens.push_back(std::move(token));
  }
  slurm::ParseContext context;
  context.now = phalanx::from_unix_ms(1'796'050'000'000);
  context.max_array_size = 10'000;
  for (const slurm::Tool tool : {slurm::Tool::Sbatch, slurm::Tool::Srun, slurm::Tool::Salloc}) {
    const auto parsed = slurm::parse_tokens(tool, tokens, context);
    if (!parsed.ok()) continue;
    const std::string bytes = phalanx::codec::encode(parsed.value);
    if (const auto back = phalanx::codec::decode<slurm::JobOptions>(bytes); back.ok())
      ASSERT(phalanx::codec::encode(*back) == bytes);
    const auto again = slurm::parse_tokens(tool, tokens, context);
    ASSERT(again.value == parsed.value);
  }
  return 0;
}
