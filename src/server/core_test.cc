#include "server/core.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/codec.h"
#include "server/disk_guard.h"
#include "server/reader.h"
#include "server/testing.h"

namespace phalanx::server {
namespace {

using CoreTest = CoreFixture;

TEST_F(CoreTest, AnswersWhenTheFactIsOnDisk) {
  EXPECT_FALSE(ask(Configure{"c", one_partition()}).error);
  const Reply reply = ask(Submit{job("a")}, anna());
  ASSERT_FALSE(reply.error) << reply.error->message;
  EXPECT_EQ(reply.number, 1U);
}

TEST_F(CoreTest, AFailedAppendIsNeverAnAnswer) {
  ask(Configure{"c", one_partition()});
  journal.fail_next(store::AppendFailure::Refused);
  const Reply reply = ask(Submit{job("a")}, anna());
  ASSERT_TRUE(reply.error);
  EXPECT_EQ(reply.error->code, Error::Code::Unavailable);
  EXPECT_TRUE(core->state().workloads.empty());
  EXPECT_EQ(told, std::vector<std::string>{"rebuilt"});
  EXPECT_EQ(ask(Submit{job("b")}, anna()).number, 1U);  // the number was not given out
}

TEST_F(CoreTest, AnUnknownOutcomeIsReadBack) {
  ask(Configure{"c", one_partition()});
  Submit submit{job("a")};
  submit.key = "k";
  submit.content = "same";
  journal.fail_next(store::AppendFailure::UnknownWritten);
  EXPECT_TRUE(ask(submit, anna()).error);
  EXPECT_EQ(core->state().workloads.size(), 1U);
  const Reply again = ask(submit, anna());  // the client tries again with its key
  EXPECT_FALSE(again.error);
  EXPECT_EQ(again.number, 1U);
  EXPECT_EQ(core->state().workloads.size(), 1U);
}

// Where commits do not come back nothing starts, however idle the planner is.
TEST_F(CoreTest, AJournalThatTakesNothingIsAStandstill) {
  ask(Configure{"c", one_partition()});
  bool answered = false;
  core->put(anna(), Submit{job("a")}, [&](const Reply&, std::uint64_t) {
    answered = true;
    loop.stop();
  });
  loop.post([&] { loop.stop(); });  // after the turn that sends it, before its commit is heard of
  loop.run();
  ASSERT_FALSE(answered);
  const Time soon = net::wall_now() + seconds(20), late = net::wall_now() + seconds(40);
  EXPECT_EQ(core->standstill(soon), "");
  EXPECT_NE(core->standstill(late), "");
  loop.run();
  EXPECT_TRUE(answered);
  EXPECT_EQ(core->standstill(late), "");
}

TEST_F(CoreTest, ANewControllerKnowsWhatTheOldOneSaid) {
  ask(Configure{"c", one_partition()});
  ask(Submit{job("a")}, anna());
  const std::string before = cluster::projection(core->state());
  core.reset();
  start();
  EXPECT_EQ(cluster::projection(core->state()), before);
}

TEST_F(CoreTest, ManySubmissionsShareCommits) {
  ask(Configure{"c", one_partition()});
  const std::size_t before = journal.append_count();
  int answered = 0;
  for (int i = 0; i < 500; ++i)
    core->put(anna(), Submit{job("j" + std::to_string(i))}, [&](const Reply& reply, std::uint64_t) {
      EXPECT_FALSE(reply.error);
      if (++answered == 500) loop.stop();
    });
  loop.run();
  EXPECT_LT(journal.append_count() - before, 50U);
  EXPECT_EQ(core->state().workloads.size(), 500U);
}

// --- a disk that fills up

TEST_F(CoreTest, WithoutRoomNewWorkIsRefusedAndCompletionsAreTaken) {
  ask(Configure{"c", one_partition()});
  const JobNumber number = ask(Submit{job("a")}, anna()).number;
  store::Space room{std::uint64_t{100} << 30, std::uint64_t{200} << 30, 50, 1 << 20};
  std::vector<std::string> done;
  DiskGuard guard(loop, *core,
                  {[&] { return Result<store::Space>(room); },
                   [&] {
                     done.emplace_back("release");
                     room.reserve_bytes = 0;
                     return Status();
                   },
                   [&] {
                     done.emplace_back("refill");
                     room.reserve_bytes = 1 << 20;
                     return Status();
                   }});
  EXPECT_FALSE(ask(Submit{job("b")}, anna()).error);
  room.bytes_free = std::uint64_t{900} << 20;
  room.percent_free = 10;
  guard.look();
  EXPECT_TRUE(guard.low());
  const Reply refused = ask(Submit{job("c")}, anna());
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, Error::Code::Unavailable);
  PutObject put;
  put.object.key = {"", "configmaps", "default", "notes"};
  EXPECT_TRUE(ask(put, anna()).error);
  Cancel cancel;
  cancel.target.number = number;
  EXPECT_FALSE(ask(cancel, anna()).error);
  EXPECT_FALSE(ask(ArchiveHas{{find_job(core->state(), number)->id}}).error);
  EXPECT_TRUE(done.empty()) << "the reserve is for when nothing else is left";
  room.bytes_free = std::uint64_t{1} << 20;
  guard.look();
  guard.look();
  EXPECT_EQ(done, std::vector<std::string>{"release"});
  room.bytes_free = std::uint64_t{100} << 30;
  guard.look();
  EXPECT_FALSE(guard.low());
  EXPECT_EQ(done, (std::vector<std::string>{"release", "refill"}));
  EXPECT_FALSE(ask(Submit{job("d")}, anna()).error);
}

// --- scripts and environments

std::shared_ptr<const WorkloadSpec> job_with(const store::Blob& script) {
  auto spec = std::make_shared<WorkloadSpec>(*job("a"));
  spec->launch.script = script.id;
  return spec;
}

TEST_F(CoreTest, ABlobGoesWithItsLastUse) {
  ask(Configure{"c", one_partition()});
  const store::Blob script = store::make_blob("#!/bin/sh\n");
  const auto submit = [&] { return ask(Submit{job_with(script)}, anna(), {script}).number; };
  const auto end = [&](JobNumber number) {
    Cancel cancel;
    cancel.target.number = number;
    EXPECT_FALSE(ask(cancel, anna()).error);
    ask(ArchiveHas{{find_job(core->state(), number)->id}});
  };
  const JobNumber first = submit(), second = submit();
  EXPECT_EQ(journal.blob_count(), 1U);
  end(first);
  EXPECT_EQ(journal.blob(script.id).value(), script.bytes);
  end(second);
  EXPECT_EQ(journal.blob_count(), 0U);
  const JobNumber third = submit();
  EXPECT_EQ(journal.blob(script.id).value(), script.bytes);
  core.reset();  // a new controller counts as the old one did
  start();
  end(third);
  EXPECT_EQ(journal.blob_count(), 0U);
}

// The last use ends and a new one begins in one commit: the blob stays, in either order.
TEST_F(CoreTest, ABlobThatComesBackInTheSameBatchStays) {
  ask(Configure{"c", one_partition()});
  const store::Blob script = store::make_blob("#!/bin/sh\n");
  for (const bool submit_first : {false, true}) {
    const JobNumber old = ask(Submit{job_with(script)}, anna(), {script}).number;
    Cancel cancel;
    cancel.target.number = old;
    ask(cancel, anna());
    const ArchiveHas archived{{find_job(core->state(), old)->id}};
    const std::size_t before = journal.append_count();
    if (!submit_first) core->put(system_identity(), archived);
    core->put(anna(), Submit{job_with(script)}, {}, {script});
    if (submit_first) core->put(system_identity(), archived);
    core->after_commit([this](const Reply&, std::uint64_t) { loop.stop(); });
    loop.run();
    EXPECT_EQ(journal.append_count(), before + 1) << "this test needs them in one batch";
    EXPECT_EQ(journal.blob_count(), 1U);
    EXPECT_EQ(journal.blob(script.id).value(), script.bytes);
  }
}

// It comes and goes in one commit, or nobody uses it: it is never stored.
TEST_F(CoreTest, ABlobThatNobodyUsesIsNotStored) {
  ask(Configure{"c", one_partition()});
  const store::Blob script = store::make_blob("#!/bin/sh\n");
  PutObject put;
  put.object.key = {"batch", "jobs", "default", "a"};
  Completions job;
  job.completions = 0;
  job.pod = job_with(script);
  put.object.meaning = job;
  core->put(anna(), put, {}, {script, store::make_blob("nobody names it")});
  core->put(anna(), DeleteObject{put.object.key, ""});
  core->after_commit([this](const Reply&, std::uint64_t) { loop.stop(); });
  loop.run();
  EXPECT_TRUE(core->state().objects.empty());
  EXPECT_EQ(journal.blob_count(), 0U);
}

// Readers see a copy that is as new as they ask for, on another thread.
TEST_F(CoreTest, ReadersSeeTheirOwnWrites) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "phalanx-reader-test.db").string();
  std::filesystem::remove(path);
  auto archive = store::SqliteArchive::open(path);
  ASSERT_TRUE(archive.ok());
  ask(Configure{"c", one_partition()});
  Reader reader(core->state(), **archive);
  core.reset();
  core = std::make_unique<Core>(
      loop, journal,
      Core::Outside{[](const Effect&) {}, [&](const Committed& c) { reader.publish(c); },
                    [](const Error&) {}});
  ASSERT_TRUE(core->recover().ok());
  std::size_t seen = 0;
  for (int i = 0; i < 20; ++i) {
    core->put(anna(), Submit{job("a")}, [&](const Reply&, std::uint64_t sequence) {
      reader.ask(sequence, [&](const View& view) {
        const std::size_t count = view.state.workloads.size();
        loop.post([&, count] {
          seen = count;
          loop.stop();
        });
      });
    });
    loop.run();
    EXPECT_EQ(seen, static_cast<std::size_t>(i + 1));
  }
  core.reset();
}

}  // namespace
}  // namespace phalanx::server
