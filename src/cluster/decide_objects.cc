#include <algorithm>

#include "base/codec.h"
#include "base/text.h"
#include "cluster/access.h"
#include "cluster/decide.h"

namespace phalanx::cluster {
namespace {

// FNV-1a, twice with different offsets: an id that is the same on every replay and in no other
// cluster.
std::string uid_of(const std::string& cluster, std::uint64_t sequence) {
  std::uint64_t high = 0xcbf29ce484222325, low = 0x84222325cbf29ce4;
  for (const char c : cluster + format("/{}", sequence)) {
    high = (high ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    low = (low ^ static_cast<unsigned char>(c)) * 0x100000001b3 + (high >> 32);
  }
  return format("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                high & 0xfff, (low >> 48) & 0xfff, low & 0xffffffffffff);
}

Status check_version(const State& state, const ObjectKey& key,
                     std::optional<std::uint64_t> expected) {
  if (!expected) return {};
  const auto it = state.object_version.find(key);
  if (*expected == 0 && it != state.object_version.end())
    return conflict(format("{} \"{}\" already exists", key.resource, key.name));
  if (*expected != 0 && (it == state.object_version.end() || it->second != *expected))
    return conflict(format(
        "{} \"{}\" has been modified; apply your changes to the latest version and try again",
        key.resource, key.name));
  return {};
}

std::string meaning_text(const Object& object) { return codec::encode(object.meaning); }

Status put(Draft& d, const PutObject& input) {
  const State& state = d.state;
  TRY(check_version(state, input.object.key, input.expected_version));
  Object object = input.object;
  const auto it = state.objects.find(object.key);
  if (it == state.objects.end()) {
    object.uid = uid_of(state.cluster, state.sequence + 1);
    object.created = d.now;
    object.generation = 1;
    object.owner = d.who.uid;
    object.deleting.reset();
    object.workloads.clear();
    object.succeeded = object.failed = object.made = 0;
    object.started.reset();
    object.completed.reset();
  } else {
    const Object& before = it->second;
    TRY(may_change(state.config, d.who, before));
    const bool reconciling =
        d.who.kind == IdentityKind::system;  // sets `completed`, nothing of the user's
    if (before.deleting && !reconciling)
      return conflict(format("{} \"{}\" is being deleted", object.key.resource, object.key.name));
    const std::optional<Time> completed = reconciling ? object.completed : before.completed;
    const bool changed = object.body != before.body || meaning_text(object) != meaning_text(before);
    Object next = before;
    next.body = object.body;
    next.meaning = object.meaning;
    next.labels = object.labels;
    next.version = object.version;
    next.kind = object.kind;
    next.generation += changed ? 1 : 0;
    next.completed = completed;
    object = std::move(next);
  }
  d.out.reply.object = object;
  d.say(ObjectPut{std::move(object)});
  return {};
}

Status remove(Draft& d, const DeleteObject& input) {
  const auto it = d.state.objects.find(input.key);
  if (it == d.state.objects.end())
    return not_found(format("{} \"{}\" not found", input.key.resource, input.key.name));
  const Object& object = it->second;
  TRY(may_change(d.state.config, d.who, object));
  if (!input.uid.empty() && input.uid != object.uid)
    return conflict(format("{} \"{}\" is another one by now", input.key.resource, input.key.name));
  d.out.reply.object = object;
  bool any_left = false;
  for (const WorkloadId id : object.workloads) {
    const Workload* w = find_workload(d.state, id);
    any_left = any_left || (w && !finished(*w));
  }
  if (!any_left) {
    d.say(ObjectDeleted{input.key});
    return {};
  }
  if (!object.deleting) {
    Object next = object;
    next.deleting = d.now;
    d.out.reply.object = next;
    d.say(ObjectPut{std::move(next)});
  }
  for (const WorkloadId id : object.workloads) {
    const Workload* w = find_workload(d.state, id);
    if (!w || w->phase == Phase::ended || w->stop_since != Time{}) continue;
    Cancelled how;
    how.by = d.who.uid;
    stop(d, *w, std::move(how));
  }
  return {};
}

}  // namespace

void decide_one(Draft& d, const PutObject& input) { d.accept(put(d, input)); }
void decide_one(Draft& d, const DeleteObject& input) { d.accept(remove(d, input)); }

}  // namespace phalanx::cluster
