#include "dialect/slurm/script.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

constexpr std::string_view kMagic = "#SBATCH";
constexpr std::string_view kOldMagic = "#SLURM";

constexpr bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// Why the text is no batch script; empty: it is one. The order is Slurm's.
std::string refusal(std::string_view text) {
  if (text.empty()) return "Batch script is empty! Name a file with a script in it";
  if (std::all_of(text.begin(), text.end(), [](char c) { return blank(c) || c == '\n'; }))
    return "Batch script contains only whitespace! Name a file with a script in it";
  if (!text.starts_with("#!")) {
    const bool marked = text.starts_with("\xef\xbb\xbf");
    return std::string(
               "This does not look like a batch script. Its first line must start with #! and an "
               "interpreter, "
               "as in #!/bin/bash") +
           (marked ? "; remove the byte order mark in front of it" : "");
  }
  if (text.find('\0') != std::string_view::npos)
    return "Batch script holds a NUL byte, so it is not text; name the script, not a program";
  if (text.find("\r\n") != std::string_view::npos)
    return "Batch script contains DOS line breaks (\\r\\n); convert it with: sed -i 's/\\r$//' "
           "FILE";
  return {};
}

class ScriptReader {
 public:
  ScriptReader(std::string_view text, std::string_view name) : rest_(text), name_(name) {
    out_.value.components.emplace_back();
  }

  Parsed<Script> read() {
    while (!rest_.empty()) {
      const std::string_view line = next_line();
      const auto start = std::find_if_not(line.begin(), line.end(), blank);
      if (start == line.end()) continue;
      if (*start != '#') {
        out_.value.first_command_line = line_;
        count_late_directives();
        break;
      }
      if (line.starts_with(kMagic)) {
        read_directive(line, kMagic.size());
      } else if (line.starts_with(kOldMagic)) {
        out_.warning(here(1), "#SLURM is an old spelling; write #SBATCH");
        read_directive(line, kOldMagic.size());
      } else {
        look_at_comment(line);
      }
    }
    if (foreign_ > 0)
      out_.warning(here_at(first_foreign_),
                   format("{} directive{} of another scheduler {} not used; write #SBATCH lines",
                          foreign_, foreign_ == 1 ? "" : "s", foreign_ == 1 ? "is" : "are"));
    return std::move(out_);
  }

 private:
  std::string_view next_line() {
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    return line;
  }
  Position here_at(int line, std::size_t column = 1) const {
    return {std::string(name_), line, static_cast<int>(column)};
  }
  Position here(std::size_t column) const { return here_at(line_, column); }

  void count_late_directives() {
    int late = 0;
    const std::string_view wanted = "\n#SBATCH";
    for (std::size_t at = rest_.starts_with(kMagic) ? (++late, std::size_t{0}) : std::size_t{0};
         (at = rest_.find(wanted, at)) != std::string_view::npos; at += wanted.size())
      ++late;
    if (late > 0)
      out_.warning(
          here(1),
          format(
              "{} #SBATCH line{} after the first command (line {}) {} not used; move {} above it",
              late, late == 1 ? "" : "s", line_, late == 1 ? "is" : "are",
              late == 1 ? "it" : "them"));
  }

  // A comment that looks like a directive: indented, "# SBATCH", misspelt, or another scheduler's.
  void look_at_comment(std::string_view line) {
    const std::size_t start = line.find('#');
    std::string_view word = line.substr(start + 1);
    while (!word.empty() && blank(word[0])) word.remove_prefix(1);
    if (word.starts_with('#')) return;  // "##SBATCH": switched off on purpose
    const std::size_t length = std::min(word.find_first_of(" \t-"), word.size());
    const std::string_view after = trim(word.substr(length));
    word = word.substr(0, length);
    if (!after.starts_with('-')) return;
    if (word == "PBS" || word == "BSUB" || word == "$" || word == "COBALT" || word == "OAR") {
      if (foreign_++ == 0) first_foreign_ = line_;
      return;
    }
    if (word.size() < 4 || word.size() > 9) return;
    constexpr std::array<std::string_view, 1> kWords{"SBATCH"};
    if (!nearest(word, kWords)) return;
    std::string fault = "is misspelt";
    if (word == "SBATCH") fault = start > 0 ? "is indented" : "has a blank after the #";
    out_.warning(
        here(start + 1),
        format("this directive {}, so it is a comment; write #SBATCH at the start of the line",
               fault));
  }

  // The words of one directive: blanks separate, quotes group, a backslash keeps the next
  // character, an unquoted '#' ends the line.
  void read_directive(std::string_view line, std::size_t at) {
    while (at < line.size()) {
      if (blank(line[at])) {
        ++at;
        continue;
      }
      if (line[at] == '#') return;
      const std::size_t start = at;
      std::string word;
      if (!read_word(line, at, word)) return;
      if (word.empty() && at - start < 2) continue;  // a lone backslash at the end
      if (iequals(word, "hetjob") || iequals(word, "packjob")) {
        out_.value.components.emplace_back();
        return;
      }
      if (word.starts_with(':')) {
        out_.error(here(start + 1),
                   "a directive's word starts with ':'; write #SBATCH hetjob between components");
        return;
      }
      if (word.find('$') != std::string::npos)
        out_.warning(here(start + 1),
                     format("'$' is not expanded in a directive: \"{}\" is used as it stands",
                            printable(word.substr(0, 60))));
      out_.value.components.back().push_back({std::move(word), Origin::Script, std::string(name_),
                                              line_, static_cast<int>(start + 1)});
    }
  }

  // One word from `at`; false if the line is to be given up.
  bool read_word(std::string_view line, std::size_t& at, std::string& word) {
    const std::size_t start = at;
    char quote = 0;
    std::size_t opened = 0;
    for (; at < line.size(); ++at) {
      const char c = line[at];
      if (c == '\\') {
        if (++at < line.size()) word += line[at];
      } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
        opened = at;
        quote = quote != 0 ? '\0' : c;
      } else if (quote == 0 && blank(c)) {
        break;
      } else if (quote == 0 && c == '#') {
        out_.warning(
            here(at + 1),
            format("'#' inside a word begins a comment: \"{}\" is read; quote the word if the # "
                   "belongs to it",
                   printable(line.substr(start, at - start).substr(0, 60))));
        break;
      } else {
        word += c;
      }
    }
    if (at > line.size()) at = line.size();
    if (quote == 0) return true;
    out_.error(here(opened + 1), format("Unmatched {} in a directive; close the quote", quote));
    return false;
  }

  std::string_view rest_, name_;
  int line_ = 0;
  int foreign_ = 0, first_foreign_ = 0;
  Parsed<Script> out_;
};

}  // namespace

Parsed<Script> read_script(std::string_view text, std::string_view name) {
  if (std::string why = refusal(text); !why.empty()) {
    Parsed<Script> out;
    out.value.components.emplace_back();
    out.error({std::string(name), 0, 0}, std::move(why));
    return out;
  }
  return ScriptReader(text, name).read();
}

}  // namespace phalanx::slurm
