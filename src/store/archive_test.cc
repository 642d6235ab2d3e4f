#include "store/archive.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/sqlite_archive.h"
#include "store/sqlite_journal.h"
#include "store/test_support.h"

namespace phalanx::store {
namespace {

using Code = Error::Code;

ArchiveRow row(std::int64_t number, std::string user, std::string state, std::int64_t submit_ms,
               std::int64_t end_ms) {
  return {.key = "w" + std::to_string(number),
          .number = number,
          .user = std::move(user),
          .uid = 1000,
          .account = "physics",
          .partition = "gpu",
          .name = "train",
          .state = std::move(state),
          .submit_ms = submit_ms,
          .start_ms = submit_ms + 1,
          .end_ms = end_ms,
          .body = R"({"steps":[]})"};
}

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = SqliteArchive::open(directory_ / "archive");
    ASSERT_OK(opened);
    archive_ = std::move(*opened);
  }
  // The keys that a filter finds, in order.
  std::vector<std::string> find(const ArchiveFilter& filter) {
    auto found = archive_->query(filter);
    EXPECT_TRUE(found.ok()) << found.error().message;
    std::vector<std::string> keys;
    for (const ArchiveRow& each : *found) keys.push_back(each.key);
    return keys;
  }
  TemporaryDirectory directory_;
  std::unique_ptr<SqliteArchive> archive_;
};

using Keys = std::vector<std::string>;

TEST_F(ArchiveTest, ARowComesBackAsItWentIn) {
  ArchiveRow original = row(7, "anna", "COMPLETED", 100, 200);
  original.array_number = 5;
  original.array_index = 2;
  original.name = std::string("emoji \xf0\x9f\x90\xb1 and a zero \0 byte", 28);
  ASSERT_OK(archive_->put(std::span(&original, 1)));
  EXPECT_EQ(archive_->query({}).value(), std::vector{original});
}

TEST_F(ArchiveTest, TheSameKeyAgainReplaces) {
  const std::vector<ArchiveRow> first = {row(1, "anna", "FAILED", 100, 200)};
  const std::vector<ArchiveRow> again = {row(1, "anna", "COMPLETED", 100, 300)};
  ASSERT_OK(archive_->put(first));
  ASSERT_OK(archive_->put(again));
  ASSERT_OK(archive_->put(again));
  EXPECT_EQ(archive_->query({}).value(), again);
  EXPECT_EQ(archive_->count().value(), 1U);
}

TEST_F(ArchiveTest, FindsByEachCondition) {
  std::vector<ArchiveRow> rows = {
      row(3, "anna", "FAILED", 300, 400), row(1, "anna", "COMPLETED", 100, 200),
      row(2, "petr", "COMPLETED", 200, 900), row(11, "petr", "TIMEOUT", 500, 600),
      row(12, "petr", "COMPLETED", 500, 700)};
  rows[3].array_number = rows[4].array_number = 10;
  rows[3].array_index = 1;
  rows[4].array_index = 0;
  rows[0].partition = "cpu";
  rows[1].name = "it's";
  rows[2].account = "biology";
  ASSERT_OK(archive_->put(rows));
  const std::vector<std::pair<ArchiveFilter, Keys>> cases = {
      {{}, {"w1", "w2", "w3", "w11", "w12"}},
      {{.keys = {"w2", "w99"}}, {"w2"}},
      {{.numbers = {2, 3}}, {"w2", "w3"}},
      {{.numbers = {10}}, {"w11", "w12"}},
      {{.numbers = {0}}, {}},
      {{.users = {"anna"}}, {"w1", "w3"}},
      {{.users = {"anna", "petr"}, .states = {"COMPLETED"}}, {"w1", "w2", "w12"}},
      {{.accounts = {"biology"}}, {"w2"}},
      {{.partitions = {"cpu"}}, {"w3"}},
      {{.names = {"it's"}}, {"w1"}},
      {{.users = {"' OR 1 --"}}, {}},
      {{.from_ms = 300}, {"w2", "w3", "w11", "w12"}},
      {{.until_ms = 300}, {"w1", "w2"}},
      {{.from_ms = 201, .until_ms = 500}, {"w2", "w3"}},
      {{.limit = 2}, {"w1", "w2"}},
      {{.newest_first = true, .limit = 2}, {"w12", "w11"}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(find(cases[i].first), cases[i].second) << "case " << i;
}

TEST_F(ArchiveTest, RefusesMoreValuesThanADatabaseTakes) {
  ArchiveFilter filter;
  filter.numbers.assign(40'000, 1);
  EXPECT_EQ(archive_->query(filter).error().code, Code::Invalid);
}

TEST_F(ArchiveTest, PrunesWhatEndedBefore) {
  std::vector<ArchiveRow> rows;
  for (std::int64_t i = 1; i <= 5000; ++i) rows.push_back(row(i, "anna", "COMPLETED", i, i + 10));
  ASSERT_OK(archive_->put(rows));
  EXPECT_EQ(archive_->prune(4511).value(), 4500U);
  EXPECT_EQ(archive_->count().value(), 500U);
  EXPECT_EQ(find({.limit = 1}), Keys{"w4501"});
}

TEST_F(ArchiveTest, ReadersAndAWriterWorkAtOnce) {
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  readers.reserve(3);
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!done) {
        const auto found = archive_->query({.users = {"anna"}});
        ASSERT_TRUE(found.ok()) << found.error().message;
        ASSERT_EQ(found->size() % 10, 0U) << "half a commit was seen";
      }
    });
  for (std::int64_t commit = 0; commit < 20; ++commit) {
    std::vector<ArchiveRow> rows;
    rows.reserve(10);
    for (std::int64_t i = 0; i < 10; ++i)
      rows.push_back(row(commit * 10 + i, "anna", "COMPLETED", 1, 2));
    EXPECT_TRUE(archive_->put(rows).ok());
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(archive_->count().value(), 200U);
}

TEST_F(ArchiveTest, SurvivesReopeningAndABackupIsTheSame) {
  const std::vector<ArchiveRow> rows = {row(1, "anna", "COMPLETED", 100, 200)};
  ASSERT_OK(archive_->put(rows));
  ASSERT_OK(archive_->backup(directory_ / "copy"));
  EXPECT_EQ(archive_->backup(directory_ / "copy").error().code, Code::Conflict);
  archive_.reset();
  for (const char* name : {"archive", "copy"})
    EXPECT_EQ(SqliteArchive::open(directory_ / name).value()->query({}).value(), rows) << name;
}

TEST_F(ArchiveTest, AJournalIsNotAnArchive) {
  ASSERT_OK(SqliteJournal::open(directory_ / "journal", {.reserve_bytes = 4096}));
  const auto opened = SqliteArchive::open(directory_ / "journal");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::Invalid);
}

TEST_F(ArchiveTest, TextsAreKeptForTheirTime) {
  const Blob script = make_blob("#!/bin/sh\n"), environment = make_blob("A=1");
  ASSERT_OK(archive_->keep(std::vector{script}, 100, 0));
  ASSERT_OK(archive_->keep(std::vector{script, environment}, 300, 50));
  EXPECT_EQ(*archive_->text(script.id), script.bytes);
  ASSERT_OK(archive_->keep({}, 0, 200));
  EXPECT_EQ(*archive_->text(environment.id), environment.bytes);
  ASSERT_OK(archive_->keep({}, 0, 301));
  EXPECT_EQ(archive_->text(script.id).error().code, Code::NotFound);
}

}  // namespace
}  // namespace phalanx::store
