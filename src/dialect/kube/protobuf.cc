#include "dialect/kube/protobuf.h"

#include <optional>

#include "base/text.h"
#include "dialect/kube/schema.h"

namespace phalanx::kube {
namespace {

struct Entry {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  // of a varint or fixed field
  std::string_view bytes;   // of a length-delimited one
  bool delimited = false;
};

// The wire format: a sequence of (number, value).
class Wire {
 public:
  explicit Wire(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  // Nothing where the bytes are broken.
  std::optional<Entry> next() {
    const auto tag = varint();
    if (!tag) return std::nullopt;
    Entry entry;
    entry.number = *tag >> 3;
    switch (*tag & 7) {
      case 0: {
        const auto value = varint();
        if (!value) return std::nullopt;
        entry.value = *value;
        return entry;
      }
      case 1:
        return fixed(entry, 8);
      case 5:
        return fixed(entry, 4);
      case 2: {
        const auto size = varint();
        if (!size || *size > rest_.size()) return std::nullopt;
        entry.delimited = true;
        entry.bytes = rest_.substr(0, static_cast<std::size_t>(*size));
        rest_.remove_prefix(static_cast<std::size_t>(*size));
        return entry;
      }
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }
  std::optional<Entry> fixed(Entry entry, std::size_t size) {
    if (rest_.size() < size) return std::nullopt;
    for (std::size_t i = 0; i < size; ++i)
      entry.value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(size);
    return entry;
  }
  std::string_view rest_;
};

Error broken() { return invalid("the protobuf body is cut off or damaged"); }

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

Result<json::object> decode(std::string_view bytes, const Message& message);

// A message whose field 1 is a text: Quantity.
Result<std::string> wrapped_text(std::string_view bytes) {
  std::string out;
  for (Wire wire(bytes); !wire.at_end();) {
    const auto entry = wire.next();
    if (!entry) return broken();
    if (entry->number == 1) out = entry->bytes;
  }
  return out;
}

Result<json::value> scalar(const Entry& entry, const Field& field) {
  switch (field.kind) {
    case Kind::integer:
      if (entry.delimited) return broken();
      return json::value(static_cast<std::int64_t>(entry.value));
    case Kind::boolean:
      if (entry.delimited) return broken();
      return json::value(entry.value != 0);
    case Kind::bytes:
      return json::value(base64(entry.bytes));
    case Kind::quantity:
      return json::value(TRY(wrapped_text(entry.bytes)));
    case Kind::message:
      return json::value(TRY(decode(entry.bytes, *field.message)));
    case Kind::text:
    case Kind::opaque:
      if (!entry.delimited) return broken();
      return json::value(json::string(entry.bytes));
  }
  return broken();
}

Status put_map_entry(json::object& out, const Entry& entry, const Field& field) {
  std::string key;
  json::value value = "";
  for (Wire wire(entry.bytes); !wire.at_end();) {
    const auto part = wire.next();
    if (!part) return broken();
    if (part->number == 1) key = part->bytes;
    if (part->number == 2) value = TRY(scalar(*part, field));
  }
  json::value& map = out[field.name];
  if (!map.is_object()) map = json::object();
  map.get_object()[key] = std::move(value);
  return {};
}

bool says_nothing(const Entry& entry) {
  return entry.delimited ? entry.bytes.empty() : entry.value == 0;
}

Status put(json::object& out, const Entry& entry, const Message& message) {
  const Field* field = find_field(message, entry.number);
  if (field && field->use == Use::ours) return {};
  // Clients write every plain member, also empty ones.
  const bool plain = !field || field->use != Use::acted || field->kind == Kind::text;
  const bool single = !field || field->shape == Shape::one;
  if (says_nothing(entry) && plain && single) return {};
  if (!field)
    return invalid(format("field {} of {} is not known here: send JSON, or leave it out",
                          entry.number, message.name));
  if (field->kind == Kind::opaque)
    return invalid(
        format("{} of {} is not supported here: leave it out", field->name, message.name));
  if (field->shape == Shape::map) return put_map_entry(out, entry, *field);
  json::value value = TRY(scalar(entry, *field));
  if (field->shape == Shape::one) {
    out[field->name] = std::move(value);
    return {};
  }
  json::value& items = out[field->name];
  if (!items.is_array()) items = json::array();
  items.get_array().push_back(std::move(value));
  return {};
}

Result<json::object> decode(std::string_view bytes, const Message& message) {
  json::object out;
  for (Wire wire(bytes); !wire.at_end();) {
    const auto entry = wire.next();
    if (!entry) return broken();
    TRY(put(out, *entry, message));
  }
  return out;
}

struct Envelope {
  std::string version, kind;
  std::string_view raw;
};

Result<Envelope> open(std::string_view body) {
  Envelope envelope;
  for (Wire wire(body); !wire.at_end();) {
    const auto entry = wire.next();
    if (!entry) return broken();
    if (entry->number == 2) envelope.raw = entry->bytes;
    if (entry->number != 1) continue;
    for (Wire type(entry->bytes); !type.at_end();) {
      const auto part = type.next();
      if (!part) return broken();
      if (part->number == 1) envelope.version = part->bytes;
      if (part->number == 2) envelope.kind = part->bytes;
    }
  }
  return envelope;
}

}  // namespace

Result<json::object> decode_protobuf(std::string_view body) {
  if (!body.starts_with(kProtobufMagic)) return invalid("not a Kubernetes protobuf body");
  const Envelope envelope = TRY(open(body.substr(kProtobufMagic.size())));
  const Message* message = message_of(envelope.version, envelope.kind);
  if (!message)
    return invalid(format("protobuf bodies of kind {} in {} are not read here: send JSON",
                          printable(envelope.kind), printable(envelope.version)));
  json::object out = TRY(decode(envelope.raw, *message));
  out["apiVersion"] = envelope.version;
  out["kind"] = envelope.kind;
  return out;
}

}  // namespace phalanx::kube
