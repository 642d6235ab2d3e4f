// ASSERT: a bug, never user input. Always on, in release builds too: after it the process ends, and
// a restart is cheap because every promise is in the journal.
#pragma once

namespace phalanx {
// Prints "file:line: expression" to stderr and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}  // namespace phalanx

#define ASSERT(expression)                              \
  (static_cast<bool>(expression) ? static_cast<void>(0) \
                                 : ::phalanx::assertion_failed(#expression, __FILE__, __LINE__))
