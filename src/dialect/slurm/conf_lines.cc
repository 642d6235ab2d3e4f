#include "dialect/slurm/conf_lines.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

constexpr std::size_t kMaxFiles = 256;  // includes, all together
constexpr std::size_t kMaxDepth = 16;   // includes within includes
constexpr std::size_t kMaxRecords = 1'000'000;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool is_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

// One logical line: physical lines without comments, joined; knows where each byte came from.
struct LogicalLine {
  struct Piece {
    std::size_t begin;  // offset in text
    int line;
  };
  std::string text;
  std::vector<Piece> pieces;

  [[nodiscard]] Position position(const std::string& file, std::size_t offset) const {
    const auto next = std::ranges::upper_bound(pieces, offset, {}, &Piece::begin);
    const Piece& piece = *(next - 1);  // the first piece begins at 0
    return {file, piece.line, static_cast<int>(offset - piece.begin) + 1};
  }
};

// The physical line up to its comment. Quotes protect '#', and so does '\', which is then dropped
// by the value.
std::string_view without_comment(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == '#' && !quoted) {
      return line.substr(0, i);
    }
  }
  return line;
}

std::string_view without_trailing_blanks(std::string_view s) {
  while (!s.empty() && is_blank(s.back())) s.remove_suffix(1);
  return s;
}

// Whether the line goes on: an odd number of backslashes at its end.
bool continues(std::string_view line) {
  std::size_t n = 0;
  while (n < line.size() && line[line.size() - 1 - n] == '\\') ++n;
  return n % 2 == 1;
}

std::vector<LogicalLine> logical_lines(std::string_view text) {
  std::vector<LogicalLine> lines;
  LogicalLine now;
  int number = 0;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // written by an editor of Windows
  for (std::string_view raw : split(text, '\n')) {
    ++number;
    now.pieces.push_back({now.text.size(), number});
    std::string_view line = without_trailing_blanks(without_comment(raw));
    const bool more = continues(line);
    if (more) line.remove_suffix(1);
    now.text += line;
    if (more) {
      now.text += ' ';
      continue;
    }
    lines.push_back(std::move(now));
    now = {};
  }
  if (!now.pieces.empty()) lines.push_back(std::move(now));  // the file ends in '\'
  return lines;
}

std::string unescaped(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\' && i + 1 < s.size() &&
        (s[i + 1] == '#' || s[i + 1] == '\\' || s[i + 1] == '"'))
      ++i;
    out += s[i];
  }
  return out;
}

class Reader {
 public:
  Reader(const std::string& root, const ReadFile& read) : root_(root), read_(read) {}

  void file(const ConfSource& source, std::size_t depth) {
    for (const LogicalLine& line : logical_lines(source.text)) {
      if (trim(line.text).empty()) continue;
      if (!include(source, line, depth)) record(source.path, line);
      if (out_.value.size() >= kMaxRecords) {
        out_.error(line.position(source.path, 0), "too many lines; the rest is not read");
        return;
      }
    }
  }

  Parsed<std::vector<ConfRecord>> take() { return std::move(out_); }

 private:
  // True if the line was an include, good or bad.
  bool include(const ConfSource& source, const LogicalLine& line, std::size_t depth) {
    const std::vector<std::string_view> words = split_blanks(trim(line.text));
    if (words.empty() || !iequals(words[0], "include")) return false;
    if (words.size() > 1 && words[1].starts_with('=')) return false;
    const Position at = line.position(source.path, line.text.find_first_not_of(" \t"));
    if (words.size() != 2) {
      out_.error(at, "include takes one file name");
      return true;
    }
    const std::string path = resolved(words[1]);
    if (depth >= kMaxDepth || ++files_ > kMaxFiles) {
      out_.error(at, format("include {}: too many includes; does a file include itself?", path));
      return true;
    }
    if (!read_) {
      out_.error(at, format("include {}: includes are not allowed here", path));
      return true;
    }
    const Result<std::string> text = read_(path);
    if (!text) {
      out_.error(at, format("cannot read the included file {}: {}", path, text.error().message));
      return true;
    }
    file({path, text.value()}, depth + 1);
    return true;
  }

