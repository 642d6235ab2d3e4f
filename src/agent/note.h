// The lines that Slurm's users look for at the end of their jobs' standard error: why it was
// stopped, that memory ran out. Written with the owner's rights; what cannot be written is left
// out.
#pragma once

#include <string>
#include <string_view>

#include "model/wire.h"

namespace phalanx::agent {

// "error: *** JOB 7 ON n1 CANCELLED AT 2026-11-30T14:37:10 DUE TO TIME LIMIT ***". `what` is "JOB
// 7" or "STEP 7.0"; the time is now, local.
std::string stop_note(std::string_view what, std::string_view node, EndCause cause);
// "error: Detected 1 oom_kill event in StepId=7.batch. …"
std::string memory_note(std::string_view step);
// "error: StepId=7.0 lost its supervisor here: …", which no user's own kill looks like.
std::string supervisor_note(std::string_view step);

// Appends "slurmstepd: text" to a batch job's standard error, if that is a file.
void write_note(const LaunchOrder& order, const std::string& text);

}  // namespace phalanx::agent
