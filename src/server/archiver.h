// Writes finished work to the archive and tells the core that it is there, so that it may leave
// State. What such work would need to run again is kept there too, for MinJobAge. Idempotent: after
// a crash the same rows are written again under the same keys. If the archive is down, the tail
// stays in State and is tried again; running work is not touched.
//
// Loop thread; the writes run on a thread of its own.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "server/core.h"

namespace phalanx::server {

class Archiver {
 public:
  Archiver(net::Loop& loop, Core& core, store::Archive& archive, store::Journal& journal);
  ~Archiver();

  void add(WorkloadId id);
  void catch_up();  // everything that State says is not archived yet

 private:
  void run();
  void keep_texts(const std::vector<store::BlobId>& ids, Duration age);

  net::Loop& loop_;
  Core& core_;
  store::Archive& archive_;
  store::Journal& journal_;
  std::map<store::BlobId, Time> kept_;  // until when; of the thread
  std::mutex mutex_;                    // guards the five below
  std::vector<store::ArchiveRow> rows_;
  std::vector<WorkloadId> ids_;
  std::vector<store::BlobId> texts_;  // of the rows that may run again
  Duration age_{};                    // how long after its end
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

// The row of a finished workload, its whole record in the body.
store::ArchiveRow archive_row(const Workload& w);

}  // namespace phalanx::server
