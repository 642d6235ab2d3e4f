// The reading half of the codec: total, any value in gives a T or the path of the fault. Part of
// base/codec.h, which says the rules; include that.
#pragma once

#include <boost/describe.hpp>
#include <boost/json/value.hpp>
#include <boost/mp11/algorithm.hpp>
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

#include "base/codec_traits.h"
#include "base/id.h"
#include "base/quantity.h"
#include "base/result.h"
#include "base/text.h"
#include "base/time.h"

namespace phalanx::codec {

template <class T>
Status decode_from(T& out, const boost::json::value& v, const Path* path);

template <class Int>
Status decode_int(Int& out, const boost::json::value& v, const Path* path) {
  if (const auto* i = v.if_int64()) {
    if (!std::in_range<Int>(*i)) return at(path, "out of range");
    out = static_cast<Int>(*i);
    return {};
  }
  if (const auto* u = v.if_uint64()) {
    if (!std::in_range<Int>(*u)) return at(path, "out of range");
    out = static_cast<Int>(*u);
    return {};
  }
  return at(path, "not a whole number");
}

inline Status decode_text(std::string& out, const boost::json::value& v, const Path* path) {
  const auto* s = v.if_string();
  if (!s) return at(path, "not text");
  out.assign(s->data(), s->size());
  return {};
}

template <class E>
Status decode_enum(E& out, const boost::json::value& v, const Path* path) {
  const auto* s = v.if_string();
  const bool known =
      s && boost::describe::enum_from_string(std::string(s->data(), s->size()).c_str(), out);
  return known ? Status() : at(path, "not one of the known names");
}

template <class T>
bool is_member(std::string_view key) {
  bool found = false;
  using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
  boost::mp11::mp_for_each<Members>([&](auto d) { found = found || key == d.name; });
  if constexpr (requires { T::kRetired; })
    for (const std::string_view retired : T::kRetired) found = found || key == retired;
  return found;
}

template <class T>
Status decode_struct(T& out, const boost::json::value& v, const Path* path) {
  using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
  const auto* object = v.if_object();
  if (!object) return at(path, "not an object");
  Status status;
  std::size_t known = 0;
  boost::mp11::mp_for_each<Members>([&](auto d) {
    const auto* member = object->if_contains(d.name);
    if (!member) return;
    ++known;
    if (!status.ok()) return;
    const Path here{path, d.name, 0};
    status = decode_from(out.*d.pointer, *member, &here);
  });
  if (!status.ok() || known == object->size()) return status;
  for (const auto& entry : *object) {  // slow path: find the stranger
    const std::string_view key(entry.key().data(), entry.key().size());
    if (!is_member<T>(key)) return at(path, "unknown member \"" + printable(key) + "\"");
  }
  return {};
}

template <class Pair>
Status decode_pair(Pair& out, const boost::json::value& v, const Path* path) {
  const auto* array = v.if_array();
  if (!array || array->size() != 2) return at(path, "not a list of two");
  Path here{path, {}, 0};
  Status status = decode_from(out.first, (*array)[0], &here);
  here.index = 1;
  return status.ok() ? decode_from(out.second, (*array)[1], &here) : status;
}

template <class T>
Status decode_vector(std::vector<T>& out, const boost::json::value& v, const Path* path) {
  const auto* array = v.if_array();
  if (!array) return at(path, "not a list");
  out.clear();
  out.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    T item{};
    const Path here{path, {}, i};
    Status status = decode_from(item, (*array)[i], &here);
    if (!status.ok()) return status;
    out.push_back(std::move(item));
  }
  return {};
}

template <class Map>
Status decode_text_map(Map& out, const boost::json::value& v, const Path* path) {
  const auto* object = v.if_object();
  if (!object) return at(path, "not an object");
  out.clear();
  for (const auto& entry : *object) {
    const std::string key(entry.key().data(), entry.key().size());
    const Path here{path, key, 0};
    Status status = decode_from(out[key], entry.value(), &here);
    if (!status.ok()) return status;
  }
  return {};
}

