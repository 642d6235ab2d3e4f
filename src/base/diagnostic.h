// What a parser says beside its value. Parsers never fail: they return Parsed<T>, the best value
// they could read plus diagnostics with positions; whoever asked decides whether an error is fatal.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace phalanx {

struct Position {
  std::string
      file;        // empty: not from a file (a command line, an environment variable: see `origin`)
  int line = 0;    // from 1; 0: unknown
  int column = 0;  // from 1, in bytes; 0: unknown
  auto operator<=>(const Position&) const = default;
};

struct Diagnostic {
  enum class Severity { Note, Warning, Error };
  Severity severity = Severity::Error;
  Position at;
  std::string message;  // one sentence: what is wrong and what to do
  auto operator<=>(const Diagnostic&) const = default;
};

// "file:line:column: error: message", leaving out what is unknown.
std::string to_string(const Diagnostic& d);

template <class T>
struct Parsed {
  T value{};
  std::vector<Diagnostic> diagnostics;

  [[nodiscard]] bool ok() const {
    for (const Diagnostic& d : diagnostics)
      if (d.severity == Diagnostic::Severity::Error) return false;
    return true;
  }
  [[nodiscard]] const Diagnostic* first_error() const {
    for (const Diagnostic& d : diagnostics)
      if (d.severity == Diagnostic::Severity::Error) return &d;
    return nullptr;
  }
  void error(Position at, std::string message) {
    diagnostics.push_back({Diagnostic::Severity::Error, std::move(at), std::move(message)});
  }
  void warning(Position at, std::string message) {
    diagnostics.push_back({Diagnostic::Severity::Warning, std::move(at), std::move(message)});
  }
};

}  // namespace phalanx
