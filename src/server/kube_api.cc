#include "server/kube_api.h"

#include <algorithm>
#include <fstream>

#include "base/codec.h"

namespace phalanx::server {
namespace {

namespace json = kube::json;

constexpr std::size_t kMostArchivedPods = 1000;  // shown of one Job, the newest
constexpr std::string_view kOpenApi2Type =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

void reply(const Answer& answer, const json::object& body) {
  answer->reply(200, "application/json", json::serialize(body));
}

// --- collecting -------------------------------------------------------------------------------

// Pods of a Job that have left State. Their names are known: <job>-0 to <job>-(made-1).
std::vector<Workload> archived_pods(const View& view, const Object& job) {
  const std::int64_t gone = job.made - static_cast<std::int64_t>(job.workloads.size());
  if (gone <= 0) return {};
  store::ArchiveFilter filter;
  const std::int64_t first =
      std::max<std::int64_t>(0, job.made - static_cast<std::int64_t>(kMostArchivedPods));
  for (std::int64_t i = first; i < job.made; ++i)
    filter.names.push_back(format("{}-{}", job.key.name, i));
  filter.from_ms = unix_ms(job.created);
  const auto rows = view.archive.query(filter);
  std::vector<Workload> out;
  if (!rows.ok()) return out;
  for (const store::ArchiveRow& row : *rows) {
    auto w = codec::decode<Workload>(row.body);
    const bool of_this_job = w.ok() && w->spec && w->spec->object == to_string(job.key) &&
                             w->submitted >= job.created && !view.state.workloads.contains(w->id);
    if (of_this_job) out.push_back(std::move(*w));
  }
  return out;
}

template <class Visit>
void each_pod(const View& view, const std::string& space, const Visit& visit) {
  for (const auto& [key, object] : view.state.objects) {
    if (key.resource != "jobs" || (!space.empty() && key.space != space)) continue;
    for (const Workload& w : archived_pods(view, object)) visit(object, w);
    for (const WorkloadId id : object.workloads)
      if (const Workload* w = find_workload(view.state, id)) visit(object, *w);
  }
}

std::vector<json::object> stored(const View& view, const kube::Resource& r,
                                 const std::string& space, const std::string& name) {
  std::vector<json::object> out;
  const auto wanted = [&](const ObjectKey& key) {
    return key.group == r.group && key.resource == r.name &&
           (space.empty() || key.space == space) && (name.empty() || key.name == name);
  };
  for (const auto& [key, object] : view.state.objects)
    if (wanted(key))
      out.push_back(kube::object_json(view.state, object, version_of(view.state, key)));
  const ObjectKey standard{"", "namespaces", "", std::string(kube::kDefaultNamespace)};
  if (wanted(standard) && !view.state.objects.contains(standard))
    out.push_back(kube::default_namespace());
  return out;
}

bool is_named(const json::object& object, const std::string& name) {
  return name.empty() || kube::text_at(json::value(object), {"metadata", "name"}) == name;
}

}  // namespace

std::uint64_t version_of(const State& state, const ObjectKey& key) {
  const auto it = state.object_version.find(key);
  return it == state.object_version.end() ? 0 : it->second;
}

std::vector<json::object> kube_collect(const View& view, const kube::Resource& r,
                                       const std::string& space, const std::string& name) {
  if (r.name != "pods" && r.name != "events") return stored(view, r, space, name);
  std::vector<json::object> out;
  each_pod(view, space, [&](const Object& job, const Workload& w) {
    const std::uint64_t version = version_of(view.state, job.key);
    if (r.name == "pods") {
      if (!name.empty() && w.spec->name != name) return;
      out.push_back(kube::pod_json(view.state, view.outlook, job, w, version));
      return;
    }
    for (json::object& event : kube::events_json(view.state, view.outlook, job, w, version))
      if (is_named(event, name)) out.push_back(std::move(event));
  });
  return out;
}

KubeFormat kube_format(const net::Request& request) {
  KubeFormat format;
  const auto accept = request.headers.find("Accept");
  format.table = accept && accept->find("as=Table") != std::string_view::npos;
  const auto include = request.query.find("includeObject");
  if (include == "Object") format.rows = kube::RowObject::whole;
  if (include == "None") format.rows = kube::RowObject::none;
  return format;
}

Result<kube::Selector> kube_selector(const net::Request& request) {
  kube::Selector selector;
  if (const auto text = request.query.find("labelSelector"))
    selector.labels = TRY(kube::parse_requirements(*text));
  if (const auto text = request.query.find("fieldSelector"))
    selector.fields = TRY(kube::parse_requirements(*text));
  return selector;
}

void kube_refuse(const Answer& answer, const kube::Failure& failure) {
  answer->post_reply(failure.code, "application/json",
                     json::serialize(kube::status_object(failure)));
}

namespace {

// --- reading ----------------------------------------------------------------------------------

void answer_one(const View& view, const KubeCall& call) {
  const auto found = kube_collect(view, *call.resource, call.space, call.name);
  if (found.empty())
    return kube_refuse(call.answer, kube::no_such_object(*call.resource, call.name));
  const KubeFormat format = kube_format(call.request);
  const std::string version =
      kube::text_at(json::value(found.front()), {"metadata", "resourceVersion"});
  const json::object body =
      format.table ? kube::table(*call.resource, {found.data(), 1}, view.now, version, format.rows)
                   : found.front();
  call.answer->post_reply(200, "application/json", json::serialize(body));
}

void answer_list(const View& view, const KubeCall& call, const kube::Selector& selector) {
  std::vector<json::object> items = kube_collect(view, *call.resource, call.space, "");
  std::erase_if(items,
                [&](const json::object& o) { return !kube::matches(selector, json::value(o)); });
  const std::string version = std::to_string(view.state.sequence);
  const KubeFormat format = kube_format(call.request);
  json::object body;
  if (format.table) {
    body = kube::table(*call.resource, items, view.now, version, format.rows);
  } else {
    body = {{"kind", phalanx::format("{}List", call.resource->kind)},
            {"apiVersion", kube::api_version(*call.resource)},
            {"metadata", json::object{{"resourceVersion", version}}}};
    json::array list(items.begin(), items.end());
    body["items"] = std::move(list);
  }
  call.answer->post_reply(200, "application/json", json::serialize(body));
}

void read(Door& door, const KubeCall& call) {
  if (!call.name.empty())
    return door.reader.ask(0, [call](const View& view) { answer_one(view, call); });
  const auto watch = call.request.query.find("watch");
  if (watch == "true" || watch == "1") return kube_watch(door, call);
  auto selector = kube_selector(call.request);
  if (!selector.ok()) return kube_refuse(call.answer, kube::bad_request(selector.error().message));
  door.reader.ask(
      0, [call, selector = *selector](const View& view) { answer_list(view, call, selector); });
}

void serve(Door& door, const KubeCall& call) {
  const std::string& method = call.request.method;
  if (method == "GET") return read(door, call);
  const bool writable = call.resource->writable;
  if (writable && method == "POST" && call.name.empty()) return kube_create(door, call);
  if (writable && !call.name.empty()) {
    if (method == "PUT" || method == "PATCH") return kube_update(door, call);
    if (method == "DELETE") return kube_delete(door, call);
  }
  kube_refuse(call.answer, kube::method_not_allowed(method));
}

// "/api/v1/namespaces/default/pods/x" or "/apis/batch/v1/jobs"; false if nothing is served there.
bool understand(KubeCall& call) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(call.request.path, '/'))
    if (!part.empty()) parts.emplace_back(part);
  const bool core = parts.front() == "api";
  std::size_t at = core ? 1 : 2;
  if (parts.size() <= at + 1) return false;
  const std::string group = core ? "" : parts[1];
  const std::string version = parts[at++];
  if (parts[at] == "namespaces" && parts.size() > at + 2) {
    call.space = parts[at + 1];
    at += 2;
  }
  call.resource = kube::find_resource(group, version, parts[at++]);
  if (!call.resource || (!call.space.empty() && !call.resource->namespaced)) return false;
  if (at < parts.size()) call.name = parts[at++];
  const bool needs_space = call.resource->namespaced && !call.name.empty();
  return at == parts.size() && !(needs_space && call.space.empty());
}

