#include "dialect/kube/project.h"

#include <algorithm>

#include "base/codec.h"
#include "base/text.h"
#include "dialect/kube/resource.h"

namespace phalanx::kube {
namespace {

json::object body_of(const Object& object) {
  auto parsed = codec::parse_json(object.body);
  return parsed.ok() && parsed->is_object() ? std::move(parsed->get_object()) : json::object();
}

json::object take_object(json::object& from, std::string_view name) {
  json::value* v = from.if_contains(name);
  return v && v->is_object() ? v->get_object() : json::object();
}

json::object metadata(const Object& object, const json::object& stored, std::uint64_t version) {
  json::object out{{"name", object.key.name}};
  if (!object.key.space.empty()) out["namespace"] = object.key.space;
  out["uid"] = object.uid;
  out["resourceVersion"] = format("{}", version);
  if (object.kind == "Job") out["generation"] = object.generation;
  out["creationTimestamp"] = to_rfc3339(object.created);
  if (object.deleting) {
    out["deletionTimestamp"] = to_rfc3339(*object.deleting);
    out["deletionGracePeriodSeconds"] = 0;
  }
  for (const auto& [key, value] : stored) out.emplace(key, value);
  return out;
}

struct Counts {
  std::int64_t active = 0, ready = 0, succeeded = 0, failed = 0, terminating = 0;
};

Counts counts(const State& state, const Object& object) {
  Counts c;
  c.succeeded = object.succeeded;
  c.failed = object.failed;
  for (const WorkloadId id : object.workloads) {
    const Workload* w = find_workload(state, id);
    if (!w) continue;
    if (w->phase == Phase::ended) {
      c.succeeded += w->end.cause == EndCause::completed ? 1 : 0;
      c.failed +=
          w->end.cause != EndCause::completed && w->end.cause != EndCause::cancelled ? 1 : 0;
    } else if (w->stop_since != Time{}) {
      ++c.terminating;
    } else {
      ++c.active;
      c.ready += w->phase == Phase::running ? 1 : 0;
    }
  }
  return c;
}

json::object condition(std::string_view type, bool holds, Time since, std::string_view reason,
                       std::string_view message) {
  json::object out{{"type", type},
                   {"status", holds ? "True" : "False"},
                   {"lastProbeTime", nullptr},
                   {"lastTransitionTime", to_rfc3339(since)}};
  if (!reason.empty()) out["reason"] = reason;
  if (!message.empty()) out["message"] = message;
  return out;
}

json::object job_status(const State& state, const Object& object, const Completions& job) {
  const Counts c = counts(state, object);
  json::object out{{"ready", c.ready}, {"terminating", c.terminating}};
  if (object.started) out["startTime"] = to_rfc3339(*object.started);
  for (const auto& [name, n] : {std::pair("active", c.active), std::pair("succeeded", c.succeeded),
                                std::pair("failed", c.failed)})
    if (n > 0) out[name] = n;
  json::array conditions;
  const bool complete = c.succeeded >= job.completions;
  if (object.completed && complete) {
    out["completionTime"] = to_rfc3339(*object.completed);
    conditions.push_back(condition("Complete", true, *object.completed, "CompletionsReached",
                                   "Reached expected number of succeeded pods"));
  } else if (object.completed) {
    conditions.push_back(condition("Failed", true, *object.completed, "BackoffLimitExceeded",
                                   "Job has reached the specified backoff limit"));
  } else if (job.suspended) {
    conditions.push_back(
        condition("Suspended", true, object.created, "JobSuspended", "Job suspended"));
  }
  if (!conditions.empty()) out["conditions"] = std::move(conditions);
  return out;
}

// The labels by which a Job's Pods are found; clients see them in the template and in the selector.
json::object pod_labels(const Object& job) {
  return {{"batch.kubernetes.io/controller-uid", job.uid},
          {"batch.kubernetes.io/job-name", job.key.name},
          {"controller-uid", job.uid},
          {"job-name", job.key.name}};
}

json::object labelled_metadata(json::object meta, const Object& job) {
  json::object labels = take_object(meta, "labels");
  for (auto& [key, value] : pod_labels(job)) labels[key] = value;
  meta["labels"] = std::move(labels);
  return meta;
}

json::object job_spec(json::object spec, const Object& object) {
  const json::object labels = pod_labels(object);
  spec["selector"] = json::object{
      {"matchLabels", json::object{{"batch.kubernetes.io/controller-uid", object.uid}}}};
  json::object pod = take_object(spec, "template");
  pod["metadata"] = labelled_metadata(take_object(pod, "metadata"), object);
  spec["template"] = std::move(pod);
  return spec;
}

// --- Pods -------------------------------------------------------------------------------------

std::string label_of(const State& state, WorkloadId id) {
  const Workload* w = find_workload(state, id);
  if (!w) return "";
  return w->spec->object.empty() ? format("job {}", w->number) : "pod " + w->spec->name;
}

std::string why_waiting(const State& state, const Outlook& outlook, const Workload& w) {
  const Reason reason = reason_of(outlook, w.id);
  return sentence(reason, label_of(state, reason.other));
}

std::string_view end_reason(const End& end) {
  switch (end.cause) {
    case EndCause::completed:
      return "Completed";
    case EndCause::out_of_memory:
      return "OOMKilled";
    case EndCause::timeout:
    case EndCause::deadline:
      return "DeadlineExceeded";
    case EndCause::node_failed:
      return "NodeLost";
    case EndCause::launch_failed:
      return "StartError";
    case EndCause::cancelled:
    case EndCause::preempted:
      return "Cancelled";
    case EndCause::none:
    case EndCause::failed:
      return "Error";
  }
  return "Error";
}

std::optional<Time> launched_at(const Workload& w) {
  if (w.current && w.current->launched) return w.current->launched;
  if (!w.past.empty() && w.past.back().launched != Time{}) return w.past.back().launched;
  return std::nullopt;
}

std::string node_of(const State& state, const Workload& w) {
  if (w.current && !w.current->shares.empty())
    if (const Node* node = find_node(state, w.current->shares.front().node)) return node->spec.name;
  if (w.phase == Phase::ended && !w.past.empty() && !w.past.back().nodes.empty())
    return w.past.back().nodes.front();
  return "";
}

json::object terminated(const Workload& w) {
  const std::int64_t code = w.end.exit_signal != 0 ? 128 + w.end.exit_signal
                            : w.end.exit_code == 0 && w.end.cause != EndCause::completed
                                ? 1
                                : w.end.exit_code;
  json::object out{{"exitCode", code}, {"reason", end_reason(w.end)}};
  if (!w.end.detail.empty()) out["message"] = w.end.detail;
  if (const auto launched = launched_at(w)) out["startedAt"] = to_rfc3339(*launched);
  out["finishedAt"] = to_rfc3339(w.ended);
  return out;
}

json::object container_state(const Workload& w) {
  switch (w.phase) {
    case Phase::ended:
      return {{"terminated", terminated(w)}};
    case Phase::running: {
      const Time since = launched_at(w).value_or(w.submitted);
      return {{"running", json::object{{"startedAt", to_rfc3339(since)}}}};
    }
    case Phase::pending:
    case Phase::placed:
      return {{"waiting", json::object{{"reason", "ContainerCreating"}}}};
  }
  return {};
}

std::string_view phase_of(const Workload& w) {
  switch (w.phase) {
    case Phase::pending:
    case Phase::placed:
      return "Pending";
    case Phase::running:
      return "Running";
    case Phase::ended:
      return w.end.cause == EndCause::completed ? "Succeeded" : "Failed";
  }
  return "Unknown";
}

json::object pod_status(const State& state, const Outlook& outlook, const Workload& w,
                        std::string_view container) {
  json::object out{{"phase", phase_of(w)}, {"qosClass", "Burstable"}};
  const bool placed = w.phase != Phase::pending;
  json::array conditions;
  conditions.push_back(placed ? condition("PodScheduled", true, w.submitted, "", "")
                              : condition("PodScheduled", false, w.submitted, "Unschedulable",
                                          why_waiting(state, outlook, w)));
  conditions.push_back(
      condition("Ready", w.phase == Phase::running, launched_at(w).value_or(w.submitted), "", ""));
  out["conditions"] = std::move(conditions);
  if (const auto launched = launched_at(w)) out["startTime"] = to_rfc3339(*launched);
  if (!placed) return out;
  out["containerStatuses"] =
      json::array{json::object{{"name", container},
                               {"image", "host"},
                               {"imageID", ""},
                               {"ready", w.phase == Phase::running},
                               {"started", w.phase == Phase::running},
                               {"restartCount", static_cast<std::int64_t>(w.restarts)},
                               {"state", container_state(w)}}};
  return out;
}

json::object event(const Object& job, json::object involved, const std::string& name,
                   std::string_view reason, const std::string& message, Time at,
                   std::uint64_t version) {
  return {{"kind", "Event"},
          {"apiVersion", "v1"},
          {"metadata", json::object{{"name", name},
                                    {"namespace", job.key.space},
                                    {"resourceVersion", format("{}", version)},
                                    {"creationTimestamp", to_rfc3339(at)}}},
          {"involvedObject", std::move(involved)},
          {"reason", reason},
          {"message", message},
          {"source", json::object{{"component", "phalanx"}}},
          {"firstTimestamp", to_rfc3339(at)},
          {"lastTimestamp", to_rfc3339(at)},
          {"count", 1},
          {"type", "Warning"}};
}

}  // namespace

json::object object_json(const State& state, const Object& object, std::uint64_t version) {
  json::object body = body_of(object);
  json::object out{{"kind", object.kind}, {"apiVersion", object.version}};
  out["metadata"] = metadata(object, take_object(body, "metadata"), version);
  for (auto& [key, value] : body)
    if (key != "metadata") out[key] = value;
  if (const auto* job = std::get_if<Completions>(&object.meaning)) {
    out["spec"] = job_spec(take_object(body, "spec"), object);
    out["status"] = job_status(state, object, *job);
  }
  if (object.kind == "Namespace")
    out["status"] = json::object{{"phase", object.deleting ? "Terminating" : "Active"}};
  return out;
}

json::object default_namespace() {
  return {
      {"kind", "Namespace"},
      {"apiVersion", "v1"},
      {"metadata",
       json::object{{"name", kDefaultNamespace},
                    {"uid", "00000000-0000-4000-8000-000000000001"},
                    {"resourceVersion", "1"},
                    {"creationTimestamp", "1970-01-01T00:00:00Z"},
                    {"labels", json::object{{"kubernetes.io/metadata.name", kDefaultNamespace}}}}},
      {"spec", json::object{{"finalizers", json::array{"kubernetes"}}}},
      {"status", json::object{{"phase", "Active"}}}};
}

std::string pod_uid(const Object& job, WorkloadId pod) {
  return format("{}-{:012x}", std::string_view(job.uid).substr(0, job.uid.rfind('-')),
                pod.value & 0xffffffffffff);
}

json::object pod_json(const State& state, const Outlook& outlook, const Object& job,
                      const Workload& w, std::uint64_t version) {
  json::object body = body_of(job);
  json::object job_part = take_object(body, "spec");
  json::object pod = take_object(job_part, "template");
  json::object meta = labelled_metadata(take_object(pod, "metadata"), job);
  meta["name"] = w.spec->name;
  meta["namespace"] = job.key.space;
  meta["uid"] = pod_uid(job, w.id);
  meta["resourceVersion"] = format("{}", version);
  meta["creationTimestamp"] = to_rfc3339(w.submitted);
  if (w.stop_since != Time{} && w.phase != Phase::ended)
    meta["deletionTimestamp"] = to_rfc3339(w.stop_since);
  meta["ownerReferences"] = json::array{json::object{{"apiVersion", job.version},
                                                     {"kind", job.kind},
                                                     {"name", job.key.name},
                                                     {"uid", job.uid},
                                                     {"controller", true},
                                                     {"blockOwnerDeletion", true}}};
  json::object spec = take_object(pod, "spec");
  if (const std::string node = node_of(state, w); !node.empty()) spec["nodeName"] = node;
  const json::value* containers = find(spec, "containers");
  const bool any = containers && containers->is_array() && !containers->get_array().empty();
  const std::string container =
      any ? text_at(containers->get_array().front(), {"name"}) : std::string("main");
  return {{"kind", "Pod"},
          {"apiVersion", "v1"},
          {"metadata", std::move(meta)},
          {"spec", std::move(spec)},
          {"status", pod_status(state, outlook, w, container)}};
}

std::vector<json::object> events_json(const State& state, const Outlook& outlook, const Object& job,
                                      const Workload& w, std::uint64_t version) {
  const json::object about_job{{"kind", job.kind},
                               {"namespace", job.key.space},
                               {"name", job.key.name},
                               {"uid", job.uid},
                               {"apiVersion", job.version}};
  const json::object about_pod{{"kind", "Pod"},
                               {"namespace", job.key.space},
                               {"name", w.spec->name},
                               {"uid", pod_uid(job, w.id)},
                               {"apiVersion", "v1"}};
  std::string reason, message;
  Time at = outlook.at;
  if (w.phase == Phase::pending) {
    reason = "FailedScheduling";
    message = why_waiting(state, outlook, w);
    at = std::max(at, w.submitted);
  } else if (w.phase == Phase::ended && !w.end.detail.empty()) {
    reason = end_reason(w.end);
    message = w.end.detail;
    at = w.ended;
  } else {
    return {};
  }
  const std::string& name = w.spec->name;
  return {event(job, about_pod, name + ".why", reason, message, at, version),
          event(job, about_job, name + ".job", reason, format("pod {}: {}", name, message), at,
                version)};
}

}  // namespace phalanx::kube