template <class Map>
Status decode_map(Map& out, const boost::json::value& v, const Path* path) {
  std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>> items;
  if (Status status = decode_vector(items, v, path); !status.ok()) return status;
  out.clear();
  for (auto& item : items) out.insert_or_assign(std::move(item.first), std::move(item.second));
  return {};
}

template <class Variant, std::size_t... I>
Status decode_variant(Variant& out, const boost::json::value& v, const Path* path,
                      std::index_sequence<I...> /*every alternative*/) {
  const auto* object = v.if_object();
  if (!object || object->size() != 1) return at(path, "not an object of one member");
  const auto& entry = *object->begin();
  const std::string_view key(entry.key().data(), entry.key().size());
  Status status = at(path, "unknown kind \"" + printable(key) + "\"");
  const auto attempt = [&]<std::size_t Index>() {
    using T = std::variant_alternative_t<Index, Variant>;
    if (key != T::kTypeName) return false;
    T value{};
    const Path here{path, key, 0};
    status = decode_from(value, entry.value(), &here);
    if (status.ok()) out.template emplace<Index>(std::move(value));
    return true;
  };
  (void)(attempt.template operator()<I>() || ...);
  return status;
}

// Time, Duration and Quantity: a whole number of milliseconds or thousandths.
template <class T>
Status decode_scaled(T& out, const boost::json::value& v, const Path* path) {
  std::int64_t number = 0;
  Status status = decode_int(number, v, path);
  if constexpr (std::is_same_v<T, Time>)
    out = from_unix_ms(number);
  else if constexpr (std::is_same_v<T, Duration>)
    out = Duration(number);
  else
    out = Quantity::milli(number);
  return status;
}

template <class T>
Status decode_nullable(T& out, const boost::json::value& v, const Path* path) {
  out.reset();
  if (v.is_null()) return {};
  if constexpr (Is<std::optional, T>) {
    return decode_from(out.emplace(), v, path);
  } else {
    auto item = std::make_shared<std::remove_const_t<typename T::element_type>>();
    Status status = decode_from(*item, v, path);
    out = std::move(item);
    return status;
  }
}

template <class T>
Status decode_from(T& out, const boost::json::value& v, const Path* path) {
  if constexpr (std::is_same_v<T, bool>) {
    const auto* b = v.if_bool();
    if (!b) return at(path, "not true or false");
    out = *b;
    return {};
  } else if constexpr (Enum<T>) {
    return decode_enum(out, v, path);
  } else if constexpr (std::is_integral_v<T>) {
    return decode_int(out, v, path);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return decode_text(out, v, path);
  } else if constexpr (std::is_same_v<T, Time> || std::is_same_v<T, Duration> ||
                       std::is_same_v<T, Quantity>) {
    return decode_scaled(out, v, path);
  } else if constexpr (Is<Id, T>) {
    return decode_int(out.value, v, path);
  } else if constexpr (IsNullable<T>) {
    return decode_nullable(out, v, path);
  } else if constexpr (Is<std::pair, T>) {
    return decode_pair(out, v, path);
  } else if constexpr (Is<std::vector, T>) {
    return decode_vector(out, v, path);
  } else if constexpr (Is<std::set, T>) {
    std::vector<typename T::value_type> items;
    Status status = decode_vector(items, v, path);
    out = T(items.begin(), items.end());
    return status;
  } else if constexpr (IsTextMap<T>) {
    return decode_text_map(out, v, path);
  } else if constexpr (Is<std::map, T>) {
    return decode_map(out, v, path);
  } else if constexpr (Is<std::variant, T>) {
    return decode_variant(out, v, path, std::make_index_sequence<std::variant_size_v<T>>());
  } else {
    static_assert(Struct<T>, "describe this type with BOOST_DESCRIBE_STRUCT");
    return decode_struct(out, v, path);
  }
}

}  // namespace phalanx::codec