void object_request(Door& door, const Identity& who, net::Request request, Answer answer) {
  KubeCall call{nullptr, "", "", who, std::move(request), std::move(answer)};
  if (call.request.method == "GET") {
    const auto parts = split(call.request.path, '/');  // the first is empty
    const bool core = parts.size() == 3 && parts[1] == "api";
    const bool group = parts.size() == 4 && parts[1] == "apis";
    const json::object list = core    ? kube::discovery_resources("", parts[2])
                              : group ? kube::discovery_resources(parts[2], parts[3])
                                      : json::object();
    if (!list.empty()) return reply(call.answer, list);
  }
  if (!understand(call)) return kube_refuse(call.answer, kube::no_such_path());
  serve(door, call);
}

// --- discovery --------------------------------------------------------------------------------

void discover(const net::Request& request, const Answer& answer,
              json::object (*document)(bool aggregated)) {
  const auto accept = request.headers.find("Accept");
  const bool aggregated =
      accept && accept->find("g=apidiscovery.k8s.io;v=v2;") != std::string_view::npos;
  answer->reply(200, aggregated ? kube::kAggregatedType : "application/json",
                json::serialize(document(aggregated)));
}

void openapi(const net::Request& request, const Answer& answer) {
  if (request.path == "/openapi/v3") return reply(answer, kube::openapi_index());
  if (request.path == "/openapi/v2") {
    const auto accept = request.headers.find("Accept");
    if (accept && accept->find("protobuf") != std::string_view::npos)
      return answer->reply(200, kOpenApi2Type,
                           std::string("\x0a\x03"
                                       "2.0"));  // swagger: "2.0"
    return reply(answer, {{"swagger", "2.0"},
                          {"info", json::object{{"title", "Phalanx"}, {"version", "v1.33.0"}}},
                          {"paths", json::object()}});
  }
  const auto parts = split(request.path, '/');  // "", openapi, v3, api, v1 or … apis, batch, v1
  json::object document;
  if (parts.size() == 5 && parts[3] == "api") document = kube::openapi_of("", parts[4]);
  if (parts.size() == 6 && parts[3] == "apis") document = kube::openapi_of(parts[4], parts[5]);
  if (document.empty()) return kube_refuse(answer, kube::no_such_path());
  reply(answer, document);
}