  std::string resolved(std::string_view name) const {
    std::string path;
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (name.substr(i, 2) == "%c") {
        path += cluster_;
        ++i;
      } else {
        path += name[i];
      }
    }
    const std::size_t slash = root_.rfind('/');
    if (path.starts_with('/') || slash == std::string::npos) return path;
    return root_.substr(0, slash + 1) + path;
  }

  void record(const std::string& file, const LogicalLine& line) {
    ConfRecord record;
    std::size_t i = 0;
    const std::string& s = line.text;
    if (const std::size_t mark = std::min(s.find("{{"), s.find("{%")); mark != std::string::npos) {
      out_.error(line.position(file, mark),
                 "this is a template that was not rendered; give the rendered file");
      return;
    }
    while (true) {
      while (i < s.size() && is_blank(s[i])) ++i;
      if (i == s.size()) break;
      if (!pair(file, line, i, record)) break;
    }
    if (!record.pairs.empty()) out_.value.push_back(std::move(record));
  }

  // Reads one Key=Value from offset i on; false if the rest of the line makes no sense.
  bool pair(const std::string& file, const LogicalLine& line, std::size_t& i, ConfRecord& record) {
    const std::string& s = line.text;
    const Position at = line.position(file, i);
    const std::size_t key_begin = i;
    while (i < s.size() && is_key_char(s[i])) ++i;
    std::string key = s.substr(key_begin, i - key_begin);
    while (i < s.size() && is_blank(s[i])) ++i;
    if (key.empty() || i == s.size() || s[i] != '=') {
      out_.error(at, not_a_pair(s, key_begin));
      return false;
    }
    ++i;
    while (i < s.size() && is_blank(s[i])) ++i;
    std::optional<std::string> value = this->value(s, i);
    if (!value) {
      out_.error(at, format("the value of {} has no closing quote", key));
      return false;
    }
    if (iequals(key, "ClusterName")) cluster_ = to_lower(*value);
    record.pairs.push_back({std::move(key), std::move(*value), at});
    return true;
  }

  // A quoted text or a word; nothing if a quote is not closed.
  static std::optional<std::string> value(const std::string& s, std::size_t& i) {
    const bool quoted = i < s.size() && s[i] == '"';
    const std::size_t begin = quoted ? ++i : i;
    while (i < s.size() && (quoted ? s[i] != '"' : !is_blank(s[i]))) i += s[i] == '\\' ? 2 : 1;
    i = std::min(i, s.size());
    if (quoted && i == s.size()) return std::nullopt;
    std::string text = unescaped(std::string_view(s).substr(begin, i - begin));
    if (quoted) ++i;
    return text;
  }

  static std::string not_a_pair(const std::string& s, std::size_t begin) {
    const std::string_view rest = std::string_view(s).substr(begin);
    const std::size_t length = std::min<std::size_t>(rest.find_first_of(" \t"), 40);
    return format("expected Key=Value, found '{}'", rest.substr(0, length));
  }

  const std::string& root_;
  const ReadFile& read_;
  std::string cluster_;
  std::size_t files_ = 0;
  Parsed<std::vector<ConfRecord>> out_;
};

}  // namespace

Parsed<std::vector<ConfRecord>> read_records(const ConfSource& source, const ReadFile& read) {
  Reader reader(source.path, read);
  reader.file(source, 0);
  return reader.take();
}

std::vector<ConfOption> split_options(std::string_view value) {
  std::vector<ConfOption> options;
  for (std::string_view part : split(value, ',')) {
    part = trim(part);
    if (part.empty()) continue;
    const std::size_t eq = part.find('=');
    if (eq == std::string_view::npos)
      options.push_back({std::string(part), ""});
    else
      options.push_back({std::string(part.substr(0, eq)), std::string(part.substr(eq + 1))});
  }
  return options;
}

}  // namespace phalanx::slurm
