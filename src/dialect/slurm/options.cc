#include "dialect/slurm/options.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

bool belongs(const OptionSpec& spec, Tool tool) {
  return (spec.tools & static_cast<std::uint8_t>(tool)) != 0;
}
std::string_view target(const OptionSpec& spec) {
  return spec.canonical.empty() ? spec.name : spec.canonical;
}
std::string quoted(std::string_view text) { return printable(text.substr(0, 60)); }

struct Found {
  const OptionSpec* spec = nullptr;
  std::vector<std::string_view> possibilities;  // more than one: ambiguous
};

// By full name or by a prefix that only one option has.
Found find_long(Tool tool, std::string_view name) {
  Found found;
  for (const OptionSpec& spec : option_table()) {
    if (!belongs(spec, tool) || !spec.name.starts_with(name)) continue;
    if (spec.name == name) return {&spec, {spec.name}};
    if (found.spec == nullptr || target(*found.spec) != target(spec))
      found.possibilities.push_back(spec.name);
    if (found.spec == nullptr) found.spec = &spec;
  }
  return found;
}

const OptionSpec* find_short(Tool tool, char letter) {
  for (const OptionSpec& spec : option_table())
    if (belongs(spec, tool) && letter != 0 && spec.letter == letter) return &spec;
  return nullptr;
}

bool asks_for_gpus(const std::vector<GresRequest>& gres) {
  return std::any_of(gres.begin(), gres.end(),
                     [](const GresRequest& item) { return item.name == "gpu"; });
}

// Reads the words of one origin after another into one JobOptions.
class OptionReader {
 public:
  OptionReader(Tool tool, const ParseContext& context) : tool_(tool), context_(context) {}

  void read(std::vector<const Token*> tokens) {
    tokens_ = std::move(tokens);
    for (next_ = 0; next_ < tokens_.size();) {
      const Token& token = *tokens_[next_++];
      const std::string_view text = token.text;
      bool readable = true;
      if (text == "--") {
        take_arguments();
      } else if (text.starts_with("--")) {
        readable = read_long(token, text.substr(2));
      } else if (text.size() > 1 && text[0] == '-') {
        readable = read_letters(token, text.substr(1));
      } else {
        --next_;
        take_arguments();
      }
      if (!readable) return;  // what follows might be its value
    }
  }

  Parsed<JobOptions> finish() {
    settle_gpus();
    return std::move(out_);
  }

 private:
  static Position at(const Token& token) { return {token.source, token.line, token.column}; }

  bool fail(const Token& token, std::string message) {
    out_.error(at(token), std::move(message));
    return false;
  }

  bool read_long(const Token& token, std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const Found found = find_long(tool_, name);
    if (found.possibilities.size() > 1) {
      std::string list;
      for (const std::string_view option : found.possibilities) list += format(" '--{}'", option);
      return fail(token,
                  format("option '--{}' is ambiguous; possibilities:{}", quoted(text), list));
    }
    if (found.spec == nullptr) return unknown(token, name);
    const OptionSpec& spec = *found.spec;
    if (equals != std::string_view::npos) {
      if (spec.argument == Argument::None)
        return fail(token, format("option '--{}' doesn't allow an argument; write it without '='",
                                  spec.name));
      return apply(spec, token, text.substr(equals + 1));
    }
    if (spec.argument != Argument::Required) return apply(spec, token, {});
    return read_next_value(spec, token, format("option '--{}' requires an argument", spec.name));
  }

  bool unknown(const Token& token, std::string_view name) {
    std::vector<std::string_view> names;
    for (const OptionSpec& spec : option_table())
      if (belongs(spec, tool_)) names.push_back(spec.name);
    const auto near = nearest(name, names);
    return fail(token,
                format("unrecognized option '--{}'; {}", quoted(name),
                       near ? format("did you mean --{}?", *near)
                            : format("see \"{} --help\" for the options", tool_name(tool_))));
  }

  bool read_letters(const Token& token, std::string_view letters) {
    while (!letters.empty()) {
      const OptionSpec* spec = find_short(tool_, letters[0]);
      if (spec == nullptr)
        return fail(token, format("invalid option -- '{}'; see \"{} --help\" for the options",
                                  printable(letters.substr(0, 1)), tool_name(tool_)));
      letters.remove_prefix(1);
      if (spec->argument == Argument::None) {
        if (!apply(*spec, token, {})) return false;
        continue;
      }
      if (!letters.empty() || spec->argument == Argument::Optional)
        return apply(*spec, token, letters);
      return read_next_value(*spec, token,
                             format("option requires an argument -- '{}'", spec->letter));
    }
    return true;
  }

  bool read_next_value(const OptionSpec& spec, const Token& token, std::string_view missing) {
    if (next_ >= tokens_.size() || tokens_[next_]->line != token.line)
      return fail(token, format("{}; write --{}={}", missing, spec.name, spec.metavar));
    return apply(spec, token, tokens_[next_++]->text);
  }

