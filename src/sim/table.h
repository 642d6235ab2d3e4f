// The shape of a scenario file: comments, tables and the line ---- that ends them. A table is a
// header line (its name, then its columns) and the rows below it up to an empty line. Cells are
// words; everything after # is a comment. Total: any text gives tables and diagnostics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace phalanx::sim {

struct Cell {
  std::string text;
  Position at;
};

struct Table {
  Cell name;
  std::vector<Cell> columns;
  std::vector<std::vector<Cell>> rows;  // the first cell is the row's name; "-" stands for nothing
};

struct Tables {
  std::string title;  // the first comment
  std::vector<Table> tables;
};

// What is above the line ---- of `text`, the line left out; and what is below it.
struct Halves {
  std::string_view above, below;
};
Halves split_scenario(std::string_view text);

Parsed<Tables> parse_tables(std::string_view above, const std::string& file);

}  // namespace phalanx::sim
