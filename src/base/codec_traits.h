// What kind of type is it? The questions that the two halves of the codec ask at compile time, and
// the pieces that codec.cc implements once. Part of base/codec.h, which says the rules; include
// that.
#pragma once

#include <boost/describe.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/result.h"

namespace phalanx::codec {

void write_string(std::string& out, std::string_view s);  // with quotes and escapes
void write_int(std::string& out, std::int64_t v);
void write_uint(std::string& out, std::uint64_t v);
// Depth at most 64. `storage`: where the tree is kept; the heap, if it is not given.
Result<boost::json::value> parse_json(std::string_view text, boost::json::storage_ptr storage = {});
// Where in a value the decoder is: a member's or key's name, or (name without data) a place in a
// list. Spelled out only in an error.
struct Path {
  const Path* up = nullptr;
  std::string_view name;
  std::size_t index = 0;
};
// "group.0.cpus: " + what, as Error{Invalid}; null: the value itself.
Error at(const Path* path, std::string_view what);

template <class T>
concept Struct = boost::describe::has_describe_members<T>::value && !std::is_union_v<T>;
template <class T>
concept Enum = boost::describe::has_describe_enumerators<T>::value;

// Is<std::vector, T>: T is an instance of that template.
template <template <class...> class Template, class T>
inline constexpr bool kInstance = false;
template <template <class...> class Template, class... Args>
inline constexpr bool kInstance<Template, Template<Args...>> = true;

template <template <class...> class Template, class T>
concept Is = kInstance<Template, T>;

template <class T>
concept IsList = Is<std::vector, T> || Is<std::set, T>;
template <class T>
concept IsTextMap = Is<std::map, T> && std::is_same_v<typename T::key_type, std::string>;
// A value that may be absent, written as null: an optional, or a row shared between states.
template <class T>
concept IsNullable = Is<std::optional, T> || Is<std::shared_ptr, T>;

}  // namespace phalanx::codec
