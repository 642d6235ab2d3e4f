// Small text tools: no locale, no exceptions, no allocation where a view will do.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace phalanx {

using fmt::format;

std::string_view trim(std::string_view s);  // blanks and tabs, CR and LF
// Splits at every `separator`; "a,,b" has three parts, "" has one empty part.
std::vector<std::string_view> split(std::string_view s, char separator);
template <class Text>
  requires std::is_same_v<Text, std::string>
void split(Text&& temporary, char separator) = delete;  // the parts would outlive it
// Splits at runs of blanks and tabs; no empty parts.
std::vector<std::string_view> split_blanks(std::string_view s);
template <class Text>
  requires std::is_same_v<Text, std::string>
void split_blanks(Text&& temporary) = delete;
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string to_lower(std::string_view s);  // ASCII only
bool iequals(std::string_view a, std::string_view b);
bool istarts_with(std::string_view s, std::string_view prefix);

// The whole of `s` as a decimal number: digits only (a leading '-' for the signed form), no blanks,
// no overflow; else nothing.
std::optional<std::int64_t> parse_int(std::string_view s);
std::optional<std::uint64_t> parse_uint(std::string_view s);

// The candidate nearest to `word` (case ignored), if it is near enough to be worth suggesting.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

// `s` as one POSIX shell word, quoted only where needed.
std::string shell_quote(std::string_view s);
// Control characters and invalid UTF-8 as \xNN, so that text from users cannot garble a terminal.
std::string printable(std::string_view s);

}  // namespace phalanx
