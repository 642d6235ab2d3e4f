// The codec: described structs to JSON and back. A type takes part by BOOST_DESCRIBE_STRUCT(T, (),
// (members…)) beside its definition. Rules, which Boost.JSON's own conversion does not have:
//   - a member equal to its default is left out, and an absent member keeps its default;
//   - an unknown member is an error, unless the type lists it: static constexpr std::array
//   kRetired{"name", …};
//   - members are written in the order of the description, so that equal values give equal bytes;
//   - std::variant<A, B, …> of structs is {"A": {…}}, by the unqualified name kTypeName, given with
//     PHALANX_NAMED(A) inside the struct;
//   - enums are written by name (BOOST_DESCRIBE_ENUM); Time and Duration as milliseconds; Quantity
//   as milli.
//
// Pure, thread-safe, allocates only for its result. encode_to appends; decode is total: any bytes
// give a value or an Error{Invalid} that names the path of the fault.
#pragma once

#include <array>
#include <boost/describe.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "base/codec_decode.h"  // IWYU pragma: export
#include "base/codec_encode.h"  // IWYU pragma: export
#include "base/codec_traits.h"  // IWYU pragma: export
#include "base/describe.h"
#include "base/result.h"

namespace phalanx::codec {

template <class T>
std::string encode(const T& v) {
  std::string out;
  encode_to(out, v);
  return out;
}

template <class T>
Result<T> decode_value(const boost::json::value& v) {
  T out{};
  if (Status status = decode_from(out, v, nullptr); !status.ok()) return status.error();
  return out;
}

template <class T>
Result<T> decode(std::string_view text) {
  // The tree goes as a whole when it has been read: most of the time went into its many pieces.
  std::array<unsigned char, 4096> first;
  boost::json::monotonic_resource tree(first.data(), first.size());
  auto parsed = parse_json(text, &tree);
  if (!parsed.ok()) return parsed.error();
  return decode_value<T>(*parsed);
}

}  // namespace phalanx::codec
