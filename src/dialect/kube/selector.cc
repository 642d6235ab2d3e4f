#include "dialect/kube/selector.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace phalanx::kube {
namespace {

using Operator = Requirement::Operator;

Error bad(std::string_view text) {
  return invalid(
      format("unable to parse requirement \"{}\": write key=value, key!=value, key in "
             "(a,b), key notin (a,b), key or !key",
             printable(text)));
}

// At commas outside parentheses.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') inside = true;
    if (i < text.size() && text[i] == ')') inside = false;
    if (i < text.size() && (text[i] != ',' || inside)) continue;
    out.push_back(trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return out;
}

Result<Requirement> parse_set(std::string_view part, std::size_t open) {
  const auto words = split_blanks(part.substr(0, open));
  if (words.size() != 2 || !part.ends_with(')') || (words[1] != "in" && words[1] != "notin"))
    return bad(part);
  Requirement out{std::string(words[0]), words[1] == "in" ? Operator::In : Operator::NotIn, {}};
  for (const std::string_view value : split(part.substr(open + 1, part.size() - open - 2), ','))
    out.values.emplace_back(trim(value));
  return out;
}

Result<Requirement> parse_one(std::string_view part) {
  if (const std::size_t open = part.find('('); open != std::string_view::npos)
    return parse_set(part, open);
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) {
    const bool absent = part.starts_with('!');
    const std::string_view key = trim(absent ? part.substr(1) : part);
    if (key.empty() || split_blanks(key).size() != 1) return bad(part);
    return Requirement{std::string(key), absent ? Operator::Absent : Operator::Exists, {}};
  }
  std::string_view key = part.substr(0, equals);
  std::string_view value = part.substr(equals + 1);
  const bool negative = key.ends_with('!');
  if (negative) key.remove_suffix(1);
  if (!negative && value.starts_with('=')) value.remove_prefix(1);
  if (trim(key).empty()) return bad(part);
  return Requirement{std::string(trim(key)),
                     negative ? Operator::NotIn : Operator::In,
                     {std::string(trim(value))}};
}

bool holds(const Requirement& r, const std::optional<std::string>& value) {
  const bool listed =
      value && std::find(r.values.begin(), r.values.end(), *value) != r.values.end();
  switch (r.op) {
    case Operator::In:
      return listed;
    case Operator::NotIn:
      return !listed;
    case Operator::Exists:
      return value.has_value();
    case Operator::Absent:
      return !value;
  }
  return false;
}

std::optional<std::string> text_of(const json::value* v) {
  if (!v) return std::nullopt;
  if (const json::string* text = v->if_string()) return std::string(text->data(), text->size());
  return json::serialize(*v);
}

std::optional<std::string> field(const json::value& object, std::string_view path) {
  const json::value* at = &object;
  for (const std::string_view name : split(path, '.'))
    if (at) at = find(*at, {name});
  return text_of(at);
}

}  // namespace

Result<std::vector<Requirement>> parse_requirements(std::string_view text) {
  std::vector<Requirement> out;
  if (trim(text).empty()) return out;
  for (const std::string_view part : parts_of(text)) out.push_back(TRY(parse_one(part)));
  return out;
}

bool matches(const Selector& selector, const json::value& object) {
  const auto label = [&](const Requirement& r) {
    return holds(r, text_of(find(object, {"metadata", "labels", r.key})));
  };
  // A field that is absent is the empty text.
  const auto in_field = [&](const Requirement& r) {
    return holds(r, field(object, r.key).value_or(""));
  };
  return std::all_of(selector.labels.begin(), selector.labels.end(), label) &&
         std::all_of(selector.fields.begin(), selector.fields.end(), in_field);
}

}  // namespace phalanx::kube
