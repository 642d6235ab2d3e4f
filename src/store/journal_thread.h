// Commits on a thread of its own, so that the core decides the next batch while the last one goes
// to disk. Batches wait in a bounded queue; everything that waits, up to a limit, goes into one
// commit. Outcomes come back in the order of the batches, each through `post`, which must run what
// it is given on the caller's loop, in order.
//
// After a failed commit the state of the caller is ahead of the journal: every batch that waits,
// and every later one, fails with it, until the caller has rebuilt its state and calls resume().
//
// Threads: enqueue, resume and waiting from any thread. The journal and `post` must outlive this
// object; its destructor commits what waits, posts the outcomes and ends the thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "store/journal.h"

namespace phalanx::store {

struct JournalThreadLimits {
  std::size_t queued_batches = 64;
  std::size_t commit_events = 8192;
  std::size_t commit_bytes = 8U << 20U;  // events and blobs; a bigger batch goes alone
};

class JournalThread {
 public:
  using Post = std::function<void(std::function<void()>)>;
  using Done = std::function<void(const Status&)>;

  JournalThread(Journal& journal, Post post, JournalThreadLimits limits = {});
  ~JournalThread();
  JournalThread(const JournalThread&) = delete;
  JournalThread& operator=(const JournalThread&) = delete;

  // False, and nothing taken, when the queue is full: wait for an outcome first.
  [[nodiscard]] bool enqueue(Batch&& batch, Done done);
  void resume();
  std::size_t waiting() const;  // batches whose outcome is not posted yet

 private:
  void run();
  // Takes the batches of the next commit from the queue.
  void take_group(std::vector<Batch>& batches, std::vector<Done>& dones);

  Journal& journal_;
  const Post post_;
  const JournalThreadLimits limits_;

  mutable std::mutex mutex_;  // guards everything below but the thread
  std::condition_variable wake_;
  std::deque<Batch> batches_;
  std::deque<Done> dones_;  // of batches_
  std::size_t in_commit_ = 0;
  bool failed_ = false;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace phalanx::store
