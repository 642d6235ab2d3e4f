// What only the SQLite journal can suffer: damaged and missing files, other openers, other
// versions, a full disk.
#include "store/sqlite_journal.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/text.h"
#include "store/test_support.h"

namespace phalanx::store {
namespace {

using Code = Error::Code;

constexpr SqliteJournalOptions kSmall{.reserve_bytes = 4096};

class SqliteJournalTest : public testing::Test {
 protected:
  void open() {
    auto opened = SqliteJournal::open(path_, kSmall);
    ASSERT_OK(opened);
    journal_ = std::move(*opened);
  }
  void close() {
    journal_.reset();
  }  // the last connection: SQLite empties its log into the database
  void sql(const std::string& text) {
    Connection connection = Connection::open(path_, Access::ReadWrite).value();
    ASSERT_OK(connection.exec(text.c_str()));
  }
  Error error_at_open() {
    auto opened = SqliteJournal::open(path_, kSmall);
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? Error{} : opened.error();
  }
  // The files of the open journal, as a power cut now would leave them.
  std::string cut_power(const std::string& name) {
    const std::string copy = directory_ / name;
    for (const char* suffix : {"", "-wal", "-acknowledged"})
      std::filesystem::copy_file(path_ + suffix, copy + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
    return copy;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "journal";
  std::unique_ptr<SqliteJournal> journal_;
};

#define EXPECT_SAYS(error, part) \
  EXPECT_NE((error).message.find(part), std::string::npos) << (error).message

TEST_F(SqliteJournalTest, GoesOnAfterReopening) {
  open();
  const Blob script = make_blob("#!/bin/sh");
  ASSERT_OK(append(*journal_, batch(1, {"a", "b"}, {script})));
  close();
  open();
  EXPECT_EQ(events_of(*journal_).value(), (Events{{1, "a"}, {2, "b"}}));
  EXPECT_EQ(journal_->blob(script.id).value(), script.bytes);
  ASSERT_OK(append(*journal_, batch(3, {"c"})));
}

TEST_F(SqliteJournalTest, FilesBelongToTheirOwnerAlone) {
  open();
  ASSERT_OK(append_range(*journal_, 1, 1));
  ASSERT_OK(journal_->save_snapshot(1, {}));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "")) {
    struct stat status{};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 7);
}

TEST_F(SqliteJournalTest, ASecondControllerIsRefused) {
  open();
  const Error error = error_at_open();
  EXPECT_EQ(error.code, Code::Conflict);
  EXPECT_SAYS(error, format("in use by process {}", ::getpid()));
  close();
  open();
}

// A controller that was killed lets go when the kernel has torn it down; its successor may be
// faster.
TEST_F(SqliteJournalTest, OneThatIsAboutToGoIsWaitedFor) {
  open();
  int told = 0;
  const auto opened = SqliteJournal::open(path_, kSmall, {seconds(600), [&](const Error& held) {
                                                            EXPECT_SAYS(held, "in use by process");
                                                            ++told;
                                                            close();
                                                          }});
  ASSERT_OK(opened);
  EXPECT_EQ(told, 1);
}

TEST_F(SqliteJournalTest, OneThatStaysIsNotWaitedForForEver) {
  open();
  const auto opened = SqliteJournal::open(path_, kSmall, {milliseconds(30), {}});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::Conflict);
}

TEST_F(SqliteJournalTest, AReaderBesideTheControllerSeesCommitsAndSavesSnapshots) {
  open();
  ASSERT_OK(append_range(*journal_, 1, 3));
  const auto beside = SqliteJournal::open_beside(path_).value();
  EXPECT_EQ(beside->last_seq().value(), 3U);
  ASSERT_OK(append_range(*journal_, 4, 5));
  EXPECT_EQ(events_of(*beside, 4).value(), (Events{{4, "e4"}, {5, "e5"}}));
  const std::vector<std::string> state = {"state"};
  ASSERT_OK(beside->save_snapshot(5, state));
  EXPECT_EQ(journal_->load_snapshot().value()->chunks, state);
  EXPECT_EQ(append_range(*beside, 6, 6).error().code, Code::Invalid);
  EXPECT_EQ(beside->compact().error().code, Code::Invalid);
}

TEST_F(SqliteJournalTest, ReadsAndCommitsAtOnce) {
  open();
  ASSERT_OK(append(*journal_, batch(1, {"first"}, {make_blob("script")})));
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      EXPECT_TRUE(events_of(*journal_).ok());
      EXPECT_TRUE(journal_->blob(sha256_hex("script")).ok());
    }
  });
  for (Seq seq = 2; seq <= 50; ++seq) EXPECT_TRUE(append_range(*journal_, seq, seq).ok());
  done = true;
  reader.join();
}

