#include "store/journal_thread.h"

#include <utility>

namespace phalanx::store {
namespace {

std::size_t size_of(const Batch& batch) {
  std::size_t bytes = 0;
  for (const std::string& event : batch.events) bytes += event.size();
  for (const Blob& blob : batch.blobs) bytes += blob.bytes.size();
  return bytes;
}

}  // namespace

JournalThread::JournalThread(Journal& journal, Post post, JournalThreadLimits limits)
    : journal_(journal), post_(std::move(post)), limits_(limits), thread_([this] { run(); }) {}

JournalThread::~JournalThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool JournalThread::enqueue(Batch&& batch, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (batches_.size() + in_commit_ >= limits_.queued_batches) return false;
    batches_.push_back(std::move(batch));
    dones_.push_back(std::move(done));
  }
  wake_.notify_one();
  return true;
}

void JournalThread::resume() {
  const std::lock_guard lock(mutex_);
  failed_ = false;
}

std::size_t JournalThread::waiting() const {
  const std::lock_guard lock(mutex_);
  return batches_.size() + in_commit_;
}

void JournalThread::take_group(std::vector<Batch>& batches, std::vector<Done>& dones) {
  std::size_t events = 0;
  std::size_t bytes = 0;
  while (!batches_.empty()) {
    events += batches_.front().events.size();
    bytes += size_of(batches_.front());
    if (!batches.empty() && (events > limits_.commit_events || bytes > limits_.commit_bytes)) break;
    batches.push_back(std::move(batches_.front()));
    dones.push_back(std::move(dones_.front()));
    batches_.pop_front();
    dones_.pop_front();
  }
  in_commit_ = batches.size();
}

void JournalThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !batches_.empty(); });
    if (batches_.empty()) return;
    std::vector<Batch> batches;
    std::vector<Done> dones;
    take_group(batches, dones);
    Status status = unavailable("an earlier change could not be saved; try again");
    if (!failed_) {
      lock.unlock();
      status = journal_.append(batches);
      lock.lock();
      failed_ = !status.ok();
    }
    lock.unlock();
    for (Done& done : dones) post_([done = std::move(done), status] { done(status); });
    lock.lock();
    in_commit_ = 0;
  }
}

}  // namespace phalanx::store
