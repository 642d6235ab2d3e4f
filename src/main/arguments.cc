#include "main/arguments.h"

#include <cstdio>

#include "base/text.h"

namespace phalanx {
namespace {

bool is_flag(const Option& option) { return std::holds_alternative<bool*>(option.target); }

// Empty: stored; else what is wrong with it.
std::string store(const Option& option, std::string_view value) {
  if (auto* const* text = std::get_if<std::string*>(&option.target)) {
    **text = value;
    return "";
  }
  if (auto* const* list = std::get_if<std::vector<std::string>*>(&option.target)) {
    (*list)->emplace_back(value);
    return "";
  }
  const auto number = parse_int(value);
  if (!number || *number < 0)
    return format("{} needs a whole number, not \"{}\"", option.name, value);
  if (auto* const* target = std::get_if<std::int64_t*>(&option.target)) **target = *number;
  if (auto* const* target = std::get_if<std::optional<std::int64_t>*>(&option.target)) {
    **target = number;
  }
  return "";
}

void print_help(std::string_view verb, std::string_view what, std::span<const Option> options) {
  std::string text = format("usage: phalanx {} [options]\n{}\n\n", verb, what);
  for (const Option& option : options) {
    const std::string left = format("{} {}", option.name, option.value);
    text += format("  {:<26} {}\n", left, option.help);
  }
  std::fputs(text.c_str(), stdout);
}

int mistake(std::string_view verb, const std::string& what) {
  std::fprintf(stderr, "phalanx %.*s: %s\n", static_cast<int>(verb.size()), verb.data(),
               what.c_str());
  return 2;
}

std::string unknown(std::string_view name, std::span<const Option> options) {
  std::vector<std::string_view> names;
  for (const Option& option : options) names.push_back(option.name);
  const auto near = nearest(name, names);
  return near ? format("there is no option {}; did you mean {}?", name, *near)
              : format("there is no option {}; --help lists them", name);
}

}  // namespace

std::optional<int> parse_arguments(std::string_view verb, std::string_view what,
                                   std::span<const Option> options, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      print_help(verb, what, options);
      return 0;
    }
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const Option* found = nullptr;
    for (const Option& option : options)
      if (option.name == name) found = &option;
    if (!found) return mistake(verb, unknown(name, options));
    if (is_flag(*found)) {
      if (equals != word.npos) return mistake(verb, format("{} takes no value", name));
      *std::get<bool*>(found->target) = true;
      continue;
    }
    if (equals == word.npos && i + 1 == argc)
      return mistake(verb, format("{} needs a value", name));
    const std::string_view value = equals == word.npos ? argv[++i] : word.substr(equals + 1);
    if (const std::string wrong = store(*found, value); !wrong.empty()) return mistake(verb, wrong);
  }
  return std::nullopt;
}

}  // namespace phalanx
