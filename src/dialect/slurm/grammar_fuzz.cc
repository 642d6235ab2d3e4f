// Every small grammar on any text: no crash, and what parses prints to a text that parses to the
// same value.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "dialect/slurm/grammar.h"

namespace {

namespace slurm = phalanx::slurm;

template <class Parse, class Print>
void round_trip(std::string_view text, Parse parse, Print print) {
  const auto first = parse(text);
  if (!first.ok()) return;
  const auto second = parse(print(*first));
  ASSERT(second.ok());
  ASSERT(*second == *first);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const phalanx::Time now = phalanx::from_unix_ms(1'796'050'000'000);
  const slurm::Zone zone{phalanx::hours(-5),
                         {{phalanx::from_unix_ms(1'800'000'000'000), phalanx::hours(-4)}}};

  round_trip(text, slurm::parse_time, slurm::print_time);
  round_trip(text, slurm::parse_time, slurm::print_time_padded);
  round_trip(text, slurm::parse_mbytes, slurm::print_mbytes);
  round_trip(text, slurm::parse_nodes, slurm::print_nodes);
  round_trip(text, slurm::parse_signal, slurm::print_signal);
  round_trip(
      text, [](std::string_view t) { return slurm::parse_runs(t, 1000); },
      [](const auto& runs) { return slurm::print_runs(runs); });
  round_trip(
      text, [](std::string_view t) { return slurm::parse_array(t, 10'000); }, slurm::print_array);
  round_trip(text, slurm::parse_dependencies, slurm::print_dependencies);
  round_trip(text, slurm::parse_constraint, slurm::print_constraint);
  if (const auto gres = slurm::parse_gres(text); gres.ok() && !gres->empty())
    round_trip(text, slurm::parse_gres, [](const auto& list) { return slurm::print_gres(list); });
  if (const auto moment = slurm::parse_moment(text, now, zone); moment.ok()) {
    const auto again = slurm::parse_moment(slurm::print_moment(*moment, zone), now, zone);
    ASSERT(!again.ok() || slurm::to_civil(*again, zone) == slurm::to_civil(*moment, zone));
  }
  (void)slurm::parse_count(text);
  (void)slurm::parse_gpus(text);
  (void)slurm::parse_export(text);
  (void)slurm::parse_mail_types(text);
  (void)slurm::expand_pattern(text, {});
  return 0;
}