TEST_F(SqliteJournalTest, AFlippedBitInAnEventIsFoundAndNamed) {
  open();
  ASSERT_OK(append(*journal_, batch(1, {"first", "the second event", "third"})));
  close();
  flip_bit_in(path_, "the second event");
  open();
  const Error error = events_of(*journal_).error();
  EXPECT_EQ(error.code, Code::Internal);
  EXPECT_SAYS(error, "event 2 of the journal");
  EXPECT_SAYS(error, "restore a backup");
  EXPECT_EQ(events_of(*journal_, 3).value(), (Events{{3, "third"}})) << "nothing was changed";
}

TEST_F(SqliteJournalTest, AFlippedBitInTheLastEventIsFoundAtOpening) {
  open();
  ASSERT_OK(append(*journal_, batch(1, {"first", "the last event"})));
  close();
  flip_bit_in(path_, "the last event");
  EXPECT_SAYS(error_at_open(), "event 2 of the journal");
}

TEST_F(SqliteJournalTest, AMissingRowIsFoundAndNamed) {
  open();
  ASSERT_OK(append_range(*journal_, 1, 9));
  close();
  sql("DELETE FROM events WHERE seq = 4");
  open();
  EXPECT_SAYS(events_of(*journal_).error(), "event 4 of the journal");
}

TEST_F(SqliteJournalTest, AMissingEndIsRefused) {
  open();
  ASSERT_OK(append_range(*journal_, 1, 9));
  close();
  sql("DELETE FROM events WHERE seq > 6");
  const Error error = error_at_open();
  EXPECT_EQ(error.code, Code::Internal);
  EXPECT_SAYS(error, "ends at event 6, but event 9 was acknowledged: events 7 to 9 are lost");
  std::filesystem::remove(path_ + "-acknowledged");  // as the message says
  open();
  ASSERT_OK(append_range(*journal_, 7, 7));
}

TEST_F(SqliteJournalTest, ADamagedBlobIsFound) {
  open();
  const Blob blob = make_blob("the body of a script");
  ASSERT_OK(append(*journal_, batch(1, {"a"}, {blob})));
  close();
  flip_bit_in(path_, blob.bytes);
  open();
  EXPECT_SAYS(journal_->blob(blob.id).error(), "is damaged");
}

TEST_F(SqliteJournalTest, NothingThatIsNotAJournalIsTouched) {
  write_file(path_, std::string(5000, 'x'));
  const Error error = error_at_open();
  EXPECT_EQ(error.code, Code::Internal);
  EXPECT_EQ(file_bytes(path_), std::string(5000, 'x'));
}

TEST_F(SqliteJournalTest, AnotherProgramsDatabaseIsRefused) {
  sql("CREATE TABLE theirs (x)");
  const Error error = error_at_open();
  EXPECT_EQ(error.code, Code::Invalid);
  EXPECT_SAYS(error, "is not a journal of Phalanx");
}

TEST_F(SqliteJournalTest, ANewerFormatIsRefused) {
  open();
  close();
  sql("PRAGMA user_version = 2");
  const Error error = error_at_open();
  EXPECT_EQ(error.code, Code::Invalid);
  EXPECT_SAYS(error, "has format 2, written by a newer Phalanx; this one reads up to format 1");
}

// Wherever the log ends, what is left is a row of whole batches; and with the number that was
// acknowledged the loss is refused.
TEST_F(SqliteJournalTest, ATruncatedLogGivesWholeBatchesOrIsRefused) {
  open();
  for (Seq first = 1; first <= 41; first += 4) ASSERT_OK(append_range(*journal_, first, first + 3));
  const std::string copy = cut_power("copy");
  const std::string wal = file_bytes(copy + "-wal");
  int refused = 0;
  for (std::size_t cut = 0; cut < wal.size(); cut += 1031) {
    write_file(copy + "-wal", wal.substr(0, wal.size() - cut));
    std::filesystem::remove(copy + "-shm");
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::copy_file(path_ + "-acknowledged", copy + "-acknowledged",
                               std::filesystem::copy_options::overwrite_existing);
    if (SqliteJournal::open(copy, kSmall).ok()) {
      ASSERT_EQ(cut, 0U);
      continue;
    }
    ++refused;
    write_file(copy + "-wal", wal.substr(0, wal.size() - cut));
    std::filesystem::remove(copy + "-acknowledged");
    auto opened = SqliteJournal::open(copy, kSmall);
    if (!opened.ok()) continue;  // the log ends before the tables are made
    const Events events = events_of(**opened).value();
    EXPECT_EQ(events.size() % 4, 0U);
    EXPECT_LT(events.size(), 44U);
  }
  EXPECT_GT(refused, 30);
}

