#include "dialect/kube/json.h"

namespace phalanx::kube {

const json::value* find(const json::object& v, std::string_view name) {
  const json::value* found = v.if_contains(name);
  return found && !found->is_null() ? found : nullptr;
}

const json::value* find(const json::value& v, Path path) {
  const json::value* at = &v;
  for (const std::string_view name : path) {
    const json::object* object = at->if_object();
    at = object ? find(*object, name) : nullptr;
    if (!at) return nullptr;
  }
  return at;
}

std::string text_at(const json::value& v, Path path) {
  const json::value* found = find(v, path);
  const json::string* text = found ? found->if_string() : nullptr;
  return text ? std::string(text->data(), text->size()) : std::string();
}

std::optional<std::int64_t> integer_at(const json::value& v, Path path) {
  const json::value* found = find(v, path);
  const std::int64_t* number = found ? found->if_int64() : nullptr;
  return number ? std::optional(*number) : std::nullopt;
}

std::string below(std::string_view path, std::string_view name) {
  std::string out(path);
  if (!out.empty()) out += '.';
  return out += name;
}

bool is_blank(const json::value& v) {
  switch (v.kind()) {
    case json::kind::null:
      return true;
    case json::kind::bool_:
      return !v.get_bool();
    case json::kind::int64:
      return v.get_int64() == 0;
    case json::kind::uint64:
      return v.get_uint64() == 0;
    case json::kind::double_:
      return false;
    case json::kind::string:
      return v.get_string().empty();
    case json::kind::array:
      return v.get_array().empty();
    case json::kind::object:
      return v.get_object().empty();
  }
  return false;
}

}  // namespace phalanx::kube
