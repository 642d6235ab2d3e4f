// Kubernetes' protobuf request bodies → the same object as JSON. Stock clients send them for
// built-in kinds (kubectl from 1.32 on: create job, create configmap, delete). Only kinds that
// schema.h knows; a field that it does not know is refused unless it is empty, for nothing that a
// user says may get lost. Total: any bytes give a value or an error for people. Pure, thread-safe.
#pragma once

#include <string_view>

#include "base/result.h"
#include "dialect/kube/json.h"

namespace phalanx::kube {

inline constexpr std::string_view kProtobufMagic{"k8s\0", 4};

// The whole body: magic, envelope (apiVersion, kind), object.
Result<json::object> decode_protobuf(std::string_view body);

}  // namespace phalanx::kube
