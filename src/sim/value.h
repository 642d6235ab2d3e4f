// The values that cells of a scenario hold: text to value, or an error that says what to write.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace phalanx::sim {

// "90s", "1h30m", "250ms", "2d", "forever": what base's to_string prints.
Result<Duration> parse_duration(std::string_view text);
// A whole number of at least `least` and at most 4,294,967,294.
Result<std::int64_t> parse_count(std::string_view text, std::int64_t least = 0);
// "512M", "64G", "1T": bytes, powers of 1024.
Result<std::int64_t> parse_bytes(std::string_view text);
Result<bool> parse_yes(std::string_view text);
// "n[1-3,7]" is n1 n2 n3 n7; "a,b" is a b. At most 4,096 names.
Result<std::vector<std::string>> expand_names(std::string_view text);
// "h100:2" is {"h100", 2}; "2" is {"", 2}.
struct TypedCount {
  std::string type;
  std::int64_t count = 0;
};
Result<TypedCount> parse_typed_count(std::string_view text);

}  // namespace phalanx::sim
