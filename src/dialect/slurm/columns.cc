#include "dialect/slurm/columns.h"

#include <algorithm>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

constexpr std::size_t kMaxWidth = 4096;
constexpr std::size_t kNameWidth = 20;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t take_width(std::string_view& rest) {
  std::size_t width = 0;
  while (!rest.empty() && digit(rest[0])) {
    width = std::min(width * 10 + static_cast<std::size_t>(rest[0] - '0'), kMaxWidth);
    rest.remove_prefix(1);
  }
  return width;
}

}  // namespace

Layout parse_letters(std::string_view format) {
  Layout layout;
  const auto literal = [&]() -> std::string& {
    return layout.columns.empty() ? layout.prefix : layout.columns.back().suffix;
  };
  while (!format.empty()) {
    const std::size_t percent = std::min(format.find('%'), format.size());
    literal() += format.substr(0, percent);
    format.remove_prefix(percent);
    if (format.empty()) break;
    std::string_view rest = format.substr(1);
    Column column;
    if (!rest.empty() && rest[0] == '.') {
      column.right = true;
      rest.remove_prefix(1);
    }
    column.width = take_width(rest);
    if (!rest.empty() && letter(rest[0])) {
      column.field = column.written = std::string(1, rest[0]);
      layout.columns.push_back(std::move(column));
      format = rest.substr(1);
      continue;
    }
    const std::string_view wrong = rest.substr(0, 1);  // where reading stopped
    if (!wrong.empty()) layout.bad.emplace_back(wrong);
    literal() += '%';
    format.remove_prefix(1);
  }
  return layout;
}

Layout parse_names(std::string_view format) {
  Layout layout;
  while (!format.empty()) {
    // A name ends at a colon or comma; what follows a width up to the next comma is the suffix.
    const std::size_t end = std::min(format.find(','), format.size());
    const std::string_view piece = format.substr(0, end);
    format.remove_prefix(std::min(end + 1, format.size()));
    const std::size_t colon = piece.find(':');
    Column column;
    column.written = std::string(piece.substr(0, colon));
    column.field = plain_name(column.written);
    column.width = kNameWidth;
    if (colon != std::string_view::npos) {
      std::string_view rest = piece.substr(colon + 1);
      if (!rest.empty() && rest[0] == '.') {
        column.right = true;
        rest.remove_prefix(1);
      }
      column.width = take_width(rest);
      column.suffix = std::string(rest);
    }
    if (!column.field.empty()) layout.columns.push_back(std::move(column));
  }
  return layout;
}

std::string plain_name(std::string_view name) {
  std::string plain = to_lower(trim(name));
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  return plain;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string_view cut(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  while (end < text.size()) {
    if (!continues(text[end]) && width-- == 0) break;
    ++end;
  }
  return text.substr(0, end);
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t have = display_width(text);
  return std::string(width > have ? width - have : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t have = display_width(text);
  return std::string(text) + std::string(width > have ? width - have : 0, ' ');
}

std::string cell(const Column& column, std::string_view text) {
  if (column.width == 0) return std::string(text) + column.suffix;
  const bool whole = column.duration && !text.empty() && digit(text[0]);
  const std::string_view fits = whole ? text : cut(text, column.width);
  return (column.right ? pad_left(fits, column.width) : pad_right(fits, column.width)) +
         column.suffix;
}

}  // namespace phalanx::slurm
