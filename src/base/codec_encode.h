// The writing half of the codec. Part of base/codec.h, which says the rules; include that.
#pragma once

#include <boost/describe.hpp>
#include <boost/mp11/algorithm.hpp>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/codec_traits.h"
#include "base/id.h"
#include "base/quantity.h"
#include "base/time.h"

namespace phalanx::codec {

template <class T>
void encode_to(std::string& out, const T& v);

template <class T>
const T& default_of() {
  static const T kValue{};
  return kValue;
}

template <class T>
void encode_struct(std::string& out, const T& v) {
  using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
  out += '{';
  bool first = true;
  boost::mp11::mp_for_each<Members>([&](auto d) {
    const auto& member = v.*d.pointer;
    if (member == default_of<T>().*d.pointer) return;
    if (!first) out += ',';
    first = false;
    out += '"';
    out += d.name;
    out += "\":";
    encode_to(out, member);
  });
  out += '}';
}

template <class List>
void encode_list(std::string& out, const List& list) {
  out += '[';
  bool first = true;
  for (const auto& item : list) {
    if (!first) out += ',';
    first = false;
    encode_to(out, item);
  }
  out += ']';
}

template <class Map>
void encode_text_map(std::string& out, const Map& map) {
  out += '{';
  bool first = true;
  for (const auto& [key, item] : map) {
    if (!first) out += ',';
    first = false;
    write_string(out, key);
    out += ':';
    encode_to(out, item);
  }
  out += '}';
}

// Keys that are not text: a list of pairs.
template <class First, class Second>
void encode_pair(std::string& out, const First& first, const Second& second) {
  out += '[';
  encode_to(out, first);
  out += ',';
  encode_to(out, second);
  out += ']';
}

template <class Variant>
void encode_variant(std::string& out, const Variant& v) {
  std::visit(
      [&](const auto& alternative) {
        out += "{\"";
        out += std::decay_t<decltype(alternative)>::kTypeName;
        out += "\":";
        encode_to(out, alternative);
        out += '}';
      },
      v);
}

template <class T>
void encode_to(std::string& out, const T& v) {
  if constexpr (std::is_same_v<T, bool>) {
    out += v ? "true" : "false";
  } else if constexpr (Enum<T>) {
    const char* name = boost::describe::enum_to_string(v, nullptr);
    write_string(out, name ? std::string_view(name) : std::string_view("?"));
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    write_int(out, v);
  } else if constexpr (std::is_integral_v<T>) {
    write_uint(out, v);
  } else if constexpr (std::is_same_v<T, std::string>) {
    write_string(out, v);
  } else if constexpr (std::is_same_v<T, Time>) {
    write_int(out, unix_ms(v));
  } else if constexpr (std::is_same_v<T, Duration>) {
    write_int(out, v.count());
  } else if constexpr (std::is_same_v<T, Quantity>) {
    write_int(out, v.in_milli());
  } else if constexpr (Is<Id, T>) {
    write_uint(out, v.value);
  } else if constexpr (IsNullable<T>) {
    if (v)
      encode_to(out, *v);
    else
      out += "null";
  } else if constexpr (Is<std::pair, T>) {
    encode_pair(out, v.first, v.second);
  } else if constexpr (IsTextMap<T>) {
    encode_text_map(out, v);
  } else if constexpr (IsList<T> || Is<std::map, T>) {
    encode_list(out, v);
  } else if constexpr (Is<std::variant, T>) {
    encode_variant(out, v);
  } else {
    static_assert(Struct<T>, "describe this type with BOOST_DESCRIBE_STRUCT");
    encode_struct(out, v);
  }
}

}  // namespace phalanx::codec