TEST_F(SqliteJournalTest, AFlippedBitInTheLogIsRefused) {
  open();
  for (Seq seq = 1; seq <= 9; ++seq) ASSERT_OK(append_range(*journal_, seq, seq));
  const std::string copy = cut_power("copy");
  std::string wal = file_bytes(copy + "-wal");
  wal[wal.size() / 2] = static_cast<char>(wal[wal.size() / 2] ^ 4);
  write_file(copy + "-wal", wal);
  const auto opened = SqliteJournal::open(copy, kSmall);
  ASSERT_FALSE(opened.ok());
  EXPECT_SAYS(opened.error(), "but event 9 was acknowledged");
}

TEST_F(SqliteJournalTest, GarbageInTheAcknowledgedNumberDoesNotMatter) {
  open();
  ASSERT_OK(append_range(*journal_, 1, 3));
  close();
  for (const std::string& text :
       {std::string(), std::string(30, '\0'), std::string("99999999999999999999 0\n")}) {
    write_file(path_ + "-acknowledged", text);
    open();
    close();
  }
}

TEST_F(SqliteJournalTest, ADamagedSnapshotIsPassedOverWithAWarning) {
  open();
  ASSERT_OK(append_range(*journal_, 1, 9));
  const std::vector<std::string> older = {"the older state"};
  const std::vector<std::string> newer = {"part one of the newer state",
                                          "part two of the newer state"};
  ASSERT_OK(journal_->save_snapshot(4, older));
  ASSERT_OK(journal_->save_snapshot(8, newer));
  ASSERT_OK(journal_->compact());
  const std::string path = path_ + "-snapshot-8";
  const std::string whole = file_bytes(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 16);
    for (const std::string& bytes : {flipped, whole.substr(0, at), whole + "x"}) {
      write_file(path, bytes);
      const auto loaded = journal_->load_snapshot();
      ASSERT_OK(loaded);
      ASSERT_EQ((*loaded)->seq, 4U) << "byte " << at;
      ASSERT_EQ((*loaded)->warnings.size(), 1U);
    }
  }
  EXPECT_EQ(events_of(*journal_, 5).value().size(), 5U)
      << "the older one still leads to the present";
  std::filesystem::remove(path_ + "-snapshot-4");
  EXPECT_SAYS(journal_->load_snapshot().error(), "no whole snapshot before it is left");
}

TEST_F(SqliteJournalTest, ASnapshotOfAnotherJournalIsPassedOver) {
  open();
  ASSERT_OK(append_range(*journal_, 1, 9));
  auto other = SqliteJournal::open(directory_ / "other", kSmall).value();
  ASSERT_OK(append_range(*other, 1, 9));
  ASSERT_OK(other->save_snapshot(7, {}));
  std::filesystem::copy_file(directory_ / "other-snapshot-7", path_ + "-snapshot-7");
  EXPECT_FALSE(journal_->load_snapshot().value().has_value());
}

TEST_F(SqliteJournalTest, ASnapshotNewerThanTheEventsIsRefused) {
  open();
  ASSERT_OK(append_range(*journal_, 1, 9));
  ASSERT_OK(journal_->save_snapshot(9, {}));
  close();
  sql("DELETE FROM events WHERE seq > 6");
  std::filesystem::remove(path_ + "-acknowledged");
  EXPECT_SAYS(error_at_open(), "snapshot-9 is newer");
}

TEST_F(SqliteJournalTest, ABackupIsAWholeJournal) {
  open();
  const Blob blob = make_blob("script");
  ASSERT_OK(append_range(*journal_, 1, 9));
  const std::vector<std::string> state = {"state"};
  for (const Seq seq : {Seq{3}, Seq{6}}) ASSERT_OK(journal_->save_snapshot(seq, state));
  ASSERT_OK(journal_->compact());
  ASSERT_OK(append(*journal_, batch(10, {"ten"}, {blob})));
  const std::string copy = directory_ / "copy";
  ASSERT_OK(journal_->backup(copy));
  ASSERT_OK(append_range(*journal_, 11, 12));
  EXPECT_EQ(journal_->backup(copy).error().code, Code::Conflict);

  const auto restored = SqliteJournal::open(copy, kSmall).value();
  EXPECT_EQ(restored->last_seq().value(), 10U);
  EXPECT_EQ(restored->load_snapshot().value()->seq, 6U);
  EXPECT_EQ(events_of(*restored, 4).value().size(), 7U);
  EXPECT_EQ(restored->blob(blob.id).value(), "script");
  ASSERT_OK(append(*restored, batch(11, {"another eleven"})));
}

