#include "server/snapshot.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/codec.h"
#include "server/compactor.h"
#include "server/server.h"
#include "server/testing.h"

namespace phalanx::server {
namespace {

std::string text_of(const State& state) { return codec::encode(state); }

std::shared_ptr<const WorkloadSpec> small_job(const std::string& name) {
  auto spec = std::make_shared<WorkloadSpec>(*job(name));
  spec->groups[0].nodes_min = 1;
  spec->groups[0].per_task.cpus = Quantity::of(1);
  spec->launch.script = "script of " + name;
  spec->limit = hours(1);
  return spec;
}

struct SnapshotTest : CoreFixture {
  // Something of everything that State holds: work that waits, runs, has ended; an array of which
  // some has started; an object; a drained node.
  void fill() {
    ClusterConfig config = one_partition();
    config.partitions[0].nodes = {"n1", "n2"};
    ask(Configure{"c", config});
    for (const char* name : {"n1", "n2"}) {
      NodeReport report;
      report.name = name;
      report.boot = std::string("boot-") + name;
      report.spec.name = name;
      report.spec.cpus = 4;
      report.spec.memory = std::int64_t{64} << 30;
      report.spec.devices.resize(2);
      EXPECT_FALSE(ask(AgentConnected{report}).error);
    }
    ask(Drain{"n2", true, "a \"fan\"", false}, system_identity());
    Submit held{small_job("held")};
    held.hold = true;
    EXPECT_FALSE(ask(held, anna()).error);
    Submit keyed{small_job("runs")};
    keyed.key = "k";
    keyed.content = "c";
    ask(keyed, anna());
    Submit many{small_job("many")};
    many.array.emplace();
    many.array->pending = {1, 2, 3, 4, 5, 6, 7};
    many.array->size = 7;
    EXPECT_FALSE(ask(many, anna()).error);
    Object object;
    object.key = {"", "configmaps", "default", "notes"};
    object.kind = "ConfigMap";
    object.body = R"({"data":{"a":"b"}})";
    EXPECT_FALSE(ask(PutObject{object, 0}).error);
    const Workload* runs = find_job(core->state(), 2);
    ASSERT_NE(runs, nullptr);
    ASSERT_TRUE(runs->current) << "the planner did not place it";
    AttemptReport report;
    report.fence = {"c", runs->id, runs->attempts, "boot-n1"};
    report.phase = AttemptPhase::exited;
    ask(AgentReported{"n1", report});
    report.phase = AttemptPhase::gone;
    ask(AgentReported{"n1", report});
    ask(Submit{small_job("after")}, anna());
    EXPECT_FALSE(core->state().unarchived.empty());
    EXPECT_FALSE(core->state().arrays.begin()->second.elements.empty());
  }
  // Until everything that was decided is on disk.
  void settle() {
    do {
      core->after_commit([this](const Reply&, std::uint64_t) { loop.stop(); });
      loop.run();
    } while (journal.last_seq().value() != core->state().sequence);
  }
  Expected now() {
    settle();
    return {core->state().sequence, fingerprint(core->state())};
  }
  void restart() {
    core.reset();
    start();
  }
};

TEST_F(SnapshotTest, AStateComesBackAsItWas) {
  fill();
  const State& before = core->state();
  const auto after = state_of(snapshot_chunks(before));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(text_of(*after), text_of(before));
  EXPECT_EQ(fingerprint(*after), fingerprint(before));
  // An array and its elements share what they share.
  const Array& array = after->arrays.begin()->second;
  EXPECT_EQ(after->workloads.at(*array.elements.begin()).spec, array.spec);
}

TEST_F(SnapshotTest, BigTablesAreSeveralChunks) {
  State state;
  auto spec = std::make_shared<WorkloadSpec>(*job("a"));
  spec->comment = std::string(1000, 'x');
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    Workload& w = state.workloads[WorkloadId{i}];
    w.id = WorkloadId{i};
    w.spec = spec;
  }
  auto chunks = snapshot_chunks(state);
  EXPECT_GT(chunks.size(), 3U);
  for (const std::string& chunk : chunks) EXPECT_LT(chunk.size(), std::size_t{2} << 20);
  const auto back = state_of(chunks);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(text_of(*back), text_of(state));
  chunks.pop_back();
  EXPECT_FALSE(state_of(chunks).ok()) << "rows were missing and nobody noticed";
}

TEST_F(SnapshotTest, ReplayGoesOnFromTheSnapshotAndOldEventsGo) {
  fill();
  const auto first = save_next_snapshot(journal, now());
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->snapshot, 0U);
  ask(Submit{small_job("b")}, anna());
  const std::uint64_t middle = now().seq;
  ask(Submit{small_job("c")}, anna());
  // Until an event in the middle, without what came later.
  const auto part = replay(journal, middle);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->state.sequence, middle);
  const auto second = save_next_snapshot(journal, now());
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_GT(second->snapshot, 0U);
  EXPECT_GT(journal.compact().value(), 1U);
  EXPECT_FALSE(journal.read(1, nullptr).ok());
  const Reply last = ask(Submit{small_job("d")}, anna());
  settle();
  const std::string before = text_of(core->state());
  restart();
  EXPECT_EQ(text_of(core->state()), before);
  EXPECT_EQ(core->recovered().snapshot + core->recovered().events, core->state().sequence);
  EXPECT_EQ(ask(Submit{small_job("e")}, anna()).number, last.number + 1);
}

