// The options of our own verbs: "--name VALUE", "--name=VALUE", and flags without a value. Reads
// them all at once; a mistake is told on stderr with the nearest name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace phalanx {

struct Option {
  using Target = std::variant<bool*, std::string*, std::int64_t*, std::optional<std::int64_t>*,
                              std::vector<std::string>*>;
  std::string_view name;  // "--state"
  Target target;
  std::string_view value;  // what to call the value; empty for flags
  std::string_view help;
};

// Nothing: go on. Else the exit code: 0 after --help, 2 after a mistake.
std::optional<int> parse_arguments(std::string_view verb, std::string_view what,
                                   std::span<const Option> options, int argc, char** argv);

}  // namespace phalanx
