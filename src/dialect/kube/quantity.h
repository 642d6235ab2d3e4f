// Kubernetes quantities ("500m", "2Gi", "1.5", "1e3") as exact integers: never through a double,
// never rounded down, and what does not fit is an error, never 0. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/quantity.h"
#include "base/result.h"

namespace phalanx::kube {

// CPUs: at most three decimals count, as in Kubernetes finer ones are rounded up ("100u" is 1m).
Result<Quantity> parse_cpus(std::string_view text);
// Bytes, rounded up to a whole one. "2G" is 2,000,000,000; "2Gi" is 2,147,483,648.
Result<std::int64_t> parse_bytes(std::string_view text);
// Whole devices: a fraction of one is refused.
Result<std::int64_t> parse_count(std::string_view text);

}  // namespace phalanx::kube
