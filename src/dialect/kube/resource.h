// What is served: the table of resources, and the documents by which clients discover it (legacy
// and aggregated discovery, version, OpenAPI). Constant data and text made from it; pure,
// thread-safe, no errors.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "dialect/kube/json.h"
#include "model/object.h"

namespace phalanx::kube {

struct Resource {
  std::string_view group, version, name;  // "batch", "v1", "jobs"
  std::string_view kind, singular;
  std::string_view short_name;  // empty: none
  bool namespaced = true;
  bool writable = true;  // else get, list and watch only
  bool in_all = false;   // `kubectl get all` shows it
};

std::span<const Resource> resources();
const Resource* find_resource(std::string_view group, std::string_view version,
                              std::string_view name);
// The one that stored objects of this key belong to; null for Slurm's.
const Resource* resource_of(const ObjectKey& key);
std::string api_version(const Resource& resource);     // "batch/v1", "v1"
std::string qualified_name(const Resource& resource);  // "jobs.batch", "configmaps"

inline constexpr std::string_view kAggregatedType =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

json::object discovery_core(bool aggregated);    // GET /api
json::object discovery_groups(bool aggregated);  // GET /apis
// GET /api/v1, /apis/batch/v1; empty if there is no such group and version.
json::object discovery_resources(std::string_view group, std::string_view version);
json::object version_info();                                                // GET /version
json::object openapi_index();                                               // GET /openapi/v3
json::object openapi_of(std::string_view group, std::string_view version);  // … of one group

}  // namespace phalanx::kube
