#include "server/core.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/codec.h"
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
