#include "dialect/slurm/arguments.h"

#include "base/text.h"

namespace phalanx::slurm {
namespace {

class Reader {
 public:
  Reader(std::string_view tool, std::span<const Flag> flags, std::span<const std::string> args)
      : tool_(tool), flags_(flags), args_(args) {}

  Arguments read() {
    for (; next_ < args_.size() && out_.error.code == 0; ++next_) {
      const std::string& word = args_[next_];
      if (word == "--") {
        out_.words.insert(out_.words.end(), args_.begin() + static_cast<std::ptrdiff_t>(next_) + 1,
                          args_.end());
        break;
      }
      if (word.starts_with("--"))
        read_long(std::string_view(word).substr(2));
      else if (word.size() > 1 && word[0] == '-')
        read_letters(std::string_view(word).substr(1));
      else
        out_.words.push_back(word);
    }
    return std::move(out_);
  }

 private:
  void fail(std::string message) {
    out_.error.err =
        format("{}: {}\nTry \"{} --help\" for more information\n", tool_, message, tool_);
    out_.error.code = 1;
  }

  void read_long(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const Flag* found = nullptr;
    std::string candidates;
    for (const Flag& flag : flags_) {
      if (!flag.name.starts_with(name)) continue;
      if (flag.name == name) {
        found = &flag;
        candidates.clear();
        break;
      }
      if (found) candidates += format(" '--{}'", flag.name);
      if (!found) candidates = format(" '--{}'", flag.name);
      found = &flag;
    }
    if (!found) return fail(format("unrecognized option '--{}'", printable(name)));
    if (candidates.find("' '") != std::string::npos)
      return fail(
          format("option '--{}' is ambiguous; possibilities:{}", printable(name), candidates));
    if (equals != std::string_view::npos) {
      if (found->value == Flag::Value::none)
        return fail(format("option '--{}' doesn't allow an argument", found->name));
      return take(*found, std::string(text.substr(equals + 1)));
    }
    take_next(*found, format("option '--{}' requires an argument", found->name));
  }

  void read_letters(std::string_view letters) {
    while (!letters.empty() && out_.error.code == 0) {
      const char letter = letters[0];
      letters.remove_prefix(1);
      const Flag* found = nullptr;
      for (const Flag& flag : flags_)
        if (flag.letter == letter) found = &flag;
      if (!found) return fail(format("invalid option -- '{}'", printable({&letter, 1})));
      if (found->value != Flag::Value::none && !letters.empty())
        return take(*found, std::string(letters));
      take_next(*found, format("option requires an argument -- '{}'", letter));
    }
  }

  void take_next(const Flag& flag, const std::string& missing) {
    if (flag.value != Flag::Value::required) return take(flag, "");
    if (next_ + 1 >= args_.size()) return fail(missing);
    take(flag, args_[++next_]);
  }

  void take(const Flag& flag, std::string value) {
    if (flag.handling == Flag::Handling::refused) {
      out_.error = failed(tool_, format("--{} is not available yet", flag.name));
      return;
    }
    out_.given[std::string(flag.name)].push_back(std::move(value));
  }

  std::string_view tool_;
  std::span<const Flag> flags_;
  std::span<const std::string> args_;
  std::size_t next_ = 0;
  Arguments out_;
};

}  // namespace

Arguments read_arguments(std::string_view tool, std::span<const Flag> flags,
                         std::span<const std::string> args, std::string_view cluster,
                         const std::string& clusters) {
  Arguments read = Reader(tool, flags, args).read();
  if (read.error.code != 0 || cluster.empty()) return read;
  const std::string meant = read.value("clusters", clusters);
  for (const std::string_view name : split(meant, ','))
    if (!name.empty() && !iequals(name, cluster) && !iequals(name, "all"))
      read.error =
          failed(tool, format("No cluster '{}' known by database: this controller has one, {}",
                              printable(name), cluster));
  return read;
}

std::size_t Arguments::count(std::string_view name) const {
  const auto it = given.find(name);
  return it == given.end() ? 0 : it->second.size();
}

std::string Arguments::value(std::string_view name, std::string_view otherwise) const {
  const auto it = given.find(name);
  return it == given.end() ? std::string(otherwise) : it->second.back();
}

std::vector<std::string> Arguments::list(std::string_view name) const {
  std::vector<std::string> out;
  const auto it = given.find(name);
  if (it == given.end()) return out;
  for (const std::string& value : it->second)
    for (std::string& piece : split_list(value)) out.push_back(std::move(piece));
  return out;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth <= 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  std::erase_if(out, [](const std::string& piece) { return trim(piece).empty(); });
  for (std::string& piece : out) piece = std::string(trim(piece));
  return out;
}

Said failed(std::string_view tool, std::string_view message) {
  return {"", format("{}: error: {}\n", tool, message), 1};
}

}  // namespace phalanx::slurm
