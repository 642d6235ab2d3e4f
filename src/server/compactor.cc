#include "server/compactor.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "server/server.h"
#include "server/snapshot.h"

namespace phalanx::server {
namespace {

Result<pid_t> spawn_program(const std::string& program, std::vector<std::string> words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv.data(), environ);
  if (error != 0) return unavailable(format("cannot start {}: {}", program, std::strerror(error)));
  return pid;
}

std::string how_it_ended(int status) {
  return WIFSIGNALED(status) ? format("killed by signal {}", WTERMSIG(status))
                             : format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

Compactor::Compactor(net::Loop& loop, store::Journal& journal, Reader& reader,
                     CompactorOptions options)
    : loop_(loop), journal_(journal), reader_(reader), options_(std::move(options)) {}

// A child that still runs goes with the process, or saves its snapshot; both are right.
Compactor::~Compactor() {
  if (deleting_.joinable()) deleting_.join();
}

void Compactor::add(std::uint64_t events, std::uint64_t bytes) {
  events_ += events;
  bytes_ += bytes;
  if (!running_ && (events_ >= options_.after_events || bytes_ >= options_.after_bytes)) start();
}

// The readers' State is as good as the deciding one, and it is all on disk.
void Compactor::start(Done done) {
  if (done) waiting_.push_back(std::move(done));
  if (running_) return;
  running_ = true;
  events_ = bytes_ = 0;
  reader_.ask(0, [this, &loop = loop_](const View& view) {
    loop.post(
        [this, at = view.state.sequence, print = fingerprint(view.state)] { spawn(at, print); });
  });
}

void Compactor::spawn(store::Seq at, const std::string& fingerprint) {
  at_ = at;
  auto child =
      spawn_program(options_.program,
                    {"phalanx", "compact", "--state=" + options_.state_dir, format("--at={}", at),
                     "--expect=" + fingerprint, format("--parent={}", ::getpid())});
  if (!child.ok()) return finish(child.error());
  child_ = *child;
}

void Compactor::child_ended() {
  int status = 0;
  if (child_ == 0 || ::waitpid(child_, &status, WNOHANG) != child_) return;
  child_ = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return saved();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCompactMismatch) {
    ++counters_.mismatches;
    return finish(conflict(
        format("the journal does not replay to the state that the controller has at event {}: "
               "nothing was deleted",
               at_)));
  }
  finish(internal(format("`phalanx compact` did not make a snapshot of event {} ({})", at_,
                         how_it_ended(status))));
}

void Compactor::saved() {
  if (deleting_.joinable()) deleting_.join();  // of the last time, long over
  deleting_ = std::thread([this] {
    const Result<store::Seq> first = journal_.compact();
    loop_.post([this, first] {
      if (!first.ok()) return finish(first.error());
      ++counters_.snapshots;
      counters_.last = at_;
      std::fprintf(stderr,
                   "phalanx: snapshot of event %llu made, the journal starts at event %llu\n",
                   static_cast<unsigned long long>(at_), static_cast<unsigned long long>(*first));
      finish(at_);
    });
  });
}

void Compactor::finish(const Result<store::Seq>& outcome) {
  running_ = false;
  if (!outcome.ok()) {
    ++counters_.failures;
    std::fprintf(stderr, "phalanx: %s\n", outcome.error().message.c_str());
  }
  for (const Done& done : std::exchange(waiting_, {})) done(outcome);
}

}  // namespace phalanx::server
