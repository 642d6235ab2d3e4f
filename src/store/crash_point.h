// Named places where a test may end the process as a power cut would: no destructor, no flush. With
// PHALANX_CRASH_AT=name the process kills itself at the first pass, with name:n at the n-th.
// Compiled only with PHALANX_TEST_SEAMS; otherwise each call is nothing.
//
// Names in use:
//   before-append, mid-transaction, after-append    the journal's commit
//   before-rename    a snapshot is written, not yet in its place
//   mid-compact      between two slices
//   after-submitted, after-placed, after-launched, after-ended, after-released
//                    the event is on disk, and nobody has been told
//   before-reply, after-reply, before-effect, after-effect    around each of these
//   after-archive    the archive has finished work, and State does not know that it has
#pragma once

#include <string_view>

namespace phalanx::store {

#ifdef PHALANX_TEST_SEAMS
void crash_point(std::string_view name);
#else
inline void crash_point(std::string_view /*name*/) {}
#endif

}  // namespace phalanx::store