TEST_F(SnapshotTest, AnotherStateIsNeverSaved) {
  fill();
  Expected wrong = now();
  wrong.fingerprint.front() = wrong.fingerprint.front() == '0' ? '1' : '0';
  const auto saved = save_next_snapshot(journal, wrong);
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, Error::Code::Conflict);
  EXPECT_FALSE(journal.load_snapshot().value().has_value());
  wrong = now();
  ++wrong.seq;  // an event that the journal does not have
  EXPECT_FALSE(save_next_snapshot(journal, wrong).ok());
  EXPECT_FALSE(journal.load_snapshot().value().has_value());
}

TEST_F(SnapshotTest, ADamagedSnapshotIsPassedOver) {
  fill();
  ASSERT_TRUE(save_next_snapshot(journal, now()).ok());
  ask(Submit{small_job("b")}, anna());
  ASSERT_TRUE(save_next_snapshot(journal, now()).ok());
  journal.damage_snapshot(journal.load_snapshot().value()->seq);
  const std::string before = text_of(core->state());
  restart();
  EXPECT_EQ(text_of(core->state()), before);
  EXPECT_EQ(core->recovered().warnings.size(), 1U);
  EXPECT_GT(core->recovered().events, 0U);
}

// --- the controller's side: a child of which only the exit code matters

struct CompactorTest : SnapshotTest {
  std::filesystem::path dir;
  std::unique_ptr<store::SqliteArchive> archive;
  std::unique_ptr<Reader> reader;
  std::unique_ptr<Compactor> compactor;

  void SetUp() override {
    dir = std::filesystem::temp_directory_path() /
          ("phalanx-compactor-" + std::to_string(::getpid()));
    std::filesystem::create_directories(dir);
    archive = std::move(*store::SqliteArchive::open((dir / "archive.db").string()));
    SnapshotTest::SetUp();
    fill();
    ASSERT_TRUE(save_next_snapshot(journal, now()).ok());
    ask(Submit{small_job("b")}, anna());
    ASSERT_TRUE(save_next_snapshot(journal, now()).ok());
    settle();
    reader = std::make_unique<Reader>(core->state(), *archive);
    loop.on_signal({SIGCHLD}, [this](int) { compactor->child_ended(); });
  }
  void TearDown() override {
    compactor.reset();
    reader.reset();
    SnapshotTest::TearDown();
    archive.reset();
    std::filesystem::remove_all(dir);
  }
  void child(const std::string& script) {
    const std::string path = (dir / "child").string();
    std::ofstream(path) << "#!/bin/sh\n" << script << '\n';
    ::chmod(path.c_str(), 0700);
    CompactorOptions options;
    options.program = path;
    options.state_dir = dir.string();
    options.after_events = 100;
    compactor = std::make_unique<Compactor>(loop, journal, *reader, options);
  }
  Result<store::Seq> compact() {
    Result<store::Seq> out = internal("nobody answered");
    compactor->start([&](const Result<store::Seq>& seq) {
      out = seq;
      loop.stop();
    });
    loop.run();
    return out;
  }
};

TEST_F(CompactorTest, OldEventsGoWhenTheChildHasSavedASnapshot) {
  child("echo \"$@\" > $0.args");
  const auto at = compact();
  ASSERT_TRUE(at.ok()) << at.error().message;
  EXPECT_EQ(*at, now().seq);
  EXPECT_FALSE(journal.read(1, nullptr).ok());
  EXPECT_EQ(compactor->counters().snapshots, 1U);
  std::ifstream args((dir / "child.args").string());
  std::string said((std::istreambuf_iterator<char>(args)), {});
  EXPECT_NE(said.find("--at=" + std::to_string(now().seq)), said.npos) << said;
  EXPECT_NE(said.find("--expect=" + now().fingerprint), said.npos) << said;
}

TEST_F(CompactorTest, AChildThatFailsDeletesNothing) {
  for (const std::string script : {"exit 1", "kill -9 $$"}) {
    child(script);
    EXPECT_FALSE(compact().ok());
    EXPECT_TRUE(journal.read(1, [](store::Seq, std::string_view) { return Status(); }).ok());
    EXPECT_EQ(compactor->counters().failures, 1U);
    EXPECT_EQ(compactor->counters().mismatches, 0U);
  }
}

TEST_F(CompactorTest, AnotherStateDeletesNothingAndIsCounted) {
  child("exit " + std::to_string(kCompactMismatch));
  const auto at = compact();
  ASSERT_FALSE(at.ok());
  EXPECT_EQ(at.error().code, Error::Code::Conflict);
  EXPECT_TRUE(journal.read(1, [](store::Seq, std::string_view) { return Status(); }).ok());
  EXPECT_EQ(compactor->counters().mismatches, 1U);
}

TEST_F(CompactorTest, StartsWhenEnoughHasHappened) {
  child("exit 0");
  compactor->add(99, 0);
  compactor->add(1, 0);
  EXPECT_TRUE(compact().ok());  // joins the one that runs
  EXPECT_EQ(compactor->counters().snapshots, 1U);
}

}  // namespace
}  // namespace phalanx::server
