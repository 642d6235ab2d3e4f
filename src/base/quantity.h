// An amount in fixed point, thousandths of a unit: 0.5 CPU is 500 milli. Built from integers or
// parsed from text, never through a double (0.57 as a double is 0.5699…).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace phalanx {

class Quantity {
 public:
  constexpr Quantity() = default;
  static constexpr Quantity of(std::int64_t whole) { return Quantity(whole * 1000); }
  static constexpr Quantity milli(std::int64_t thousandths) { return Quantity(thousandths); }
  // "2", "0.25", "1500m". At most three decimals; more are refused, not rounded. At most 9e12.
  static Result<Quantity> parse(std::string_view text);

  [[nodiscard]] constexpr std::int64_t in_milli() const { return milli_; }
  // Whole units, rounded up: a CPU that is half used is used.
  [[nodiscard]] constexpr std::int64_t ceil() const { return (milli_ + 999) / 1000; }
  [[nodiscard]] constexpr std::int64_t floor() const { return milli_ / 1000; }
  [[nodiscard]] constexpr bool whole() const { return milli_ % 1000 == 0; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity o) {
    milli_ += o.milli_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    milli_ -= o.milli_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return Quantity(a.milli_ * n); }

 private:
  explicit constexpr Quantity(std::int64_t milli) : milli_(milli) {}
  std::int64_t milli_ = 0;
};

// "2", "0.25", "1.5": the shortest form that parses back.
std::string to_string(Quantity q);

}  // namespace phalanx
