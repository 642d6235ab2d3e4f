// Small questions to JSON values, without exceptions: what is absent, null or of another type gives
// the empty answer. Pure, thread-safe, no errors.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace phalanx::kube {

namespace json = boost::json;
using Path = std::initializer_list<std::string_view>;

// The value below `v` at a path of member names; null pointer if there is none, or if it is null.
const json::value* find(const json::value& v, Path path);
const json::value* find(const json::object& v, std::string_view name);
std::string text_at(const json::value& v, Path path);
std::optional<std::int64_t> integer_at(const json::value& v, Path path);

// "spec.template" + "name": "spec.template.name".
std::string below(std::string_view path, std::string_view name);

// Says nothing: null, "", 0, false, {} or [].
bool is_blank(const json::value& v);

}  // namespace phalanx::kube
