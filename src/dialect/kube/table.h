// How lists look in `kubectl get`: the server prints them (meta.k8s.io/v1 Table). Pure,
// thread-safe, no errors.
#pragma once

#include <span>
#include <string>

#include "base/time.h"
#include "dialect/kube/json.h"
#include "dialect/kube/resource.h"

namespace phalanx::kube {

// What each row carries beside its cells.
enum class RowObject { metadata, whole, none };

// Rows for objects of one resource; ages are counted up to `now`.
json::object table(const Resource& resource, std::span<const json::object> objects, Time now,
                   const std::string& version, RowObject rows);

// "45s", "3m20s", "5h", "2d4h": as kubectl prints ages.
std::string human_duration(Duration d);
// The inverse of to_rfc3339; nothing for other texts.
std::optional<Time> parse_rfc3339(std::string_view text);

}  // namespace phalanx::kube
