// Strong ids. Id<Tag> is a 64-bit number from a counter in State: never reused, ordered by age, the
// last word of every comparison. Slot<Tag> is a dense index into a vector in memory: reused, and
// never stored, sent or printed. Neither converts to an integer by itself.
#pragma once

#include <compare>
#include <cstdint>

namespace phalanx {

template <class Tag>
struct Id {
  std::uint64_t value = 0;  // 0: none
  auto operator<=>(const Id&) const = default;
  explicit operator bool() const { return value != 0; }
};

template <class Tag>
struct Slot {
  std::uint32_t index = 0;
  auto operator<=>(const Slot&) const = default;
};

}  // namespace phalanx
