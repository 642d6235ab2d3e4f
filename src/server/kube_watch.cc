// Watches: a stream of changes to the objects of one resource. Each event carries as
// resourceVersion the number of the fact behind it, so that a client goes on exactly there, also
// after the controller was restarted; where the ring of facts no longer reaches back it is told to
// list again (410).
//
// The reader's thread decides what to say; the loop thread writes. The reader owns the stream, all
// others hold weak references, so that timers are only touched by the loop thread.
#include <map>

#include "base/text.h"
#include "server/kube_api.h"

namespace phalanx::server {
namespace {

namespace json = kube::json;

constexpr std::size_t kMostPending = std::size_t{8} << 20;  // a client that lags more comes again
constexpr Duration kBookmarks = minutes(1);
constexpr std::int64_t kLongest = 3600;  // seconds; also where the client names no time
constexpr std::string_view kInitialEnd = "k8s.io/initial-events-end";

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Door& door, const KubeCall& call, kube::Selector selector);
  void start(std::uint64_t since, bool initial, bool mark_end);

 private:
  // --- on the reader's thread
  void snapshot(const View& view, bool say, bool mark_end);
  void heard(const View& view, const Event& event, const std::vector<cluster::Key>& keys,
             std::uint64_t sequence);
  void changed(const View& view, const ObjectKey& key, bool is_new, std::uint64_t sequence);
  void changed(const View& view, WorkloadId id, bool is_new, std::uint64_t sequence);
  void object_gone(const View& view, const ObjectKey& key, std::uint64_t sequence);
  void show(const View& view, json::object object, bool is_new, std::uint64_t sequence);
  void say(const View& view, std::string_view type, json::object object, std::uint64_t sequence);
  void bookmark(std::uint64_t sequence, bool initial_end);
  void post(std::string line);
  // --- on the loop thread
  void write(const std::string& line);
  void begin();
  void finish();
  void next_bookmark();

  Door& door_;
  const kube::Resource& resource_;
  const std::string space_;
  const kube::Selector selector_;
  const KubeFormat format_;
  const bool bookmarks_;
  std::int64_t seconds_ = kLongest;
  const Answer answer_;

  std::map<std::string, json::object> known_;  // reader: what the client has, by namespace/name
  bool expired_ = false;                       // reader
  std::uint64_t number_ = 0;                   // loop, as all below
  bool begun_ = false, over_ = false;
  net::Timer end_, bookmark_timer_;
};

std::string id_of(const json::object& object) {
  const json::value v(object);
  return kube::text_at(v, {"metadata", "namespace"}) + "/" + kube::text_at(v, {"metadata", "name"});
}

Stream::Stream(Door& door, const KubeCall& call, kube::Selector selector)
    : door_(door),
      resource_(*call.resource),
      space_(call.space),
      selector_(std::move(selector)),
      format_(kube_format(call.request)),
      bookmarks_(call.request.query.find("allowWatchBookmarks") == "true"),
      answer_(call.answer) {
  const auto asked = call.request.query.find("timeoutSeconds");
  const auto limit = asked ? parse_uint(*asked) : std::nullopt;
  if (limit && *limit > 0 && *limit < static_cast<std::uint64_t>(kLongest))
    seconds_ = static_cast<std::int64_t>(*limit);
}

// Three steps that the reader takes one right after the other: nothing is missed in between.
void Stream::start(std::uint64_t since, bool initial, bool mark_end) {
  const auto self = shared_from_this();
  answer_->on_close([weak = weak_from_this()] {
    if (const auto stream = weak.lock()) stream->finish();
  });
  door_.reader.ask(
      0, [self, initial, mark_end](const View& view) { self->snapshot(view, initial, mark_end); });
  number_ = door_.reader.watch(
      initial ? 0 : since,
      [self](const View& view, const Event& event, const std::vector<cluster::Key>& keys,
             std::uint64_t sequence) { self->heard(view, event, keys, sequence); },
      [self] {
        self->expired_ = true;
        kube_refuse(self->answer_, kube::gone("too old resource version: list again"));
      });
  door_.reader.ask(0, [self](const View&) {
    if (!self->expired_) self->post("");
  });
}

void Stream::snapshot(const View& view, bool tell, bool mark_end) {
  for (json::object& object : kube_collect(view, resource_, space_, "")) {
    if (!kube::matches(selector_, json::value(object))) continue;
    if (tell) {
      const auto version =
          parse_uint(kube::text_at(json::value(object), {"metadata", "resourceVersion"}));
      say(view, "ADDED", object, version.value_or(0));
    }
    known_[id_of(object)] = std::move(object);
  }
  if (mark_end) bookmark(view.state.sequence, true);
}

void Stream::heard(const View& view, const Event& event, const std::vector<cluster::Key>& keys,
                   std::uint64_t sequence) {
  if (const auto* gone = std::get_if<ObjectDeleted>(&event.what))
    return object_gone(view, gone->key, sequence);
  const auto* put = std::get_if<ObjectPut>(&event.what);
  const bool is_new = std::holds_alternative<Submitted>(event.what) ||
                      (put && put->object.created == event.at && put->object.generation == 1);
  for (const cluster::Key& key : keys) {
    if (const auto* object = std::get_if<ObjectKey>(&key))
      changed(view, *object, is_new && put, sequence);
    else if (const auto* id = std::get_if<WorkloadId>(&key))
      changed(view, *id, is_new && !put, sequence);
  }
}

bool concerns(const ObjectKey& key, const kube::Resource& r, const std::string& space) {
  return key.group == r.group && key.resource == r.name && (space.empty() || key.space == space);
}

