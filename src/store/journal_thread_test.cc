#include "store/journal_thread.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/memory_journal.h"
#include "store/test_support.h"

namespace phalanx::store {
namespace {

using Code = Error::Code;

// The caller's loop: what is posted runs when the test says so, on the test's thread.
class Loop {
 public:
  JournalThread::Post post() {
    return [this](std::function<void()> call) {
      const std::lock_guard lock(mutex_);
      calls_.push_back(std::move(call));
      posted_.notify_one();
    };
  }
  void run(std::size_t calls) {
    for (std::size_t i = 0; i < calls; ++i) {
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [this] { return !calls_.empty(); });
      const auto call = std::move(calls_.front());
      calls_.pop_front();
      lock.unlock();
      call();
    }
  }
  std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return calls_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> calls_;
};

// Holds every append until the test opens the gate.
class GatedJournal final : public Journal {
 public:
  Status append(std::span<const Batch> batches) override {
    std::unique_lock lock(mutex_);
    groups_.push_back(batches.size());
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    return memory_.append(batches);
  }
  Result<Seq> read(Seq from, const Visitor& visit) override { return memory_.read(from, visit); }
  Result<std::string> blob(const BlobId& id) override { return memory_.blob(id); }
  Status save_snapshot(Seq seq, std::span<const std::string> chunks) override {
    return memory_.save_snapshot(seq, chunks);
  }
  Result<std::optional<Snapshot>> load_snapshot() override { return memory_.load_snapshot(); }
  Result<Seq> compact() override { return memory_.compact(); }

  void wait_for_an_append() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !groups_.empty(); });
  }
  void open_gate() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::vector<std::size_t> groups() {
    const std::lock_guard lock(mutex_);
    return groups_;
  }
  MemoryJournal& memory() { return memory_; }

 private:
  MemoryJournal memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> groups_;  // batches in each append
  bool open_ = false;
};

// Outcomes in the order in which they came: "3 ok", "4 unavailable".
struct Log {
  std::vector<std::string> lines;
  JournalThread::Done done(Seq seq) {
    return [this, seq](const Status& status) {
      const auto word = [&]() -> std::string {
        if (status.ok()) return "ok";
        return status.error().code == Code::Unavailable ? "unavailable" : "unknown";
      };
      lines.push_back(std::to_string(seq) + " " + word());
    };
  }
};

TEST(JournalThread, OutcomesComeInTheOrderOfTheBatches) {
  constexpr Seq kBatches = 500;
  MemoryJournal journal;
  Loop loop;
  Log log;
  std::vector<std::string> expected;
  {
    JournalThread thread(journal, loop.post(), {.queued_batches = kBatches});
    for (Seq seq = 1; seq <= kBatches; ++seq) {
      ASSERT_TRUE(thread.enqueue(batch(seq, {"e" + std::to_string(seq)}), log.done(seq)));
      expected.push_back(std::to_string(seq) + " ok");
    }
    loop.run(kBatches);
  }
  EXPECT_EQ(log.lines, expected);
  EXPECT_EQ(journal.last_seq().value(), kBatches);
}

TEST(JournalThread, WhatWaitsGoesIntoOneCommitUpToTheLimit) {
  GatedJournal journal;
  Loop loop;
  Log log;
  JournalThread thread(journal, loop.post(), {.queued_batches = 9, .commit_events = 6});
  ASSERT_TRUE(thread.enqueue(batch(1, {"first"}), log.done(1)));
  journal.wait_for_an_append();
  for (Seq seq = 2; seq <= 16; seq += 2)
    ASSERT_TRUE(thread.enqueue(batch(seq, {"a", "b"}), log.done(seq)));
  EXPECT_FALSE(thread.enqueue(batch(18, {"too many"}), log.done(18)));
  EXPECT_EQ(thread.waiting(), 9U);
  EXPECT_EQ(loop.waiting(), 0U) << "nothing is durable yet";
  journal.open_gate();
  loop.run(9);
  EXPECT_EQ(journal.groups(), (std::vector<std::size_t>{1, 3, 3, 2}));
  EXPECT_EQ(log.lines.front(), "1 ok");
  EXPECT_EQ(log.lines.back(), "16 ok");
}

TEST(JournalThread, ABatchOverTheLimitGoesAlone) {
  MemoryJournal journal;
  Loop loop;
  Log log;
  JournalThread thread(journal, loop.post(), {.commit_events = 1, .commit_bytes = 1});
  ASSERT_TRUE(thread.enqueue(batch(1, {"more", "than", "one"}, {make_blob("big")}), log.done(1)));
  loop.run(1);
  EXPECT_EQ(log.lines, std::vector<std::string>{"1 ok"});
}

TEST(JournalThread, AfterAFailureNothingIsWrittenUntilResumed) {
  GatedJournal journal;
  journal.memory().fail_next(AppendFailure::Refused);
  Loop loop;
  Log log;
  JournalThread thread(journal, loop.post());
  ASSERT_TRUE(thread.enqueue(batch(1, {"a"}), log.done(1)));
  journal.wait_for_an_append();
  ASSERT_TRUE(thread.enqueue(batch(2, {"b"}), log.done(2)));
  journal.open_gate();
  loop.run(2);
  ASSERT_TRUE(thread.enqueue(batch(3, {"c"}), log.done(3)));
  loop.run(1);
  EXPECT_EQ(log.lines,
            (std::vector<std::string>{"1 unavailable", "2 unavailable", "3 unavailable"}));
  EXPECT_EQ(journal.groups().size(), 1U);

  thread.resume();
  ASSERT_TRUE(thread.enqueue(batch(1, {"again"}), log.done(1)));
  loop.run(1);
  EXPECT_EQ(log.lines.back(), "1 ok");
  EXPECT_EQ(events_of(journal).value(), (Events{{1, "again"}}));
}

TEST(JournalThread, AnUnknownOutcomeIsReadBackAndThenItGoesOn) {
  MemoryJournal journal;
  journal.fail_next(AppendFailure::UnknownWritten);
  Loop loop;
  Log log;
  JournalThread thread(journal, loop.post());
  ASSERT_TRUE(thread.enqueue(batch(1, {"a", "b"}), log.done(1)));
  loop.run(1);
  EXPECT_EQ(log.lines.back(), "1 unknown");
  EXPECT_EQ(journal.last_seq().value(), 2U);
  thread.resume();
  ASSERT_TRUE(thread.enqueue(batch(3, {"c"}), log.done(3)));
  loop.run(1);
  EXPECT_EQ(log.lines.back(), "3 ok");
}

TEST(JournalThread, TheDestructorCommitsWhatWaits) {
  MemoryJournal journal;
  Loop loop;
  Log log;
  {
    JournalThread thread(journal, loop.post());
    for (Seq seq = 1; seq <= 20; ++seq)
      ASSERT_TRUE(thread.enqueue(batch(seq, {"e"}), log.done(seq)));
  }
  EXPECT_EQ(journal.last_seq().value(), 20U);
  loop.run(20);
  EXPECT_EQ(log.lines.size(), 20U);
}

}  // namespace
}  // namespace phalanx::store
