// The contract of journal.h, held against every journal; and the failures that MemoryJournal has on
// demand.
#include "store/journal.h"

#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "store/checksum.h"
#include "store/memory_journal.h"
#include "store/sqlite_journal.h"
#include "store/test_support.h"

namespace phalanx::store {
namespace {

using Code = Error::Code;

TEST(Checksum, IsCrc32c) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);  // the check value of the standard
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("56789", crc32c("1234")), crc32c("123456789"));
  EXPECT_NE(row_checksum(1, "event"), row_checksum(2, "event"));
}

TEST(Blob, IsNamedByItsContent) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(make_blob("abc").id, sha256_hex("abc"));
}

enum class Kind { Memory, Sqlite };

class JournalContract : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::Memory) {
      journal_ = std::make_unique<MemoryJournal>();
      return;
    }
    auto opened = SqliteJournal::open(directory_ / "journal", {.reserve_bytes = 4096});
    ASSERT_OK(opened);
    journal_ = std::move(*opened);
  }
  Journal& journal() { return *journal_; }

  TemporaryDirectory directory_;
  std::unique_ptr<Journal> journal_;
};

TEST_P(JournalContract, AYoungJournalIsEmpty) {
  EXPECT_EQ(journal().last_seq().value(), 0U);
  EXPECT_EQ(events_of(journal()).value(), Events{});
  EXPECT_FALSE(journal().load_snapshot().value().has_value());
  EXPECT_EQ(journal().compact().value(), 1U);
}

TEST_P(JournalContract, GivesBackWhatWasAppendedInOrder) {
  const std::string binary("\0\xff{\n", 4);
  ASSERT_OK(append(journal(), batch(1, {"one", "", binary})));
  const std::vector<Batch> two = {batch(4, {"four"}), batch(5, {"five", "six"})};
  ASSERT_OK(journal().append(two));
  EXPECT_EQ(events_of(journal()).value(),
            (Events{{1, "one"}, {2, ""}, {3, binary}, {4, "four"}, {5, "five"}, {6, "six"}}));
  EXPECT_EQ(events_of(journal(), 5).value(), (Events{{5, "five"}, {6, "six"}}));
  EXPECT_EQ(events_of(journal(), 7).value(), Events{});
  EXPECT_EQ(journal().last_seq().value(), 6U);
}

TEST_P(JournalContract, RefusesAGapOrARepetition) {
  ASSERT_OK(append_range(journal(), 1, 3));
  for (const Seq first : {Seq{1}, Seq{3}, Seq{5}})
    EXPECT_EQ(append(journal(), batch(first, {"x"})).error().code, Code::Conflict) << first;
  const std::vector<Batch> gap = {batch(4, {"four"}), batch(6, {"six"})};
  EXPECT_EQ(journal().append(gap).error().code, Code::Conflict);
  EXPECT_EQ(journal().last_seq().value(), 3U);
  ASSERT_OK(append_range(journal(), 4, 4));
}

TEST_P(JournalContract, StopsReadingAtTheVisitorsError) {
  ASSERT_OK(append_range(journal(), 1, 5));
  int visited = 0;
  const auto outcome = journal().read(1, [&](Seq seq, std::string_view) -> Status {
    ++visited;
    if (seq == 3) return invalid("no such event type");
    return {};
  });
  EXPECT_EQ(outcome.error().message, "no such event type");
  EXPECT_EQ(visited, 3);
}

TEST_P(JournalContract, KeepsBlobsUntilTheyAreDropped) {
  const Blob script = make_blob("#!/bin/sh\n");
  const Blob empty = make_blob("");
  ASSERT_OK(append(journal(), batch(1, {"a"}, {script, empty})));
  ASSERT_OK(append(journal(), batch(2, {"b"}, {script})));  // the same content once more
  EXPECT_EQ(journal().blob(script.id).value(), script.bytes);
  EXPECT_EQ(journal().blob(empty.id).value(), "");
  ASSERT_OK(append(journal(), batch(3, {"c"}, {}, {script.id, "never stored"})));
  EXPECT_EQ(journal().blob(script.id).error().code, Code::NotFound);
  EXPECT_EQ(journal().blob(empty.id).value(), "");
}

TEST_P(JournalContract, ABlobDroppedAndStoredInOneBatchStays) {
  const Blob script = make_blob("echo");
  ASSERT_OK(append(journal(), batch(1, {"a"}, {script})));
  ASSERT_OK(append(journal(), batch(2, {"b"}, {script}, {script.id})));
  EXPECT_EQ(journal().blob(script.id).value(), "echo");
}

