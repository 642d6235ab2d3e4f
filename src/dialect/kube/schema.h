// The shapes of the Kubernetes objects that are read here, as one table: for each field its name,
// its number in protobuf bodies, its type, how lists merge in a strategic patch, and what Phalanx
// does with it. Everything else in this room that walks an object (protobuf, check, patch) follows
// the table, so that they cannot disagree. Constant data; pure, thread-safe, no errors.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace phalanx::kube {

enum class Kind { text, integer, boolean, bytes, quantity, message, opaque };
enum class Shape { one, list, map };
// acted: acted upon, or kept and given back where there is nothing to do. ours: written by the
// server alone; dropped when a client sends it. idle: kept, but has no effect here: a warning says
// so. refused: would change what runs, and cannot be done: an error, unless it says nothing (empty,
// 0, false).
enum class Use { acted, ours, idle, refused };

struct Message;
struct Field {
  std::uint32_t number = 0;
  std::string_view name;
  Kind kind = Kind::text;
  Shape shape = Shape::one;
  Use use = Use::acted;
  const Message* message = nullptr;  // of Kind::message
  std::string_view merge_key = {};   // of a list of messages in a strategic patch; empty: replaced
};
struct Message {
  std::string_view name;  // "PodSpec"
  std::span<const Field> fields;
};

const Field* find_field(const Message& message, std::string_view name);
const Field* find_field(const Message& message, std::uint64_t number);

// Null for kinds that have no shape here.
const Message* message_of(std::string_view api_version, std::string_view kind);

}  // namespace phalanx::kube
