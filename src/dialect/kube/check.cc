#include "dialect/kube/check.h"

#include <algorithm>

#include "base/text.h"

namespace phalanx::kube {
namespace {

constexpr std::size_t kMostName = 63;  // a label, as names of Jobs become labels of their Pods

class Checker {
 public:
  explicit Checker(Checked& out) : out_(out) {}

  json::object object(const json::value& v, const Message& message, const std::string& path) {
    json::object kept;
    const json::object* members = v.if_object();
    if (!members) {
      mistyped(path, "an object");
      return kept;
    }
    for (const auto& [key, value] : *members) {
      const std::string_view name(key.data(), key.size());
      if (path.empty() && (name == "apiVersion" || name == "kind")) continue;
      const std::string at = below(path, printable(name));
      const Field* field = find_field(message, name);
      if (!field)
        out_.unknown.push_back(at);
      else if (!value.is_null() && field->use != Use::ours && allowed(*field, value, at))
        kept[key] = member(*field, value, at);
    }
    return kept;
  }

 private:
  void mistyped(const std::string& path, std::string_view what) {
    out_.mistyped.push_back(format("{}: must be {}", path.empty() ? "the object" : path, what));
  }

  bool allowed(const Field& field, const json::value& v, const std::string& at) {
    if (is_blank(v)) return true;
    if (field.use == Use::refused)
      out_.refused.push_back(unsupported(at, "is not supported here: leave it out"));
    if (field.use == Use::idle) out_.warnings.push_back(at + " has no effect here");
    return field.use != Use::refused;
  }

  json::value member(const Field& field, const json::value& v, const std::string& at) {
    if (field.shape == Shape::one) return item(field, v, at);
    if (field.shape == Shape::list) {
      json::array kept;
      const json::array* items = v.if_array();
      if (!items) mistyped(at, "a list");
      for (std::size_t i = 0; items && i < items->size(); ++i)
        kept.push_back(item(field, (*items)[i], format("{}[{}]", at, i)));
      return kept;
    }
    json::object kept;
    const json::object* items = v.if_object();
    if (!items) mistyped(at, "an object");
    if (items)
      for (const auto& [key, value] : *items)
        kept[key] = item(field, value, below(at, printable({key.data(), key.size()})));
    return kept;
  }

  json::value item(const Field& field, const json::value& v, const std::string& at) {
    switch (field.kind) {
      case Kind::message:
        return object(v, *field.message, at);
      case Kind::integer:
        if (!v.is_int64()) mistyped(at, "a whole number");
        return v;
      case Kind::boolean:
        if (!v.is_bool()) mistyped(at, "true or false");
        return v;
      case Kind::quantity:
        if (v.is_number()) return json::value(json::serialize(v));
        [[fallthrough]];
      case Kind::text:
      case Kind::bytes:
        if (!v.is_string()) mistyped(at, "text: put it in quotes");
        return v;
      case Kind::opaque:
        return v;
    }
    return v;
  }

  Checked& out_;
};

bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

Cause bad_value(std::string field, std::string message) {
  return {"FieldValueInvalid", std::move(field), std::move(message)};
}
Cause missing(std::string field, std::string message) {
  return {"FieldValueRequired", std::move(field), std::move(message)};
}
Cause unsupported(std::string field, std::string message) {
  return {"FieldValueNotSupported", std::move(field), std::move(message)};
}

Checked check(const json::value& object, const Message& message) {
  Checked out;
  out.object = Checker(out).object(object, message, "");
  return out;
}

std::string fault_of_name(std::string_view name) {
  if (name.size() > kMostName) return format("must be no more than {} characters", kMostName);
  const bool fine = !name.empty() && is_name_char(name.front()) && is_name_char(name.back()) &&
                    std::all_of(name.begin(), name.end(),
                                [](char c) { return is_name_char(c) || c == '-' || c == '.'; });
  return fine ? ""
              : "must consist of lower case letters, digits, '-' or '.', and start and end with a "
                "letter or digit";
}

}  // namespace phalanx::kube
