// The Kubernetes endpoints: what a request is about, and the three ways to serve it. Reads and
// watches are answered from the reader's State on its thread; writes are translated on the loop
// thread and become Inputs. Internal to kube_*.cc; everything starts on the loop thread.
#pragma once

#include <string>
#include <vector>

#include "dialect/kube/kube.h"
#include "server/door.h"

namespace phalanx::server {

struct KubeCall {
  const kube::Resource* resource = nullptr;
  std::string space;  // empty: all namespaces, or a resource without one
  std::string name;   // empty: the collection
  Identity who;
  net::Request request;
  Answer answer;

  [[nodiscard]] ObjectKey key() const {
    return {std::string(resource->group), std::string(resource->name), space, name};
  }
};

// Objects of a resource as clients see them, ordered by namespace and name. An empty space or name
// means all. On the reader's thread.
std::vector<kube::json::object> kube_collect(const View& view, const kube::Resource& resource,
                                             const std::string& space, const std::string& name);
std::uint64_t version_of(const State& state, const ObjectKey& key);

struct KubeFormat {  // how the client wants to be answered
  bool table = false;
  kube::RowObject rows = kube::RowObject::metadata;
};
KubeFormat kube_format(const net::Request& request);
Result<kube::Selector> kube_selector(const net::Request& request);

void kube_refuse(const Answer& answer, const kube::Failure& failure);  // from any thread

void kube_watch(Door& door, const KubeCall& call);
void kube_create(Door& door, const KubeCall& call);
void kube_update(Door& door, const KubeCall& call);  // PUT and PATCH
void kube_delete(Door& door, const KubeCall& call);

}  // namespace phalanx::server