  void take_arguments() {
    if (next_ >= tokens_.size()) return;
    const Token& first = *tokens_[next_];
    if (first.origin != Origin::CommandLine) {
      fail(first,
           format("Invalid directive found in batch script: {}; quote a value that holds blanks",
                  printable(first.text)));
    } else if (first.text == ":") {
      fail(first,
           "heterogeneous jobs (' : ') are not supported; submit the parts as jobs of their own");
    } else {
      for (std::size_t i = next_; i < tokens_.size(); ++i)
        out_.value.arguments.push_back(tokens_[i]->text);
    }
    next_ = tokens_.size();
  }

  // False only if the words that follow cannot be trusted; a bad value lets reading go on.
  bool apply(const OptionSpec& spec, const Token& token, std::string_view value) {
    const std::string name(target(spec));
    if (spec.handling == Handling::Refused) {
      fail(token, format("--{} is not supported: {}", spec.name, spec.reason));
      return true;
    }
    if (value.find('\0') != std::string_view::npos) {
      fail(token, format("the value of --{} holds a NUL byte; remove it", spec.name));
      return true;
    }
    Setting setting{out_.value, value, context_, std::string(spec.reason)};
    if (spec.set != nullptr) {
      if (const Status status = spec.set(setting); !status.ok()) {
        fail(token, status.error().message);
        return true;
      }
    }
    if (spec.set == nullptr || !setting.warning.empty()) out_.value.kept[name] = std::string(value);
    if (!setting.warning.empty())
      out_.warning(at(token), format("--{}{}{} is not honoured: {}", spec.name,
                                     value.empty() ? "" : "=", quoted(value), setting.warning));
    out_.value.origins[name] = token.origin;
    if (name.starts_with("mem")) settle_memory(name, token);
    return true;
  }

  // The three ways to ask for memory replace each other between origins and exclude each other
  // within one.
  void settle_memory(std::string_view chosen, const Token& token) {
    const std::pair<std::string_view, std::optional<std::int64_t> JobOptions::*> ways[] = {
        {"mem", &JobOptions::mem},
        {"mem-per-cpu", &JobOptions::mem_per_cpu},
        {"mem-per-gpu", &JobOptions::mem_per_gpu}};
    for (const auto& [name, member] : ways) {
      if (name == chosen || !(out_.value.*member)) continue;
      const auto origin = out_.value.origins.find(std::string(name));
      if (origin->second == token.origin) {
        const std::string message = format(
            "--mem, --mem-per-cpu and --mem-per-gpu are mutually exclusive: --{} and --{} are "
            "given",
            name, chosen);
        if (token.origin == Origin::Environment)
          out_.warning(at(token), message + "; the last is used");
        else
          out_.error(at(token), message + "; keep one");
      }
      (out_.value.*member).reset();
      out_.value.origins.erase(origin);
    }
  }

  void settle_gpus() {
    JobOptions& o = out_.value;
    if (!o.gpus_per_node || !asks_for_gpus(o.gres)) return;
    const Origin per_node = o.origins["gpus-per-node"], gres = o.origins["gres"];
    if (per_node == gres) {
      const std::string message = "--gpus-per-node and --gres=gpu ask for the same GPUs twice";
      if (per_node == Origin::Environment)
        out_.warning({}, message + "; --gpus-per-node is used");
      else
        out_.error({}, message + "; keep one");
    }
    if (per_node >= gres) {
      std::erase_if(o.gres, [](const GresRequest& item) { return item.name == "gpu"; });
      if (o.gres.empty()) o.origins.erase("gres");
    } else {
      o.gpus_per_node.reset();
      o.origins.erase("gpus-per-node");
    }
  }

  Tool tool_;
  const ParseContext& context_;
  std::vector<const Token*> tokens_;
  std::size_t next_ = 0;
  Parsed<JobOptions> out_;
};

// The variables of a row that this tool reads.
std::vector<std::string> variables_of(const OptionSpec& spec, Tool tool) {
  static constexpr std::string_view kSrun[] = {"SLURM_", "SRUN_", "SLURMD_"};
  static constexpr std::string_view kSbatch[] = {"SBATCH_"};
  static constexpr std::string_view kSalloc[] = {"SALLOC_"};
  const std::span<const std::string_view> prefixes =
      tool == Tool::Srun     ? std::span<const std::string_view>(kSrun)
      : tool == Tool::Sbatch ? std::span<const std::string_view>(kSbatch)
                             : kSalloc;
  std::vector<std::string> names;
  if (spec.environment.empty()) return names;
  for (const std::string_view name : split(spec.environment, ',')) {
    if (name[0] != '=') {
      names.push_back(format("{}{}", prefixes[0], name));
      continue;
    }
    const std::string_view whole = name.substr(1);
    if (std::any_of(prefixes.begin(), prefixes.end(),
                    [&](std::string_view p) { return whole.starts_with(p); }))
      names.emplace_back(whole);
  }
  return names;
}

