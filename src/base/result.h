// The one way to fail. A fallible function returns Result<T>; TRY unwraps a value or returns the
// error to the caller. The names follow std::expected, so that it can take over when the compiler
// has it.
//
// Three kinds of failure (docs/style.md): the user's input and the environment are Results; a bug
// is an ASSERT (base/assert.h). A message says what is wrong and what to do about it.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace phalanx {

struct Error {
  enum class Code {
    Invalid,      // the request makes no sense; repeating it will not help
    NotFound,     // no such thing
    Conflict,     // it exists already, or its state does not allow this
    Denied,       // who asks may not
    Unavailable,  // not now: try again
    Internal,     // our fault
  };
  Code code = Code::Internal;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a value or an error is a Result
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  // So that TRY moves, also what cannot be copied.
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): an error is a Result
  Result(Error error) : failed_(true), error_(std::move(error)) {}
  [[nodiscard]] bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  void value() const {}
  Error& error() { return error_; }
  const Error& error() const { return error_; }

 private:
  bool failed_ = false;
  Error error_;
};
using Status = Result<void>;

inline Error invalid(std::string message) { return {Error::Code::Invalid, std::move(message)}; }
inline Error not_found(std::string message) { return {Error::Code::NotFound, std::move(message)}; }
inline Error conflict(std::string message) { return {Error::Code::Conflict, std::move(message)}; }
inline Error denied(std::string message) { return {Error::Code::Denied, std::move(message)}; }
inline Error unavailable(std::string message) {
  return {Error::Code::Unavailable, std::move(message)};
}
inline Error internal(std::string message) { return {Error::Code::Internal, std::move(message)}; }

}  // namespace phalanx

#define TRY(expression)                                                           \
  __extension__({                                                                 \
    auto&& try_result = (expression);                                             \
    if (!try_result.ok()) return ::phalanx::Error(std::move(try_result.error())); \
    std::move(try_result).value();                                                \
  })