void Stream::changed(const View& view, const ObjectKey& key, bool is_new, std::uint64_t sequence) {
  if (!concerns(key, resource_, space_)) return;
  const auto it = view.state.objects.find(key);
  if (it == view.state.objects.end()) return;
  show(view, kube::object_json(view.state, it->second, sequence), is_new, sequence);
}

void Stream::changed(const View& view, WorkloadId id, bool is_new, std::uint64_t sequence) {
  if (resource_.name != "pods") return;
  const Workload* w = find_workload(view.state, id);
  if (!w || w->spec->object.empty()) return;
  const ObjectKey key = parse_object_key(w->spec->object);
  const auto job = view.state.objects.find(key);
  if (job == view.state.objects.end() || (!space_.empty() && key.space != space_)) return;
  show(view, kube::pod_json(view.state, view.outlook, job->second, *w, sequence), is_new, sequence);
}

// A Job's Pods go with it. What a client that goes on from an older version may still have, but we
// have never seen, is told by name.
void Stream::object_gone(const View& view, const ObjectKey& key, std::uint64_t sequence) {
  if (resource_.name == "pods" && key.resource == "jobs") {
    for (auto it = known_.begin(); it != known_.end();) {
      const json::value pod(it->second);
      const bool of_it = kube::text_at(pod, {"metadata", "labels", "job-name"}) == key.name &&
                         kube::text_at(pod, {"metadata", "namespace"}) == key.space;
      if (of_it) say(view, "DELETED", it->second, sequence);
      it = of_it ? known_.erase(it) : std::next(it);
    }
    return;
  }
  if (!concerns(key, resource_, space_)) return;
  json::object last{{"kind", resource_.kind}, {"apiVersion", kube::api_version(resource_)}};
  json::object meta{{"name", key.name}};
  if (!key.space.empty()) meta["namespace"] = key.space;
  last["metadata"] = std::move(meta);
  const auto it = known_.find(key.space + "/" + key.name);
  if (it != known_.end())
    last = it->second;
  else if (!kube::matches(selector_, json::value(last)))
    return;
  if (it != known_.end()) known_.erase(it);
  say(view, "DELETED", std::move(last), sequence);
}

void Stream::show(const View& view, json::object object, bool is_new, std::uint64_t sequence) {
  const std::string id = id_of(object);
  const auto before = known_.find(id);
  if (kube::matches(selector_, json::value(object))) {
    const bool added = is_new || before == known_.end();
    known_[id] = object;
    say(view, added ? "ADDED" : "MODIFIED", std::move(object), sequence);
  } else if (before != known_.end()) {
    known_.erase(before);
    say(view, "DELETED", std::move(object), sequence);
  }
}

void Stream::say(const View& view, std::string_view type, json::object object,
                 std::uint64_t sequence) {
  const std::string version = std::to_string(sequence);
  if (json::value* meta = object.if_contains("metadata"); meta && meta->is_object())
    meta->get_object()["resourceVersion"] = version;
  json::object line{{"type", type}};
  if (format_.table)
    line["object"] = kube::table(resource_, {&object, 1}, view.now, version, format_.rows);
  else
    line["object"] = std::move(object);
  post(json::serialize(line) + "\n");
}

void Stream::bookmark(std::uint64_t sequence, bool initial_end) {
  json::object meta{{"resourceVersion", std::to_string(sequence)}, {"creationTimestamp", nullptr}};
  if (initial_end) meta["annotations"] = json::object{{kInitialEnd, "true"}};
  const json::object object{{"kind", resource_.kind},
                            {"apiVersion", kube::api_version(resource_)},
                            {"metadata", std::move(meta)}};
  post(json::serialize(json::object{{"type", "BOOKMARK"}, {"object", object}}) + "\n");
}

void Stream::post(std::string line) {
  door_.loop.post([weak = weak_from_this(), line = std::move(line)] {
    if (const auto stream = weak.lock()) stream->write(line);
  });
}

void Stream::write(const std::string& line) {
  if (over_) return;
  if (!begun_) begin();
  if (!line.empty()) answer_->write(line);
  if (answer_->pending_bytes() > kMostPending) finish();
}

void Stream::begin() {
  begun_ = true;
  answer_->begin_stream(200, "application/json");
  end_ = door_.loop.after(seconds(seconds_), [weak = weak_from_this()] {
    if (const auto stream = weak.lock()) stream->finish();
  });
  if (bookmarks_) next_bookmark();
}

void Stream::next_bookmark() {
  bookmark_timer_ = door_.loop.after(kBookmarks, [weak = weak_from_this()] {
    const auto stream = weak.lock();
    if (!stream) return;
    stream->door_.reader.ask(0, [weak](const View& view) {
      if (const auto again = weak.lock()) again->bookmark(view.state.sequence, false);
    });
    stream->next_bookmark();
  });
}

void Stream::finish() {
  if (over_) return;
  over_ = true;
  end_.cancel();
  bookmark_timer_.cancel();
  if (begun_) answer_->end();
  door_.reader.unwatch(number_);
}

}  // namespace

void kube_watch(Door& door, const KubeCall& call) {
  auto selector = kube_selector(call.request);
  if (!selector.ok()) return kube_refuse(call.answer, kube::bad_request(selector.error().message));
  const auto text = call.request.query.find("resourceVersion").value_or("");
  const auto since = text.empty() ? std::optional<std::uint64_t>(0) : parse_uint(text);
  if (!since) return kube_refuse(call.answer, kube::bad_request("resourceVersion is not a number"));
  if (*since > door.core.state().sequence)
    return kube_refuse(call.answer,
                       kube::gone("this resourceVersion is not from here: list again"));
  const bool mark_end = call.request.query.find("sendInitialEvents") == "true";
  const bool initial = mark_end || *since == 0;
  std::make_shared<Stream>(door, call, std::move(*selector))->start(*since, initial, mark_end);
}

}  // namespace phalanx::server