// Where kubectl reaches this controller: for `phalanx kubeconfig`.
void say_address(const Door& door, const Answer& answer) {
  std::ifstream file(door.state_dir + "/port");
  std::string port;
  if (!(file >> port) || !parse_uint(port))
    return refuse(answer, not_found("the controller listens on no port: start it with --port"));
  reply(answer, {{"server", format("http://127.0.0.1:{}", port)}});
}

}  // namespace

void kube_routes(Router& router, Door& door) {
  router.add("/version", [](const Identity&, const net::Request&, const Answer& answer) {
    reply(answer, kube::version_info());
  });
  router.add("/api", [](const Identity&, const net::Request& request, const Answer& answer) {
    discover(request, answer, kube::discovery_core);
  });
  router.add("/apis", [](const Identity&, const net::Request& request, const Answer& answer) {
    discover(request, answer, kube::discovery_groups);
  });
  router.add("/openapi/", [](const Identity&, const net::Request& request, const Answer& answer) {
    openapi(request, answer);
  });
  router.add("/v1/kubernetes", [&door](const Identity&, const net::Request&, const Answer& answer) {
    say_address(door, answer);
  });
  const auto objects = [&door](const Identity& who, net::Request request, Answer answer) {
    object_request(door, who, std::move(request), std::move(answer));
  };
  router.add("/api/", objects);
  router.add("/apis/", objects);
}

}  // namespace phalanx::server
