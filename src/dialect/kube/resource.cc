#include "dialect/kube/resource.h"

#include <algorithm>

#include "base/text.h"

namespace phalanx::kube {
namespace {

constexpr Resource kResources[] = {
    {"", "v1", "configmaps", "ConfigMap", "configmap", "cm"},
    {"", "v1", "events", "Event", "event", "ev", true, false},
    {"", "v1", "namespaces", "Namespace", "namespace", "ns", false},
    {"", "v1", "pods", "Pod", "pod", "po", true, false, true},
    {"batch", "v1", "jobs", "Job", "job", "", true, true, true},
};
constexpr std::string_view kGroups[] = {"", "batch"};  // each has the one version v1

json::array verbs_of(const Resource& r) {
  if (!r.writable) return {"get", "list", "watch"};
  return {"create", "delete", "get", "list", "patch", "update", "watch"};
}

json::array list_of_one(std::string_view word) {
  return word.empty() ? json::array() : json::array{word};
}

json::object kind_ref(const Resource& r) {
  return {{"group", r.group}, {"version", r.version}, {"kind", r.kind}};
}

json::object aggregated_group(std::string_view group) {
  json::array list;
  for (const Resource& r : kResources) {
    if (r.group != group) continue;
    list.push_back(json::object{{"resource", r.name},
                                {"responseKind", kind_ref(r)},
                                {"scope", r.namespaced ? "Namespaced" : "Cluster"},
                                {"singularResource", r.singular},
                                {"verbs", verbs_of(r)},
                                {"shortNames", list_of_one(r.short_name)},
                                {"categories", list_of_one(r.in_all ? "all" : "")}});
  }
  json::object version{{"version", "v1"}, {"resources", list}, {"freshness", "Current"}};
  return {{"metadata", json::object{{"name", group}}}, {"versions", json::array{version}}};
}

json::object aggregated(json::array groups) {
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", "apidiscovery.k8s.io/v2"},
          {"metadata", json::object()},
          {"items", std::move(groups)}};
}

std::string root_of(std::string_view group) {
  return group.empty() ? "api/v1" : format("apis/{}/v1", group);
}

json::object operation(const Resource& r, std::string_view action) {
  json::array parameters;
  for (const std::string_view name : {"fieldValidation", "dryRun", "fieldManager"})
    parameters.push_back(json::object{
        {"name", name}, {"in", "query"}, {"schema", json::object{{"type", "string"}}}});
  json::object content;
  if (action == "patch") {
    for (const std::string_view type :
         {"application/json-patch+json", "application/merge-patch+json",
          "application/strategic-merge-patch+json"})
      content[type] = json::object();
  } else {
    content["application/json"] = json::object();
  }
  return {{"x-kubernetes-action", action},
          {"x-kubernetes-group-version-kind", kind_ref(r)},
          {"parameters", parameters},
          {"requestBody", json::object{{"content", content}}},
          {"responses", json::object{{"200", json::object{{"description", "OK"}}}}}};
}

}  // namespace

std::span<const Resource> resources() { return kResources; }

const Resource* find_resource(std::string_view group, std::string_view version,
                              std::string_view name) {
  const auto* it = std::find_if(std::begin(kResources), std::end(kResources), [&](const auto& r) {
    return r.group == group && r.version == version && r.name == name;
  });
  return it == std::end(kResources) ? nullptr : it;
}

const Resource* resource_of(const ObjectKey& key) {
  return find_resource(key.group, "v1", key.resource);
}

std::string api_version(const Resource& r) {
  return r.group.empty() ? std::string(r.version) : format("{}/{}", r.group, r.version);
}

std::string qualified_name(const Resource& r) {
  return r.group.empty() ? std::string(r.name) : format("{}.{}", r.name, r.group);
}

json::object discovery_core(bool aggregate) {
  if (aggregate) return aggregated({aggregated_group("")});
  return {{"kind", "APIVersions"},
          {"versions", json::array{"v1"}},
          {"serverAddressByClientCIDRs", json::array()}};
}

json::object discovery_groups(bool aggregate) {
  json::array groups;
  for (const std::string_view group : kGroups) {
    if (group.empty()) continue;
    if (aggregate) {
      groups.push_back(aggregated_group(group));
      continue;
    }
    const json::object version{{"groupVersion", format("{}/v1", group)}, {"version", "v1"}};
    groups.push_back(json::object{
        {"name", group}, {"versions", json::array{version}}, {"preferredVersion", version}});
  }
  if (aggregate) return aggregated(std::move(groups));
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

json::object discovery_resources(std::string_view group, std::string_view version) {
  json::array list;
  for (const Resource& r : kResources) {
    if (r.group != group || r.version != version) continue;
    list.push_back(json::object{{"name", r.name},
                                {"singularName", r.singular},
                                {"namespaced", r.namespaced},
                                {"kind", r.kind},
                                {"verbs", verbs_of(r)},
                                {"shortNames", list_of_one(r.short_name)},
                                {"categories", list_of_one(r.in_all ? "all" : "")}});
  }
  if (list.empty()) return {};
  const std::string name = group.empty() ? "v1" : format("{}/{}", group, version);
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", name},
          {"resources", std::move(list)}};
}

json::object version_info() {
  return {{"major", "1"},    {"minor", "33"},           {"gitVersion", "v1.33.0+phalanx"},
          {"gitCommit", ""}, {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
          {"goVersion", ""}, {"compiler", ""},          {"platform", "linux/amd64"}};
}

json::object openapi_index() {
  json::object paths;
  for (const std::string_view group : kGroups) {
    const std::string root = root_of(group);
    paths[root] = json::object{{"serverRelativeURL", format("/openapi/v3/{}?hash=1", root)}};
  }
  return {{"paths", std::move(paths)}};
}

json::object openapi_of(std::string_view group, std::string_view version) {
  json::object paths;
  for (const Resource& r : kResources) {
    if (r.group != group || r.version != version || !r.writable) continue;
    const std::string base =
        format("/{}{}/{}", root_of(group), r.namespaced ? "/namespaces/{namespace}" : "", r.name);
    paths[base] = json::object{{"post", operation(r, "post")}};
    paths[base + "/{name}"] =
        json::object{{"put", operation(r, "put")}, {"patch", operation(r, "patch")}};
  }
  if (paths.empty()) return {};
  return {{"openapi", "3.0.0"},
          {"info", json::object{{"title", "Phalanx"}, {"version", "v1.33.0"}}},
          {"paths", std::move(paths)},
          {"components", json::object{{"schemas", json::object()}}}};
}

}  // namespace phalanx::kube
