// Values of configuration keys: text to numbers, times, switches and lists, and the tables that
// bind keys to members of a struct. The kind of a key (conf_keys.h) decides how its text is read.
// An Error says what form was expected; who calls adds the key and the position.
//
// Pure, total, nothing kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "base/time.h"
#include "dialect/slurm/conf.h"
#include "dialect/slurm/conf_keys.h"

namespace phalanx::slurm {

Result<bool> parse_switch(std::string_view text);  // YES, NO, 1, 0, TRUE, FALSE
Result<std::optional<std::int64_t>> parse_limit(std::string_view text);  // absent: UNLIMITED
Result<std::int64_t> parse_number(std::string_view text);                // digits only
Result<std::int64_t> parse_megabytes(std::string_view text);             // 0: UNLIMITED
Result<Duration> parse_span(std::string_view text, ValueKind kind);      // kForever: UNLIMITED
Words parse_words(std::string_view text);                                // without empty ones
Result<Preemption> parse_preempt_mode(std::string_view text);
Result<Selection> parse_selection(std::string_view text);
Result<std::vector<NodeGres>> parse_node_gres(std::string_view text);
Result<std::vector<TresWeight>> parse_tres_weights(std::string_view text);

// DefMemPer… and MaxMemPer…: of a kind, the one that was given last holds and unsets the others.
Status store_memory(MemoryLimits& into, std::string_view key, std::string_view text);

// Where a key's value goes. A function takes what is more than one plain member.
template <class T>
struct Binding {
  std::string_view key;
  std::variant<std::int64_t T::*, std::optional<std::int64_t> T::*, bool T::*,
               std::optional<bool> T::*, std::string T::*, Words T::*, Duration T::*,
               std::optional<Duration> T::*, Status (*)(T&, std::string_view)>
      to;
};

template <class T>
Status store(T& into, std::int64_t T::* member, ValueKind kind, std::string_view text) {
  into.*member = TRY(kind == ValueKind::Megabytes ? parse_megabytes(text) : parse_number(text));
  return {};
}
template <class T>
Status store(T& into, std::optional<std::int64_t> T::* member, ValueKind kind,
             std::string_view text) {
  if (kind == ValueKind::Megabytes)
    into.*member = TRY(parse_megabytes(text));
  else
    into.*member = TRY(parse_limit(text));
  return {};
}
template <class T>
Status store(T& into, bool T::* member, ValueKind, std::string_view text) {
  into.*member = TRY(parse_switch(text));
  return {};
}
template <class T>
Status store(T& into, std::optional<bool> T::* member, ValueKind, std::string_view text) {
  into.*member = TRY(parse_switch(text));
  return {};
}
template <class T>
Status store(T& into, std::string T::* member, ValueKind, std::string_view text) {
  into.*member = std::string(text);
  return {};
}
// Programs may be named on several lines; other lists are replaced.
template <class T>
Status store(T& into, Words T::* member, ValueKind kind, std::string_view text) {
  if (kind == ValueKind::Path)
    (into.*member).emplace_back(text);
  else
    into.*member = parse_words(text);
  return {};
}
template <class T>
Status store(T& into, Duration T::* member, ValueKind kind, std::string_view text) {
  into.*member = TRY(parse_span(text, kind));
  return {};
}
template <class T>
Status store(T& into, std::optional<Duration> T::* member, ValueKind kind, std::string_view text) {
  into.*member = TRY(parse_span(text, kind));
  return {};
}
template <class T>
Status store(T& into, Status (*function)(T&, std::string_view), ValueKind, std::string_view text) {
  return function(into, text);
}

template <class T>
const Binding<T>* find_binding(std::span<const Binding<T>> table, std::string_view key) {
  for (const Binding<T>& b : table)
    if (b.key == key) return &b;
  return nullptr;
}

template <class T>
Status store(T& into, const Binding<T>& binding, ValueKind kind, std::string_view text) {
  return std::visit([&](auto to) { return store(into, to, kind, text); }, binding.to);
}

}  // namespace phalanx::slurm
