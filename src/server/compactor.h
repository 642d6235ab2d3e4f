// Keeps the journal short: when enough has happened since the last snapshot, a child process
// (`phalanx compact --at N --expect FINGERPRINT`) replays the journal up to event N and saves the
// next one, if its State has the fingerprint that the readers' State had at N. Then, on a thread of
// its own, the events that no snapshot needs any more are deleted, a few at a time between commits.
//
// The controller neither forks nor copies State, and the loop waits for nothing. A child that fails
// or that comes to another State changes nothing: the snapshots and events stay, the log and
// /metrics tell, and it is tried again when as much has happened once more.
//
// Loop thread. What it is given must outlive it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "server/core.h"
#include "server/reader.h"

namespace phalanx::server {

struct CompactorOptions {
  std::string program = "/proc/self/exe";  // this very version, also after an upgrade on disk
  std::string state_dir;
  std::uint64_t after_events = 200'000;
  std::uint64_t after_bytes = std::uint64_t{64} << 20;
};

class Compactor {
 public:
  // The number of the event of which there is a snapshot now.
  using Done = std::function<void(const Result<store::Seq>&)>;

  Compactor(net::Loop& loop, store::Journal& journal, Reader& reader, CompactorOptions options);
  ~Compactor();

  // How much there is after the snapshot: what recovery found, then each batch.
  void add(std::uint64_t events, std::uint64_t bytes);
  // Now, by hand; joins the one that runs.
  void start(Done done = {});
  void child_ended();  // after SIGCHLD: looks whether it was ours

  struct Counters {
    std::uint64_t snapshots = 0, failures = 0, mismatches = 0;
    store::Seq last = 0;  // the newest snapshot of this process's life
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  void spawn(store::Seq at, const std::string& fingerprint);
  void saved();
  void finish(const Result<store::Seq>& outcome);

  net::Loop& loop_;
  store::Journal& journal_;
  Reader& reader_;
  CompactorOptions options_;
  std::uint64_t events_ = 0, bytes_ = 0;  // since the last snapshot or the last try
  bool running_ = false;
  store::Seq at_ = 0;  // of the one that runs
  pid_t child_ = 0;
  std::vector<Done> waiting_;
  std::thread deleting_;
  Counters counters_;
};

}  // namespace phalanx::server
