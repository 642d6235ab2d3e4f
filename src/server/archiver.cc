#include "server/archiver.h"

#include <cstdio>

#include "base/codec.h"

namespace phalanx::server {

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

Archiver::Archiver(net::Loop& loop, Core& core, store::Archive& archive)
    : loop_(loop), core_(core), archive_(archive) {
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
  wake_.notify_one();
}

void Archiver::catch_up() {
  for (const WorkloadId id : core_.state().unarchived) add(id);
}

void Archiver::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || !rows_.empty(); });
    if (rows_.empty()) return;
    const auto rows = std::exchange(rows_, {});
    auto ids = std::exchange(ids_, {});
    lock.unlock();
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
