// Columns as Slurm's query tools print them: "%.18i %.9P|" (a letter each) and "JobID:.10,Name:12"
// (names). A column has a width counted in characters of the terminal, a side, and literal text
// after it. Internal to dialect/slurm; pure text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace phalanx::slurm {

struct Column {
  std::string field;      // a letter, or a name in lower case without '_' and '-'
  std::string written;    // as the user wrote it, for messages
  std::size_t width = 0;  // 0: as wide as the text
  bool right = false;     // aligned
  bool duration = false;  // a duration is never cut, words are: "1-02:04:00", "UNLIMI"
  std::string suffix;     // literal text after it
};

struct Layout {
  std::string prefix;  // literal text before the first column
  std::vector<Column> columns;
  std::vector<std::string> bad;  // pieces that are no columns at all
};

// "%[.][width]letter" with literal text between. What cannot be read becomes literal text, and its
// character is listed in `bad`.
Layout parse_letters(std::string_view format);
// What "%all" stands for: the letters of all fields, parted by '|'.
template <typename Field>
std::string every_letter(std::span<const Field> fields) {
  std::string format;
  for (const Field& field : fields) {
    if (field.letter == 0) continue;
    format += format.empty() ? "%" : "|%";
    format += field.letter;
  }
  return format;
}
// "name[:[.][width][suffix]],…": 20 wide where no width is written; an empty one after the colon is
// as wide as the text.
Layout parse_names(std::string_view format);
// A name as fields are compared: lower case without '_' and '-'.
std::string plain_name(std::string_view name);

// Cut or filled with blanks to the column's width, and its suffix.
std::string cell(const Column& column, std::string_view text);
// How many columns of a terminal the text takes: UTF-8 sequences count as one.
std::size_t display_width(std::string_view text);
// The first `width` characters.
std::string_view cut(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

}  // namespace phalanx::slurm
