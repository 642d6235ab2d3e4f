// Texts of the core, which name dates and job numbers, in the terms of a scenario. Pure.
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "model/ids.h"

namespace phalanx::sim {

// "expected to start at 2000-01-01T01:00:00Z" is "expected to start at 1h".
std::string relative_times(const std::string& text, Time zero);
// "job 3 came first" is "B came first"; "jobs 3 and 4" is "B and C".
std::string name_jobs(const std::string& text, const std::map<JobNumber, std::string>& names);
// Filled up with blanks, at least one.
std::string pad(std::string text, std::size_t width);
std::string without_trailing_blanks(std::string text);

}  // namespace phalanx::sim
