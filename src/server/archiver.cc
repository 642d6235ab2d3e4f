#include "server/archiver.h"

#include <cstdio>

#include "base/codec.h"

namespace phalanx::server {
namespace {

constexpr Duration kLongestAge = hours(24 * 7);  // texts are not kept longer

}  // namespace

store::ArchiveRow archive_row(const Workload& w) {
  store::ArchiveRow row;
  row.key = std::to_string(w.id.value);
  row.number = w.number;
  row.array_number = w.array_number;
  row.array_index = w.array_number == 0 ? -1 : static_cast<std::int64_t>(w.array_index);
  row.user = w.spec->owner.user;
  row.uid = w.spec->owner.uid;
  row.account = w.spec->account;
  row.partition = w.spec->partition;
  row.name = w.spec->name;
  row.state = boost::describe::enum_to_string(w.end.cause, "");
  row.submit_ms = unix_ms(w.submitted);
  row.start_ms = w.past.empty() ? 0 : unix_ms(w.past.back().launched);
  row.end_ms = unix_ms(w.ended);
  row.body = codec::encode(w);
  return row;
}

Archiver::Archiver(net::Loop& loop, Core& core, store::Archive& archive, store::Journal& journal)
    : loop_(loop), core_(core), archive_(archive), journal_(journal) {
  thread_ = std::thread([this] { run(); });
}

Archiver::~Archiver() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Archiver::add(WorkloadId id) {
  const Workload* w = find_workload(core_.state(), id);
  if (!w) return;
  const std::lock_guard lock(mutex_);
  rows_.push_back(archive_row(*w));
  ids_.push_back(id);
  age_ = std::min<Duration>(core_.state().config.timers.min_job_age, kLongestAge);
  if (w->spec->kind == WorkloadKind::batch && w->spec->requeue)
    for (const std::string* text : {&w->spec->launch.script, &w->spec->launch.environment})
      if (!text->empty()) texts_.push_back(*text);
  wake_.notify_one();
}

void Archiver::catch_up() {
  for (const WorkloadId id : core_.state().unarchived) add(id);
}

// Most jobs have texts that others have too: each is written again only when half of its time is
// over. The journal has them until the core has heard that the rows are here.
void Archiver::keep_texts(const std::vector<store::BlobId>& ids, Duration age) {
  const Time now = net::wall_now();
  std::vector<store::Blob> missing;
  for (const store::BlobId& id : ids) {
    const auto it = kept_.find(id);
    if (it != kept_.end() && it->second >= later(now, age)) continue;
    kept_[id] = later(now, 2 * age);
    if (auto bytes = journal_.blob(id); bytes.ok()) missing.push_back({id, std::move(*bytes)});
  }
  std::erase_if(kept_, [&](const auto& entry) { return entry.second < now; });
  if (missing.empty()) return;
  const Status status = archive_.keep(missing, unix_ms(later(now, 2 * age)), unix_ms(now));
  if (status.ok()) return;
  kept_.clear();
  std::fprintf(stderr, "phalanx: finished jobs cannot be requeued: %s\n",
               status.error().message.c_str());
}

void Archiver::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || !rows_.empty(); });
    if (rows_.empty()) return;
    const auto rows = std::exchange(rows_, {});
    auto ids = std::exchange(ids_, {});
    const auto texts = std::exchange(texts_, {});
    const Duration age = age_;
    lock.unlock();
    keep_texts(texts, age);
    const Status status = archive_.put(rows);
    store::crash_point("after-archive");
    lock.lock();
    if (status.ok()) {
      loop_.post([this, ids = std::move(ids)]() mutable {
        core_.put(system_identity(), ArchiveHas{std::move(ids)});
      });
    } else {
      std::fprintf(stderr, "phalanx: the archive does not take finished jobs: %s\n",
                   status.error().message.c_str());
      rows_.insert(rows_.begin(), rows.begin(), rows.end());
      ids_.insert(ids_.begin(), ids.begin(), ids.end());
      wake_.wait_for(lock, std::chrono::seconds(5), [&] { return stopping_; });
      if (stopping_) return;
    }
  }
}

}  // namespace phalanx::server
