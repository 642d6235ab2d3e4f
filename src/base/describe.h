// Describing structs and enums, so that the codec can read and write them: BOOST_DESCRIBE_STRUCT(T,
// (), (members…)) and BOOST_DESCRIBE_ENUM(E, names…) beside the definition; PHALANX_NAMED(T) inside
// a struct that is an alternative of a variant. Light: headers of nouns include this, and only who
// encodes or decodes includes base/codec.h.
#pragma once

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <boost/describe/enum_to_string.hpp>
#include <string_view>

#define PHALANX_NAMED(name) static constexpr std::string_view kTypeName = #name
