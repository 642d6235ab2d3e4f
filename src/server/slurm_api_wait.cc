// Waiting for a job: one line of JSON now and at each change, from the readers' State.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/slurm.h"
#include "server/slurm_api.h"

namespace phalanx::server {
namespace {

using slurm::JobNews;
using slurm::JobPhase;

// What `sbatch --wait` ends with: the exit code; 1 if a signal or the cluster ended it.
std::int32_t wait_code(const End& end) {
  if (end.exit_signal != 0) return 1;
  if (end.exit_code != 0) return end.exit_code;
  return end.cause == EndCause::completed ? 0 : 1;
}

void tell_end(const End& end, JobNews& news) {
  news.phase = JobPhase::Ended;
  news.cause = boost::describe::enum_to_string(end.cause, "");
  news.exit_code = end.exit_code;
  news.exit_signal = end.exit_signal;
  news.detail = end.detail;
}

JobNews news_of(const View& view, const Workload& w) {
  JobNews news;
  if (w.phase == Phase::ended) {
    tell_end(w.end, news);
    return news;
  }
  if (w.phase == Phase::pending) {
    const Reason reason = reason_of(view.outlook, w.id);
    news.reason = sentence(reason, slurm::other_name(view.state, reason.other, *w.spec));
    return news;
  }
  news.phase = w.phase == Phase::running ? JobPhase::Running : JobPhase::Starting;
  std::vector<std::string> names;
  for (const NodeShare& share : w.current->shares)
    if (const Node* node = find_node(view.state, share.node)) names.push_back(node->spec.name);
  news.nodes = slurm::fold_hosts(names);
  if (news.phase == JobPhase::Running && w.spec->kind == WorkloadKind::allocation)
    for (const auto& [name, value] : slurm::job_variables(view.state, w))
      news.environment.push_back(name + "=" + value);
  return news;
}

// Rows of the job, or of the array's elements, that have left State.
std::vector<Workload> archived(const View& view, JobNumber number) {
  std::vector<Workload> out;
  store::ArchiveFilter filter;
  filter.numbers = {number};
  const auto rows = view.archive.query(filter);
  if (!rows.ok()) return out;
  for (const store::ArchiveRow& row : *rows) {
    auto w = codec::decode<Workload>(std::string_view(row.body));
    if (w.ok()) out.push_back(std::move(*w));
  }
  return out;
}

JobNews news_of_array(const View& view, const Array& array) {
  JobNews news;
  std::int32_t worst = 0;
  bool all_ended = array.pending.empty(), any_live = false;
  for (const WorkloadId id : array.elements) {
    const Workload* w = find_workload(view.state, id);
    if (!w) continue;
    if (w->phase == Phase::ended) worst = std::max(worst, wait_code(w->end));
    all_ended = all_ended && w->phase == Phase::ended;
    any_live = any_live || w->phase == Phase::running || w->phase == Phase::placed;
  }
  if (!all_ended) {
    news.phase = any_live ? JobPhase::Running : JobPhase::Pending;
    return news;
  }
  for (const Workload& w : archived(view, array.number)) worst = std::max(worst, wait_code(w.end));
  news.phase = JobPhase::Ended;
  news.cause = worst == 0 ? "completed" : "failed";
  news.exit_code = worst;
  return news;
}

JobNews news_of(const View& view, JobNumber number) {
  const auto it = view.state.by_number.find(number);
  if (it != view.state.by_number.end()) {
    if (const Array* array = find_array(view.state, it->second)) return news_of_array(view, *array);
    const Workload* w = find_workload(view.state, it->second);
    const Array* array =
        w && w->array_number == number ? find_array(view.state, w->array) : nullptr;
    if (array) return news_of_array(view, *array);
    if (w) return news_of(view, *w);
  }
  JobNews news;
  news.phase = JobPhase::Unknown;
  const auto rows = archived(view, number);
  if (rows.size() == 1 && rows.front().array_number != number) {
    tell_end(rows.front().end, news);
  } else if (!rows.empty()) {
    news.phase = JobPhase::Ended;
    for (const Workload& w : rows) news.exit_code = std::max(news.exit_code, wait_code(w.end));
    news.cause = news.exit_code == 0 ? "completed" : "failed";
  }
  return news;
}

// Who wants to know when it starts hears that it waits only if it still does after this time.
constexpr Duration kWorthSaying = milliseconds(300);

// One client that waits. The first two members do not change, `last` and `asked` belong to the
// reader's thread, the rest to the loop.
struct Waiter {
  slurm::WaitRequest request;
  Answer answer;
  std::string last;
  bool asked = false;
  net::Timer timer;
  std::uint64_t watch = 0;
  std::optional<WorkloadId> holds;  // it is the client of this allocation
  bool over = false;
};

void end(Door& door, Waiter& waiter) {
  if (waiter.over) return;
  waiter.over = true;
  waiter.timer.cancel();
  door.reader.unwatch(waiter.watch);
  if (waiter.holds) door.clients.left(*waiter.holds);
  waiter.answer->end();
}

bool concerns(const State& state, JobNumber number, const std::vector<cluster::Key>& keys) {
  return std::any_of(keys.begin(), keys.end(), [&](const cluster::Key& key) {
    const auto* id = std::get_if<WorkloadId>(&key);
    if (!id) return false;
    if (const Array* array = find_array(state, *id)) return array->number == number;
    const Workload* w = find_workload(state, *id);
    return w && (w->number == number || w->array_number == number);
  });
}

// Reader's thread.
void tell(Door& door, const std::shared_ptr<Waiter>& waiter, const View& view) {
  const JobNews news = news_of(view, waiter->request.job);
  std::string line = codec::encode(news) + "\n";
  if (line == waiter->last) return;
  waiter->last = line;
  const bool last = news.phase == JobPhase::Ended || news.phase == JobPhase::Unknown ||
                    (waiter->request.start && news.phase == JobPhase::Running);
  door.loop.post([&door, waiter, line = std::move(line), last] {
    if (waiter->over) return;
    waiter->answer->write(line);
    if (last) end(door, *waiter);
  });
}

// The one who asks is the client of an allocation of his own, and stays.
std::optional<WorkloadId> held_allocation(const Door& door, const Identity& who,
                                          const slurm::WaitRequest& request) {
  const Workload* w = request.stays ? find_job(door.core.state(), request.job) : nullptr;
  if (!w || !w->spec->client_stays || w->spec->owner.uid != who.uid) return std::nullopt;
  return w->id;
}

void wait(Door& door, const Identity& who, const net::Request& request, const Answer& answer) {
  auto body = read_body<slurm::WaitRequest>(request, answer);
  if (!body) return;
  auto waiter = std::make_shared<Waiter>();
  waiter->request = *body;
  waiter->answer = answer;
  waiter->holds = held_allocation(door, who, *body);
  if (waiter->holds) door.clients.came(*waiter->holds);
  answer->begin_stream(200, "application/x-ndjson");
  answer->on_close([&door, waiter] { end(door, *waiter); });
  waiter->watch = door.reader.watch(
      0,
      [&door, waiter](const View& view, const Event&, const std::vector<cluster::Key>& keys,
                      std::uint64_t) {
        if (waiter->asked && concerns(view.state, waiter->request.job, keys))
          tell(door, waiter, view);
      },
      [] {});
  door.reader.ask(body->sequence, [&door, waiter](const View& view) {
    waiter->asked = true;
    const bool may_start_at_once =
        waiter->request.start && news_of(view, waiter->request.job).phase == JobPhase::Pending;
    if (!may_start_at_once) return tell(door, waiter, view);
    door.loop.post([&door, waiter] {
      waiter->timer = door.loop.after(kWorthSaying, [&door, waiter] {
        door.reader.ask(0, [&door, waiter](const View& later) { tell(door, waiter, later); });
      });
    });
  });
}

}  // namespace

void slurm_wait_routes(Router& router, Door& door) {
  router.add("/slurm/v1/wait", [&door](const Identity& who, const net::Request& request,
                                       const Answer& answer) { wait(door, who, request, answer); });
}

}  // namespace phalanx::server
