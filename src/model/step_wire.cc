#include "model/step_wire.h"

namespace phalanx {
namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
    out += static_cast<char>(static_cast<unsigned char>(value >> shift));
}

std::uint64_t get(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

}  // namespace

std::string step_frame(std::uint8_t stream, std::uint32_t rank, std::uint64_t offset,
                       std::string_view bytes) {
  std::string out;
  out.reserve(kStepFrameHead + bytes.size());
  put(out, stream, 1);
  put(out, rank, 4);
  put(out, offset, 8);
  out += bytes;
  return out;
}

std::optional<StepBytes> read_step_frame(std::string_view frame) {
  if (frame.size() < kStepFrameHead) return std::nullopt;
  StepBytes out;
  out.stream = static_cast<std::uint8_t>(get(frame.substr(0, 1)));
  out.rank = static_cast<std::uint32_t>(get(frame.substr(1, 4)));
  out.offset = get(frame.substr(5, 8));
  out.bytes = frame.substr(kStepFrameHead);
  return out;
}

}  // namespace phalanx
