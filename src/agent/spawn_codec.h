// The binary form of the messages between the agent, phalanx-spawn and its supervisors. All three
// run on one machine, so numbers keep its byte order. A frame is [u32 size][u8 type][body], size
// counting type and body. A body is its fields one after another: numbers at their width, text and
// lists behind a u32 length. A field that is missing at the end keeps its default and a field too
// many is ignored, so that messages can grow at their end. Values only; no threads, no exceptions,
// libc and STL only.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace phalanx::agent::spawn {

// Every message names its type and, once for both directions, its fields as members of `s`.
#define PHALANX_FIELDS(...)                         \
  template <class S, class V>                       \
  static void fields([[maybe_unused]] S& s, V& v) { \
    v(__VA_ARGS__);                                 \
  }
#define PHALANX_MESSAGE(name, ...)          \
  static constexpr Type kType = Type::name; \
  PHALANX_FIELDS(__VA_ARGS__)

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}
  template <class... T>
  void operator()(const T&... fields) {
    (put(fields), ...);
  }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      T::fields(value, *this);
    }
  }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(static_cast<std::uint32_t>(list.size()));
    for (const T& item : list) put(item);
  }
  std::string& out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view in) : in_(in) {}
  template <class... T>
  void operator()(T&... fields) {
    (get(fields), ...);
  }
  bool ok() const { return ok_; }

 private:
  template <class T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = value;
      get(byte);
      value = byte != 0;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      if (in_.empty()) return;  // written by an older version: the default stands
      if (!enough(sizeof value)) return;
      std::memcpy(&value, in_.data(), sizeof value);
      in_.remove_prefix(sizeof value);
    } else {
      T::fields(value, *this);
    }
  }
  void get(std::string& text) {
    std::uint32_t size = 0;
    get(size);
    if (!enough(size)) return;
    text = in_.substr(0, size);
    in_.remove_prefix(size);
  }
  template <class T>
  void get(std::vector<T>& list) {
    std::uint32_t count = 0;
    get(count);
    if (!enough(count)) return;  // an item takes at least a byte: no list is longer than the frame
    list.clear();
    for (std::uint32_t i = 0; i < count && ok_; ++i) get(list.emplace_back());
  }
  bool enough(std::size_t size) { return ok_ = ok_ && in_.size() >= size; }

  std::string_view in_;
  bool ok_ = true;
};

template <class Message>
std::string pack(const Message& message) {
  std::string frame(sizeof(std::uint32_t), '\0');
  frame += static_cast<char>(Message::kType);
  Encoder encode(frame);
  Message::fields(message, encode);
  const auto size = static_cast<std::uint32_t>(frame.size() - sizeof(std::uint32_t));
  std::memcpy(frame.data(), &size, sizeof size);
  return frame;
}

template <class Message>
[[nodiscard]] bool unpack(std::string_view body, Message& message) {
  Decoder decode(body);
  Message::fields(message, decode);
  return decode.ok();
}

// Cuts frames off the front of received bytes. The view lives until the bytes change.
struct Frame {
  enum class State { Complete, Partial, Malformed } state = State::Partial;
  std::uint8_t type = 0;
  std::string_view body;
  std::size_t size = 0;  // bytes to remove from the front
};

inline Frame cut_frame(std::string_view bytes, std::size_t limit) {
  Frame frame;
  std::uint32_t size = 0;
  if (bytes.size() < sizeof size) return frame;
  std::memcpy(&size, bytes.data(), sizeof size);
  if (size == 0 || size > limit) {
    frame.state = Frame::State::Malformed;
    return frame;
  }
  if (bytes.size() < sizeof size + size) return frame;
  frame.state = Frame::State::Complete;
  frame.type = static_cast<std::uint8_t>(bytes[sizeof size]);
  frame.body = bytes.substr(sizeof size + 1, size - 1);
  frame.size = sizeof size + size;
  return frame;
}

}  // namespace phalanx::agent::spawn