TEST_P(JournalContract, LoadsTheNewestSnapshot) {
  ASSERT_OK(append_range(journal(), 1, 10));
  const std::vector<std::string> four = {"state", "of", "", "four"};
  const std::vector<std::string> nine = {std::string(100'000, 'x')};
  ASSERT_OK(journal().save_snapshot(9, nine));
  ASSERT_OK(journal().save_snapshot(4, four));
  const auto snapshot = journal().load_snapshot().value();
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(snapshot->seq, 9U);
  EXPECT_EQ(snapshot->chunks, nine);
  EXPECT_EQ(snapshot->warnings, std::vector<std::string>{});
}

TEST_P(JournalContract, RefusesASnapshotOfWhatIsNotDurable) {
  ASSERT_OK(append_range(journal(), 1, 3));
  for (const Seq seq : {Seq{0}, Seq{4}})
    EXPECT_EQ(journal().save_snapshot(seq, {}).error().code, Code::Invalid);
}

TEST_P(JournalContract, CompactsToTheOlderOfTwoSnapshots) {
  ASSERT_OK(append_range(journal(), 1, 10));
  const std::vector<std::string> state = {"state"};
  ASSERT_OK(journal().save_snapshot(4, state));
  EXPECT_EQ(journal().compact().value(), 1U) << "one snapshot is not enough";
  ASSERT_OK(journal().save_snapshot(6, state));
  ASSERT_OK(journal().save_snapshot(9, state));
  EXPECT_EQ(journal().compact().value(), 7U);
  EXPECT_EQ(journal().compact().value(), 7U) << "again changes nothing";
  EXPECT_EQ(events_of(journal(), 7).value().size(), 4U);
  EXPECT_EQ(events_of(journal(), 6).error().code, Code::NotFound);
  EXPECT_EQ(events_of(journal(), 1).error().code, Code::NotFound);
  ASSERT_OK(append_range(journal(), 11, 12));
  EXPECT_EQ(journal().load_snapshot().value()->seq, 9U);
}

TEST_P(JournalContract, CountsOnWhenCompactionTookEveryEvent) {
  ASSERT_OK(append_range(journal(), 1, 3));
  const std::vector<std::string> state = {"state"};
  ASSERT_OK(journal().save_snapshot(3, state));
  ASSERT_OK(append_range(journal(), 4, 4));
  ASSERT_OK(journal().save_snapshot(4, state));
  EXPECT_EQ(journal().compact().value(), 4U);
  EXPECT_EQ(journal().last_seq().value(), 4U);
  ASSERT_OK(append_range(journal(), 5, 5));
  EXPECT_EQ(events_of(journal(), 4).value(), (Events{{4, "e4"}, {5, "e5"}}));
}

INSTANTIATE_TEST_SUITE_P(All, JournalContract, testing::Values(Kind::Memory, Kind::Sqlite),
                         [](const auto& one) {
                           return one.param == Kind::Memory ? "Memory" : "Sqlite";
                         });

TEST(MemoryJournal, RefusesOnDemandAndGoesOn) {
  MemoryJournal journal;
  journal.fail_next(AppendFailure::Refused);
  EXPECT_EQ(append_range(journal, 1, 2).error().code, Code::Unavailable);
  EXPECT_EQ(journal.last_seq().value(), 0U);
  EXPECT_TRUE(append_range(journal, 1, 2).ok());
}

TEST(MemoryJournal, AfterAnUnknownOutcomeWantsToBeReadBack) {
  const std::vector<std::tuple<AppendFailure, Seq>> cases = {{AppendFailure::UnknownLost, 1},
                                                             {AppendFailure::UnknownWritten, 5},
                                                             {AppendFailure::UnknownTorn, 3}};
  for (const auto& [failure, last] : cases) {
    MemoryJournal journal;
    ASSERT_OK(append_range(journal, 1, 1));
    journal.fail_next(failure);
    const std::vector<Batch> batches = {batch(2, {"a", "b"}), batch(4, {"c", "d"})};
    EXPECT_EQ(journal.append(batches).error().code, Code::Internal);
    EXPECT_EQ(journal.append(batches).error().code, Code::Internal) << "not read back yet";
    EXPECT_EQ(journal.last_seq().value(), last);
    EXPECT_TRUE(append(journal, batch(last + 1, {"next"})).ok());
  }
}

TEST(MemoryJournal, PassesOverADamagedSnapshot) {
  MemoryJournal journal;
  ASSERT_OK(append_range(journal, 1, 9));
  for (const Seq seq : {Seq{3}, Seq{6}, Seq{9}}) ASSERT_OK(journal.save_snapshot(seq, {}));
  journal.damage_snapshot(9);
  EXPECT_EQ(journal.load_snapshot().value()->seq, 6U);
  EXPECT_EQ(journal.load_snapshot().value()->warnings.size(), 1U);
  EXPECT_EQ(journal.compact().value(), 4U) << "counts only whole ones";
  journal.damage_snapshot(3);
  journal.damage_snapshot(6);
  EXPECT_EQ(journal.load_snapshot().error().code, Code::Internal);
}

}  // namespace
}  // namespace phalanx::store
