#include "sim/table.h"

#include <algorithm>

#include "base/text.h"

namespace phalanx::sim {
namespace {

constexpr std::size_t kMostLines = 20'000;

std::vector<Cell> words(std::string_view line, const std::string& file, int number) {
  std::vector<Cell> cells;
  const std::string_view code = line.substr(0, line.find('#'));
  for (const std::string_view word : split_blanks(code)) {
    const auto column = static_cast<int>(word.data() - line.data()) + 1;
    cells.push_back({std::string(word), {file, number, column}});
  }
  return cells;
}

}  // namespace

Halves split_scenario(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (trim(text.substr(at, end - at)) == "----")
      return {text.substr(0, at), text.substr(std::min(end + 1, text.size()))};
    at = end + 1;
  }
  return {text, {}};
}

Parsed<Tables> parse_tables(std::string_view above, const std::string& file) {
  Parsed<Tables> parsed;
  bool in_table = false;
  int number = 0;
  for (const std::string_view line : split(above, '\n')) {
    if (++number > static_cast<int>(kMostLines)) {
      parsed.error({file, number, 0}, "a scenario has at most 20,000 lines");
      break;
    }
    const std::string_view trimmed = trim(line);
    if (trimmed.starts_with('#')) {  // a comment line does not end a table
      if (parsed.value.title.empty()) parsed.value.title = trim(trimmed.substr(1));
      continue;
    }
    std::vector<Cell> cells = words(line, file, number);
    if (cells.empty()) {
      in_table = false;
    } else if (!in_table) {
      in_table = true;
      Table table;
      table.name = cells.front();
      table.columns.assign(cells.begin() + 1, cells.end());
      parsed.value.tables.push_back(std::move(table));
    } else {
      parsed.value.tables.back().rows.push_back(std::move(cells));
    }
  }
  return parsed;
}

}  // namespace phalanx::sim