TEST_F(SqliteJournalTest, AFullDatabaseRefusesCertainlyAndRecovers) {
  open();
  ASSERT_OK(journal_->limit_pages(20));
  Seq next = 1;
  Status status;
  for (; status.ok(); next += status.ok() ? 1 : 0)
    status = append(*journal_, batch(next, {std::string(9000, 'x')}));
  EXPECT_EQ(status.error().code, Code::Unavailable);
  EXPECT_SAYS(status.error(), "Make room");
  EXPECT_EQ(journal_->last_seq().value(), next - 1);
  ASSERT_OK(journal_->limit_pages(1000));
  ASSERT_OK(append(*journal_, batch(next, {std::string(9000, 'x')})));
}

// While it lives, no file of this process grows beyond `bytes`: writes fail as on a broken device.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(SqliteJournalTest, AfterAFailedWriteItWantsToBeReadBack) {
  open();
  ASSERT_OK(append_range(*journal_, 1, 3));
  {
    const FileSizeLimit limit(std::filesystem::file_size(path_ + "-wal") + 10'000);
    const Status failed = append(*journal_, batch(4, {std::string(50'000, 'x')}));
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, Code::Internal) << failed.error().message;
    EXPECT_SAYS(append_range(*journal_, 4, 4).error(), "read the journal back first");
  }
  EXPECT_EQ(journal_->last_seq().value(), 3U);
  ASSERT_OK(append_range(*journal_, 4, 6));
  EXPECT_EQ(events_of(*journal_).value().size(), 6U);
}

TEST_F(SqliteJournalTest, TellsTheSpaceLeft) {
  open();
  const Space space = journal_->space().value();
  EXPECT_GT(space.bytes_total, space.bytes_free);
  EXPECT_LE(space.percent_free, 100U);
  EXPECT_EQ(space.reserve_bytes, 4096U);
  ASSERT_OK(journal_->release_reserve());
  EXPECT_EQ(journal_->space().value().reserve_bytes, 0U);
  ASSERT_OK(journal_->refill_reserve());
  EXPECT_EQ(journal_->space().value().reserve_bytes, 4096U);
}

TEST(Space, IsLowBelowFivePercentAndAtMostOneGigabyte) {
  constexpr std::uint64_t kMega = 1U << 20U, kGiga = 1U << 30U;
  struct Row {
    std::uint64_t total, free;
    std::optional<std::uint64_t> asked;
    bool low;
  };
  for (const Row& row : {Row{2 * kGiga, 102 * kMega, {}, true},
                         {2 * kGiga, 103 * kMega, {}, false},
                         {8000 * kGiga, kGiga - 1, {}, true},
                         {8000 * kGiga, kGiga, {}, false},
                         {8000 * kGiga, 50 * kGiga - 1, 50 * kGiga, true},
                         {8000 * kGiga, 50 * kGiga, 50 * kGiga, false},
                         {2 * kGiga, 1, 0, false}})
    EXPECT_EQ(is_low({.bytes_free = row.free, .bytes_total = row.total}, row.asked), row.low)
        << row.free << " of " << row.total;
}

// A file system of 4 MB that goes away with the object.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directory(path);
    mounted_ = ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST(FullDisk, TheReserveTakesTheCompletions) {
  const TemporaryDirectory directory;
  const SmallDisk disk(directory / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small file system needs root";
  const std::string path = directory / "disk/journal";
  auto journal = SqliteJournal::open(path, {.reserve_bytes = 1U << 20U}).value();
  EXPECT_EQ(journal->space().value().reserve_bytes, 1U << 20U);
  Seq next = 1;
  Status status;
  for (; status.ok(); next += status.ok() ? 1 : 0)
    status = append(*journal, batch(next, {std::string(20'000, 'x')}));
  EXPECT_EQ(status.error().code, Code::Unavailable) << status.error().message;
  EXPECT_TRUE(is_low(journal->space().value()));
  EXPECT_EQ(journal->last_seq().value(), next - 1);

  ASSERT_OK(journal->release_reserve());
  for (int i = 0; i < 20; ++i, ++next) ASSERT_OK(append(*journal, batch(next, {"completed"})));
  EXPECT_EQ(journal->save_snapshot(next - 1, std::vector<std::string>{std::string(5U << 20U, 's')})
                .error()
                .code,
            Code::Unavailable);
  EXPECT_FALSE(journal->load_snapshot().value().has_value()) << "half a snapshot is left";

  journal.reset();
  journal = SqliteJournal::open(path, {.reserve_bytes = 1U << 20U}).value();
  EXPECT_EQ(events_of(*journal).value().size(), next - 1);
}

}  // namespace
}  // namespace phalanx::store
