#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dialect/kube/check.h"
#include "dialect/kube/protobuf.h"

// Any bytes are an object or an error; an object can be checked against its own shape.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto object = phalanx::kube::decode_protobuf(text);
  if (!object.ok()) return 0;
  const boost::json::value v(*object);
  const auto* message = phalanx::kube::message_of(phalanx::kube::text_at(v, {"apiVersion"}),
                                                  phalanx::kube::text_at(v, {"kind"}));
  if (message) (void)phalanx::kube::check(v, *message);
  return 0;
}