// The option word for a variable's value; nothing if the value says no or says nothing.
std::optional<std::string> option_word(const OptionSpec& spec, std::string_view value) {
  if (spec.argument == Argument::Required)
    return value.empty() ? std::nullopt : std::optional(format("--{}={}", spec.name, value));
  const bool no = value == "0" || iequals(value, "no") || iequals(value, "false");
  if (no && !spec.metavar.starts_with("0|1")) return std::nullopt;
  const bool yes = value.empty() || value == "1" || iequals(value, "yes") || iequals(value, "true");
  if (yes || spec.argument == Argument::None) return format("--{}", spec.name);
  return format("--{}={}", spec.name, value);
}

std::string option_heading(const OptionSpec& spec) {
  const std::string letter = spec.letter != 0 ? format("-{}, ", spec.letter) : "    ";
  if (spec.argument == Argument::None) return format("  {}--{}", letter, spec.name);
  const bool optional = spec.argument == Argument::Optional;
  return format("  {}--{}{}={}{}", letter, spec.name, optional ? "[" : "", spec.metavar,
                optional ? "]" : "");
}

void list_names(std::string& out, Tool tool, Handling handling) {
  std::string line = " ";
  for (const OptionSpec& spec : option_table()) {
    if (!belongs(spec, tool) || spec.handling != handling) continue;
    if (line.size() + spec.name.size() > 96) {
      out += line + "\n";
      line = " ";
    }
    line += format(" --{}", spec.name);
  }
  out += line + "\n";
}

std::string synopsis(Tool tool) {
  switch (tool) {
    case Tool::Sbatch:
      return "sbatch [options] script [arguments]\n       sbatch [options] --wrap=command";
    case Tool::Srun:
      return "srun [options] program [arguments]";
    case Tool::Salloc:
      return "salloc [options] [program [arguments]]";
  }
  return {};
}

}  // namespace

std::string_view tool_name(Tool tool) {
  switch (tool) {
    case Tool::Sbatch:
      return "sbatch";
    case Tool::Srun:
      return "srun";
    case Tool::Salloc:
      return "salloc";
  }
  return "slurm";
}

std::vector<Token> command_line_tokens(std::span<const std::string> arguments) {
  std::vector<Token> tokens;
  for (const std::string& argument : arguments)
    tokens.push_back({argument, Origin::CommandLine, {}, 0, 0});
  return tokens;
}

std::vector<Token> environment_tokens(
    Tool tool, std::span<const std::pair<std::string, std::string>> variables) {
  std::map<std::string_view, std::string_view> values;
  for (const auto& [name, value] : variables) values.insert_or_assign(name, value);
  std::vector<Token> tokens;
  for (const OptionSpec& spec : option_table()) {
    if (!belongs(spec, tool)) continue;
    for (std::string& name : variables_of(spec, tool)) {
      const auto value = values.find(name);
      if (value == values.end()) continue;
      if (auto word = option_word(spec, value->second))
        tokens.push_back({std::move(*word), Origin::Environment, std::move(name), 0, 0});
    }
  }
  return tokens;
}

Parsed<JobOptions> parse_tokens(Tool tool, std::span<const Token> tokens,
                                const ParseContext& context) {
  OptionReader reader(tool, context);
  for (const Origin origin : {Origin::Script, Origin::Environment, Origin::CommandLine}) {
    std::vector<const Token*> mine;
    for (const Token& token : tokens)
      if (token.origin == origin) mine.push_back(&token);
    reader.read(std::move(mine));
  }
  return reader.finish();
}

std::string help_text(Tool tool) {
  constexpr std::size_t kColumn = 36;
  std::string out = format("Usage: {}\n\nOptions:\n", synopsis(tool));
  for (const OptionSpec& spec : option_table()) {
    if (!belongs(spec, tool) ||
        !(spec.handling == Handling::Acted || spec.handling == Handling::Kept))
      continue;
    const std::string heading = option_heading(spec);
    out += heading + (heading.size() + 1 < kColumn ? std::string(kColumn - heading.size(), ' ')
                                                   : "\n" + std::string(kColumn, ' '));
    out += spec.help;
    out += '\n';
  }
  out += "\nAccepted, with a warning that they change nothing here:\n";
  list_names(out, tool, Handling::Warned);
  out += "\nRefused, because Phalanx does not do what they ask:\n";
  list_names(out, tool, Handling::Refused);
  return out;
}

std::string usage_text(Tool tool) {
  return format("Usage: {}\nSee \"{} --help\" for the options.\n", synopsis(tool), tool_name(tool));
}

}  // namespace phalanx::slurm
