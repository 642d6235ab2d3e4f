// Writes: a manifest, a patch or a delete → one Input. Everything that needs a parser happens here,
// before the Input is made; the core only sees the result and the version that it was made from. A
// write that lost a race against a status change is made again from the newer object, unless the
// client named the version that it wants to change.
#include <pwd.h>

#include <array>

#include "base/codec.h"
#include "server/kube_api.h"

namespace phalanx::server {
namespace {

namespace json = kube::json;
using kube::Failure;
using MaybeFailure = std::optional<Failure>;

constexpr int kMostTries = 5;
constexpr std::size_t kMostBody = std::size_t{1536} << 10;
constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";
constexpr std::string_view kRunAs = "phalanx/run-as";  // on a Namespace: "submitter"

// What a write comes to: the object and what goes with it, or why not.
struct Draft {
  MaybeFailure failure;
  Object object;
  std::vector<store::Blob> blobs;
  std::vector<std::string> warnings;
  bool pinned = false;  // the client named the version that it changes
  std::uint64_t expected = 0;

  bool fail(Failure why) {
    failure = std::move(why);
    return false;
  }
};

std::string content_type(const net::Request& request) {
  const std::string_view type = request.headers.find("Content-Type").value_or("application/json");
  return to_lower(trim(type.substr(0, type.find(';'))));
}

Result<json::value> parse_body(const net::Request& request) {
  if (content_type(request) == kProtobufType)
    return json::value(TRY(kube::decode_protobuf(request.body)));
  return codec::parse_json(request.body);
}

bool is_dry_run(const net::Request& request) { return request.query.find("dryRun") == "All"; }

net::Headers warning_headers(const std::vector<std::string>& warnings) {
  net::Headers headers;
  for (const std::string& text : warnings) {
    std::string plain = printable(text);
    std::replace(plain.begin(), plain.end(), '"', '\'');
    std::replace(plain.begin(), plain.end(), '\\', '/');
    headers.add("Warning", format("299 - \"{}\"", plain));
  }
  return headers;
}

// --- who and where ----------------------------------------------------------------------------

bool may_write(const KubeCall& call, std::string_view verb, Draft& draft) {
  const kube::Resource& r = *call.resource;
  const auto no = [&](const std::string& why) {
    return draft.fail(kube::forbidden(r, call.name, call.space, call.who.user, verb, why));
  };
  if (call.who.kind != IdentityKind::unix_user || call.who.uid == net::kNobody)
    return no(
        "the token stands for no user of this cluster, and objects belong to one: "
        "`phalanx token` makes a token that does");
  if (r.name == "namespaces" && !call.who.operator_) return no("only operators may");
  if (r.name == "namespaces" && call.name == kube::kDefaultNamespace)
    return no("this namespace always exists as it is");
  return true;
}

const Object* find_object(const State& state, const ObjectKey& key) {
  const auto it = state.objects.find(key);
  return it == state.objects.end() ? nullptr : &it->second;
}

// The namespace must exist, and for work it must say whom the work runs as.
bool check_space(const State& state, const KubeCall& call, Draft& draft) {
  const kube::Resource& r = *call.resource;
  if (!r.namespaced || call.space == kube::kDefaultNamespace) return true;
  const Object* space = find_object(state, {"", "namespaces", "", call.space});
  if (!space)
    return draft.fail(
        kube::no_such_object(*kube::find_resource("", "v1", "namespaces"), call.space));
  if (r.name != "jobs") return true;
  const json::object object = kube::object_json(state, *space, 0);
  if (kube::text_at(json::value(object), {"metadata", "annotations", kRunAs}) == "submitter")
    return true;
  return draft.fail(kube::forbidden(
      r, call.name, call.space, call.who.user, "create",
      format("the namespace has no mapping to users: an operator annotates it with {}=submitter, "
             "so that Pods run as whoever creates them",
             kRunAs)));
}

// --- translating ------------------------------------------------------------------------------

bool check_fields(const KubeCall& call, const json::value& body, json::object& kept, Draft& draft) {
  const kube::Resource& r = *call.resource;
  const std::string version = kube::text_at(body, {"apiVersion"});
  const std::string kind = kube::text_at(body, {"kind"});
  if ((!version.empty() && version != kube::api_version(r)) || (!kind.empty() && kind != r.kind))
    return draft.fail(kube::bad_request(
        format("the body is a {} of {}, but this address takes a {} of {}", printable(kind),
               printable(version), r.kind, kube::api_version(r))));
  kube::Checked checked = kube::check(body, *kube::message_of(kube::api_version(r), r.kind));
  if (!checked.mistyped.empty())
    return draft.fail(kube::bad_request(
        format("{} cannot be handled as a {}: {}", r.kind, r.kind, join(checked.mistyped, "; "))));
  const auto validation = call.request.query.find("fieldValidation").value_or("Warn");
  for (const std::string& field : checked.unknown) {
    if (validation == "Strict")
      return draft.fail(
          kube::bad_request(format("strict decoding error: unknown field \"{}\"", field)));
    if (validation != "Ignore") draft.warnings.push_back(format("unknown field \"{}\"", field));
  }
  if (!checked.refused.empty())
    return draft.fail(kube::invalid_object(r, call.name, std::move(checked.refused)));
  draft.warnings.insert(draft.warnings.end(), checked.warnings.begin(), checked.warnings.end());
  kept = std::move(checked.object);
  return true;
}

kube::JobContext job_context(const State& state, const Identity& owner) {
  kube::JobContext context;
  context.owner = owner;
  context.grace = state.config.timers.kill_wait;
  std::array<char, 16384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(owner.uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found) {
    context.home = found->pw_dir;
    context.shell = found->pw_shell;
  }
  return context;
}

// What the scheduler would answer to one of the Pods: refused work is better refused here than
// never made. That no start can be foreseen is no reason: it waits.
std::optional<Error> refused_pod(Core& core, const Identity& who, const WorkloadSpec& pod) {
  Submit submit;
  submit.spec = std::make_shared<WorkloadSpec>(pod);
  submit.test_only = true;
  auto error =
      cluster::decide(core.state(), Heard{}, {core.now(), who, std::move(submit)}).reply.error;
  if (error && error->code == Error::Code::Unavailable) error.reset();
  return error;
}

bool translate_job(const Door& door, const KubeCall& call, json::object& body, const Object* before,
                   Draft& draft) {
  const kube::Resource& r = *call.resource;
  kube::set_job_defaults(body);
  const State& state = door.core.state();
  // A change by an operator does not make somebody's work the operator's.
  const auto* old = before ? std::get_if<Completions>(&before->meaning) : nullptr;
  const Identity owner = old && old->pod ? old->pod->owner : call.who;
  kube::JobTranslation job = kube::translate_job(body, job_context(state, owner));
  if (before) {
    const auto stored = codec::parse_json(before->body);
    if (stored.ok() && stored->is_object())
      for (kube::Cause& cause : kube::forbidden_changes(stored->get_object(), body))
        job.causes.push_back(std::move(cause));
  }
  if (!job.causes.empty())
    return draft.fail(kube::invalid_object(r, call.name, std::move(job.causes)));
  job.pod->name = call.name;
  job.pod->object = to_string(call.key());
  if (!before)
    if (const auto error = refused_pod(door.core, call.who, *job.pod))
      return draft.fail(kube::refused_write(*error, r, call.name, true));
  store::Blob environment = store::make_blob(std::move(job.environment));
  job.pod->launch.environment = environment.id;
  draft.blobs.push_back(std::move(environment));
  job.meaning.pod = std::move(job.pod);
  draft.object.meaning = std::move(job.meaning);
  return true;
}

bool check_immutable(const KubeCall& call, const json::object& body, const Object* before,
                     Draft& draft) {
  if (!before || call.resource->name != "configmaps") return true;
  const auto stored = codec::parse_json(before->body);
  const json::value* sealed = stored.ok() ? kube::find(*stored, {"immutable"}) : nullptr;
  if (!sealed || *sealed != json::value(true)) return true;
  for (const std::string_view name : {"data", "binaryData", "immutable"}) {
    const json::value* old = kube::find(*stored, {name});
    const json::value* now = kube::find(body, name);
    if (old && now ? *old != *now : old != now)
      return draft.fail(kube::invalid_object(
          *call.resource, call.name,
          {kube::bad_value(std::string(name), "field is immutable when `immutable` is set")}));
  }
  return true;
}

// The whole of a write but for the Input: `body` as the client means it after the change.
bool translate(const Door& door, KubeCall& call, const json::value& body, const Object* before,
               Draft& draft) {
  json::object kept;
  if (!check_fields(call, body, kept, draft)) return false;
  const json::value view(kept);
  const std::string name = kube::text_at(view, {"metadata", "name"});
  const std::string space = kube::text_at(view, {"metadata", "namespace"});
  if ((!name.empty() && name != call.name) || (!space.empty() && space != call.space))
    return draft.fail(kube::bad_request(
        "the name or namespace of the object does not match the address of the request"));
  if (!check_space(door.core.state(), call, draft)) return false;
  if (const std::string fault = kube::fault_of_name(call.name); !fault.empty())
    return draft.fail(
        kube::invalid_object(*call.resource, call.name, {kube::bad_value("metadata.name", fault)}));
  if (const auto version = kube::text_at(view, {"metadata", "resourceVersion"}); !version.empty()) {
    draft.pinned = true;
    draft.expected = parse_uint(version).value_or(0);
  }
  if (!check_immutable(call, kept, before, draft)) return false;
  if (call.resource->name == "jobs" && !translate_job(door, call, kept, before, draft))
    return false;
  Object& object = draft.object;
  object.key = call.key();
  object.version = kube::api_version(*call.resource);
  object.kind = call.resource->kind;
  json::object meta;
  for (const std::string_view member : {"labels", "annotations"}) {
    const json::value* v = kube::find(view, {"metadata", member});
    if (!v || !v->is_object() || v->get_object().empty()) continue;
    meta[member] = *v;
    if (member == "labels")
      for (const auto& [key, value] : v->get_object())
        object.labels[std::string(key.data(), key.size())] = kube::text_at(*v, {key});
  }
  kept["metadata"] = std::move(meta);
  object.body = json::serialize(kept);
  return object.body.size() <= kMostBody ||
         draft.fail(
             {413, "RequestEntityTooLarge", "the object is larger than 1.5 MB", {}, {}, {}, {}});
}

// --- answering --------------------------------------------------------------------------------

// The object as readers see it after the write.
void answer_object(Door& door, const KubeCall& call, int status, std::uint64_t sequence,
                   const Object& written, const std::vector<std::string>& warnings) {
  door.reader.ask(sequence, [call, status, written, warnings](const View& view) {
    const Object* object = find_object(view.state, call.key());
    const std::uint64_t version = version_of(view.state, call.key());
    const json::object body = kube::object_json(view.state, object ? *object : written, version);
    call.answer->post_reply(status, "application/json", json::serialize(body),
                            warning_headers(warnings));
  });
}

void answer_dry_run(const Door& door, const KubeCall& call, int status, const Draft& draft,
                    const Object* before) {
  Object object = before ? *before : Object{};
  object.key = draft.object.key;
  object.version = draft.object.version;
  object.kind = draft.object.kind;
  object.body = draft.object.body;
  object.meaning = draft.object.meaning;
  if (!before) object.created = door.core.now();
  const State& state = door.core.state();
  const json::object body = kube::object_json(state, object, version_of(state, object.key));
  call.answer->reply(status, "application/json", json::serialize(body),
                     warning_headers(draft.warnings));
}

// --- create -----------------------------------------------------------------------------------

// Five characters that do not spell words, as Kubernetes appends them to generateName.
std::string fresh_suffix(const Door& door, const std::string& prefix) {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  static std::uint64_t made = 0;
  const std::string seed =
      format("{}/{}/{}/{}", prefix, door.core.state().sequence, unix_ms(net::wall_now()), ++made);
  std::string out;
  for (const char c : store::sha256_hex(seed).substr(0, 5))
    out += kLetters[static_cast<std::size_t>(c) % kLetters.size()];
  return out;
}

}  // namespace

void kube_create(Door& door, const KubeCall& original) {
  KubeCall call = original;
  const auto body = parse_body(call.request);
  if (!body.ok()) return kube_refuse(call.answer, kube::bad_request(body.error().message));
  if (call.space.empty() && call.resource->namespaced)
    return kube_refuse(call.answer, kube::bad_request("the address must name a namespace"));
  call.name = kube::text_at(*body, {"metadata", "name"});
  const std::string prefix = kube::text_at(*body, {"metadata", "generateName"});
  if (call.name.empty() && !prefix.empty()) call.name = prefix + fresh_suffix(door, prefix);
  Draft draft;
  if (!may_write(call, "create", draft) || !translate(door, call, *body, nullptr, draft))
    return kube_refuse(call.answer, *draft.failure);
  if (find_object(door.core.state(), call.key()))
    return kube_refuse(call.answer,
                       kube::refused_write(conflict(""), *call.resource, call.name, true));
  if (is_dry_run(call.request)) return answer_dry_run(door, call, 201, draft, nullptr);
  PutObject put{draft.object, 0};
  door.core.put(
      call.who, std::move(put),
      [&door, call, draft](const Reply& reply, std::uint64_t sequence) {
        if (reply.error)
          return kube_refuse(call.answer,
                             kube::refused_write(*reply.error, *call.resource, call.name, true));
        answer_object(door, call, 201, sequence, reply.object.value_or(draft.object),
                      draft.warnings);
      },
      draft.blobs);
}

// --- update and patch -------------------------------------------------------------------------

namespace {

Status patch_into(json::value& target, const std::string& type, const json::value& patch,
                  const kube::Message& message) {
  if (type == "application/json-patch+json") return kube::json_patch(target, patch);
  if (!patch.is_object()) return invalid("the patch must be an object");
  if (type == "application/merge-patch+json") {
    kube::merge_patch(target, patch);
    return {};
  }
  return kube::strategic_patch(target.get_object(), patch.get_object(), message);
}

bool check_patch_type(const KubeCall& call, Draft& draft) {
  if (call.request.method != "PATCH") return true;
  const std::string type = content_type(call.request);
  if (type == "application/json-patch+json" || type == "application/merge-patch+json" ||
      type == "application/strategic-merge-patch+json")
    return true;
  return draft.fail(kube::unsupported_type(
      type == "application/apply-patch+yaml"
          ? "server-side apply is not served: use kubectl apply without --server-side"
          : format("patches of type {} are not served", printable(type))));
}

// The object after the change, from the newest one; false with the failure in `draft`.
bool changed_body(const Door& door, const KubeCall& call, const Object& before, json::value& out,
                  Draft& draft) {
  const std::string type = content_type(call.request);
  const bool patch = call.request.method == "PATCH";
  const auto body = parse_body(call.request);
  if (!body.ok()) return draft.fail(kube::bad_request(body.error().message));
  if (!patch) {
    out = *body;
    return true;
  }
  const State& state = door.core.state();
  out = kube::object_json(state, before, version_of(state, before.key));
  // Only a version that the client itself names pins the change.
  out.get_object()["metadata"].get_object().erase("resourceVersion");
  const kube::Message& message =
      *kube::message_of(kube::api_version(*call.resource), call.resource->kind);
  if (const Status status = patch_into(out, type, *body, message); !status.ok())
    return draft.fail(kube::bad_request(status.error().message));
  return out.is_object() || draft.fail(kube::bad_request("the patch leaves no object"));
}

void update(Door& door, KubeCall call, int tries) {
  Draft draft;
  const State& state = door.core.state();
  const Object* before = find_object(state, call.key());
  json::value body;
  if (!check_patch_type(call, draft) ||
      !may_write(call, call.request.method == "PUT" ? "update" : "patch", draft))
    return kube_refuse(call.answer, *draft.failure);
  if (!before) return kube_refuse(call.answer, kube::no_such_object(*call.resource, call.name));
  if (!changed_body(door, call, *before, body, draft) ||
      !translate(door, call, body, before, draft))
    return kube_refuse(call.answer, *draft.failure);
  if (is_dry_run(call.request)) return answer_dry_run(door, call, 200, draft, before);
  if (!draft.pinned) draft.expected = version_of(state, before->key);
  PutObject put{draft.object, draft.expected};
  door.core.put(
      call.who, std::move(put),
      [&door, call, draft, tries](const Reply& reply, std::uint64_t sequence) {
        const bool again = reply.error && reply.error->code == Error::Code::Conflict &&
                           !draft.pinned && tries < kMostTries;
        if (again) return update(door, call, tries + 1);
        if (reply.error)
          return kube_refuse(call.answer,
                             kube::refused_write(*reply.error, *call.resource, call.name, false));
        answer_object(door, call, 200, sequence, reply.object.value_or(draft.object),
                      draft.warnings);
      },
      draft.blobs);
}

}  // namespace

void kube_update(Door& door, const KubeCall& call) { update(door, call, 1); }

// --- delete -----------------------------------------------------------------------------------

namespace {

struct DeleteWish {
  std::string policy, uid;
  bool dry_run = false;
};

Result<DeleteWish> delete_wish(const net::Request& request) {
  DeleteWish wish;
  wish.dry_run = is_dry_run(request);
  if (!request.body.empty()) {
    const json::value body = TRY(parse_body(request));
    wish.policy = kube::text_at(body, {"propagationPolicy"});
    wish.uid = kube::text_at(body, {"preconditions", "uid"});
    const json::value* dry = kube::find(body, {"dryRun"});
    wish.dry_run = wish.dry_run || (dry && !kube::is_blank(*dry));
    if (const json::value* orphan = kube::find(body, {"orphanDependents"});
        orphan && *orphan == json::value(true))
      wish.policy = "Orphan";
  }
  if (const auto policy = request.query.find("propagationPolicy")) wish.policy = *policy;
  return wish;
}

bool may_go(const State& state, const KubeCall& call, const DeleteWish& wish, Draft& draft) {
  const kube::Resource& r = *call.resource;
  if (wish.policy == "Orphan")
    return draft.fail(kube::invalid_object(
        r, call.name,
        {kube::unsupported("propagationPolicy", "Pods cannot outlive their Job here")}));
  if (r.name != "namespaces") return true;
  for (const auto& [key, object] : state.objects)
    if (key.space == call.name)
      return draft.fail(
          kube::refused_write(conflict(format("it still holds {} {}: delete what is in it first",
                                              key.resource, key.name)),
                              r, call.name, false));
  return true;
}

// Still there (its Pods are being stopped): the object. Gone: a Status that says so.
void answer_deleted(const View& view, const KubeCall& call, const Object& object) {
  const auto it = view.state.objects.find(call.key());
  if (it != view.state.objects.end() && it->second.uid == object.uid) {
    const json::object body =
        kube::object_json(view.state, it->second, version_of(view.state, call.key()));
    return call.answer->post_reply(200, "application/json", json::serialize(body));
  }
  json::object details{{"name", call.name}, {"kind", call.resource->name}, {"uid", object.uid}};
  if (!call.resource->group.empty()) details["group"] = call.resource->group;
  const json::object status{{"kind", "Status"},
                            {"apiVersion", "v1"},
                            {"metadata", json::object()},
                            {"status", "Success"},
                            {"details", std::move(details)}};
  call.answer->post_reply(200, "application/json", json::serialize(status));
}

}  // namespace

void kube_delete(Door& door, const KubeCall& call) {
  const auto wish = delete_wish(call.request);
  if (!wish.ok()) return kube_refuse(call.answer, kube::bad_request(wish.error().message));
  Draft draft;
  if (!may_write(call, "delete", draft) || !may_go(door.core.state(), call, *wish, draft))
    return kube_refuse(call.answer, *draft.failure);
  const Object* object = find_object(door.core.state(), call.key());
  if (!object) return kube_refuse(call.answer, kube::no_such_object(*call.resource, call.name));
  if (wish->dry_run) return answer_object(door, call, 200, 0, *object, {});
  door.core.put(
      call.who, DeleteObject{call.key(), wish->uid},
      [&door, call, object = *object](const Reply& reply, std::uint64_t sequence) {
        if (reply.error)
          return kube_refuse(call.answer,
                             kube::refused_write(*reply.error, *call.resource, call.name, false));
        door.reader.ask(sequence,
                        [call, object](const View& view) { answer_deleted(view, call, object); });
      });
}

}  // namespace phalanx::server
