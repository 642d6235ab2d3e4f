// The three kinds of patch that clients send, applied to an object as JSON. Total: a patch that
// makes no sense is an error for people, and then the target is to be thrown away. Pure,
// thread-safe. The target's depth stays within what codec::parse_json accepts.
#pragma once

#include "base/result.h"
#include "dialect/kube/json.h"
#include "dialect/kube/schema.h"

namespace phalanx::kube {

// RFC 7386: members replace members, null removes.
void merge_patch(json::value& target, const json::value& patch);

// Kubernetes' strategic merge: lists whose elements have a key merge by it ($patch, $retainKeys,
// $deleteFromPrimitiveList, $setElementOrder).
Status strategic_patch(json::object& target, const json::object& patch, const Message& message);

// RFC 6902, at most 1,000 operations. "replace" of what is absent adds it.
Status json_patch(json::value& target, const json::value& operations);

}  // namespace phalanx::kube
