// Seeded random numbers (splitmix64 seeding xoshiro256**; Blackman and Vigna, 2018). The seed comes
// in as an argument; the same seed gives the same numbers on every machine.
#pragma once

#include <array>
#include <cstdint>

namespace phalanx {

class Rng {
 public:
  explicit Rng(std::uint64_t seed);
  std::uint64_t next();
  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

 private:
  std::array<std::uint64_t, 4> s_{};
};

}  // namespace phalanx
