// What a kill leaves behind. A child process writes through the journal thread and tells each
// outcome down a pipe; it dies at a named point. The parent opens the journal and compares: every
// acknowledged batch is there, the rest is there as a whole or not at all.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.h"
#include "store/journal_thread.h"
#include "store/sqlite_journal.h"
#include "store/test_support.h"

namespace phalanx::store {
namespace {

constexpr Seq kBatches = 40;
constexpr Seq kBatchSize = 5;

Batch numbered_batch(Seq number) {
  const Seq first = (number - 1) * kBatchSize + 1;
  std::vector<std::string> events;
  for (Seq seq = first; seq < first + kBatchSize; ++seq) events.push_back(format("e{}", seq));
  return batch(first, std::move(events), {make_blob(format("blob of batch {}", number))});
}

// Runs in the child. Each acknowledged batch is one byte in the pipe.
[[noreturn]] void write_batches(const std::string& path, int pipe_end) {
  auto journal = SqliteJournal::open(path, {.reserve_bytes = 4096});
  if (!journal.ok()) _exit(3);
  {
    JournalThread thread(**journal, [](const std::function<void()>& call) { call(); },
                         {.queued_batches = 4});
    for (Seq number = 1; number <= kBatches;) {
      const auto tell = [&](const Status& status) {
        if (!status.ok() || ::write(pipe_end, "+", 1) != 1) _exit(4);
      };
      if (thread.enqueue(numbered_batch(number), tell)) ++number;
    }
  }
  _exit(0);
}

// Runs `body` in a child with the crash point set; returns what it wrote to the pipe. Fails the
// test unless the child was killed.
template <class Body>
std::string output_of_killed_child(const std::string& crash_at, const Body& body) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::setenv("PHALANX_CRASH_AT", crash_at.c_str(), 1);
    body(ends[1]);
    _exit(0);
  }
  ::close(ends[1]);
  std::string output;
  char byte = 0;
  while (::read(ends[0], &byte, 1) == 1) output.push_back(byte);
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
  return output;
}

class CrashTest : public testing::TestWithParam<const char*> {};

TEST_P(CrashTest, LosesNothingAcknowledgedAndTearsNoBatch) {
  const TemporaryDirectory directory;
  const std::string path = directory / "journal";
  const std::string told =
      output_of_killed_child(GetParam(), [&](int end) { write_batches(path, end); });

  auto journal = SqliteJournal::open(path, {.reserve_bytes = 4096});
  ASSERT_OK(journal);
  const Events events = events_of(**journal).value();
  ASSERT_EQ(events.size() % kBatchSize, 0U) << "a batch is torn";
  const Seq there = events.size() / kBatchSize;
  EXPECT_GE(there, told.size()) << "an acknowledged batch is lost";
  for (Seq seq = 1; seq <= events.size(); ++seq)
    EXPECT_EQ(events[seq - 1].second, format("e{}", seq));
  for (Seq number = 1; number <= kBatches; ++number) {
    const Blob blob = numbered_batch(number).blobs.front();
    EXPECT_EQ((*journal)->blob(blob.id).ok(), number <= there) << number;
  }
  EXPECT_TRUE((*journal)->append(std::vector<Batch>{numbered_batch(there + 1)}).ok());
}

INSTANTIATE_TEST_SUITE_P(Points, CrashTest,
                         testing::Values("before-append", "before-append:4", "mid-transaction",
                                         "mid-transaction:7", "after-append", "after-append:5"),
                         [](const auto& one) {
                           std::string name = one.param;
                           for (char& c : name)
                             if (c == '-' || c == ':') c = '_';
                           return name;
                         });

TEST(CrashTest, AnUnfinishedSnapshotIsNotSeenAndGoesAway) {
  const TemporaryDirectory directory;
  const std::string path = directory / "journal";
  const std::vector<std::string> state = {"state"};
  output_of_killed_child("before-rename:2", [&](int) {
    auto journal = SqliteJournal::open(path, {.reserve_bytes = 4096});
    if (!append_range(**journal, 1, 9).ok() || !(*journal)->save_snapshot(5, state).ok()) _exit(3);
    if (!(*journal)->save_snapshot(9, state).ok()) _exit(4);
  });
  ASSERT_TRUE(std::filesystem::exists(path + "-snapshot-9.new"));
  auto journal = SqliteJournal::open(path, {.reserve_bytes = 4096});
  ASSERT_OK(journal);
  EXPECT_EQ((*journal)->load_snapshot().value()->seq, 5U);
  EXPECT_FALSE(std::filesystem::exists(path + "-snapshot-9.new"));
}

TEST(CrashTest, AnInterruptedCompactionIsFinishedLater) {
  const TemporaryDirectory directory;
  const std::string path = directory / "journal";
  output_of_killed_child("mid-compact:2", [&](int) {
    auto journal = SqliteJournal::open(path, {.reserve_bytes = 4096});
    if (!append_range(**journal, 1, 9000).ok()) _exit(3);
    if (!(*journal)->save_snapshot(8000, {}).ok() || !(*journal)->save_snapshot(9000, {}).ok())
      _exit(4);
    if (!(*journal)->compact().ok()) _exit(5);
  });
  auto journal = SqliteJournal::open(path, {.reserve_bytes = 4096});
  ASSERT_OK(journal);
  EXPECT_EQ(events_of(**journal, 4000).error().code, Error::Code::NotFound);
  EXPECT_EQ(events_of(**journal, 4001).value().size(), 5000U);
  EXPECT_EQ((*journal)->compact().value(), 8001U);
  EXPECT_EQ((*journal)->last_seq().value(), 9000U);
}

}  // namespace
}  // namespace phalanx::store
