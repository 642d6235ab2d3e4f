// Many seeds of a swarm that does everything at once, sensible and not: the invariants hold after
// every event, the journal replays to the same State, the same seed gives the same bytes, and time
// always gets on. A failure names its seed.
#include "base/rng.h"
#include "cluster/testing.h"

namespace phalanx::cluster {
namespace {

constexpr std::uint64_t kShards = 10, kSeedsPerShard = 20;
constexpr int kInputs = 300;

class Swarm {
 public:
  explicit Swarm(std::uint64_t seed)
      : rng_(seed),
        w_("n1:2 n2:4 n3:1 n4:0", [&](ClusterConfig& c) { c.node_lost_confirm = seed % 3 == 0; }) {}

  World run() {
    for (int i = 0; i < kInputs; ++i) {
      w_.now += milliseconds(rng_.between(0, 40'000));
      poke();
      if (rng_.chance(3)) w_.tick();
      check_progress();
    }
    return std::move(w_);
  }

 private:
  void poke() {
    switch (rng_.below(16)) {
      case 0:
      case 1:
        return submit();
      case 2:
        return submit_array();
      case 3:
      case 4:
        (void)w_.place();
        return;
      case 5:
        return nonsense();
      case 6:
      case 7:
      case 8:
      case 9:
        return report();
      case 10:
        return connect();
      case 11:
        return w_.silent(node(), seconds(rng_.between(0, 400)));
      case 12:
        return stop();
      case 13:
        return change();
      case 14:
        return step();
      default:
        return object();
    }
  }

  std::string node() { return format("n{}", rng_.between(1, 4)); }
  Identity who() { return rng_.chance(8) ? admin() : user(rng_.chance(4) ? "bert" : "anna"); }
  JobNumber number() {
    return static_cast<JobNumber>(rng_.between(1, static_cast<std::int64_t>(w_.state.next_number)));
  }
  Target target() {
    Target t = World::target(number());
    if (rng_.chance(3))
      for (int i = 0; i < 2; ++i) t.indexes.push_back(static_cast<std::uint32_t>(rng_.below(6)));
    return t;
  }

  WorkloadSpec spec() {
    WorkloadSpec s = rng_.chance(3) ? gang(static_cast<int>(rng_.between(1, 3)),
                                           rng_.chance(3) ? "bert" : "anna")
                                    : job(format("{}x{}", rng_.between(1, 3), rng_.below(2)));
    s.name = format("name{}", rng_.below(4));
    s.requeue = !rng_.chance(4);
    s.launch.script = format("script{}", rng_.below(6));
    s.launch.environment = format("environment{}", rng_.below(3));
    s.limit = seconds(rng_.between(1, 600));
    if (rng_.chance(4)) s.kind = WorkloadKind::allocation;
    if (rng_.chance(4)) s.launch.warn = {10, seconds(30), rng_.chance(2)};
    if (rng_.chance(4)) s.begin = w_.now + seconds(30);
    if (rng_.chance(3)) {
      const auto kind = static_cast<DependencyKind>(rng_.below(6));
      const WorkloadId on{kind == DependencyKind::singleton ? 0 : rng_.below(w_.state.next_id + 1)};
      s.dependencies.push_back(
          {kind, on, seconds(static_cast<int>(rng_.below(60))), rng_.chance(2), {}});
      if (rng_.chance(3)) s.dependencies[0].index = static_cast<std::uint32_t>(rng_.below(6));
      s.end_if_never = rng_.chance(3);
    }
    return s;
  }
  void submit() {
    w_.submit(spec(), rng_.chance(3) ? format("key{}", rng_.below(5)) : "",
              format("c{}", rng_.below(2)));
  }
  void submit_array() {
    std::set<std::uint32_t> indexes;
    for (std::uint64_t i = 0, n = rng_.below(6); i < n; ++i)
      indexes.insert(static_cast<std::uint32_t>(rng_.below(6)));
    w_.submit_array(spec(), indexes, static_cast<std::uint32_t>(rng_.below(3)));
  }

  // Proposals made up from nothing, or from truth with one thing wrong.
  void nonsense() {
    Propose propose;
    for (int i = 0; i < 3; ++i) {
      PlaceProposal p;
      p.id = w_.state.pending.empty() || rng_.chance(3)
                 ? WorkloadId{rng_.below(w_.state.next_id + 1)}
                 : *w_.state.pending.begin();
      if (rng_.chance(2)) p.index = static_cast<std::uint32_t>(rng_.below(6));
      for (std::uint64_t n = rng_.below(3); n > 0; --n) {
        NodeShare share{NodeId{rng_.below(6)},     "boot-" + node(),
                        rng_.between(0, 2),        Quantity::milli(rng_.between(-500, 9000)),
                        rng_.between(-1, 1) << 31, {}};
        for (std::uint64_t g = rng_.below(3); g > 0; --g)
          share.gpus.push_back(static_cast<DeviceIndex>(rng_.below(5)));
        p.shares.push_back(share);
      }
      propose.proposals.emplace_back(p);
      propose.proposals.emplace_back(
          PromiseProposal{p.id, w_.now + seconds(rng_.between(-5, 500)), ""});
    }
    w_.give(propose);
  }

  Used some_used() {
    Used used;
    if (rng_.chance(2)) used.user_ms = rng_.between(-5, 900);
    if (rng_.chance(2)) used.system_ms = rng_.between(-5, 900);
    if (rng_.chance(2)) used.memory_peak = rng_.between(-5, 900);
    return used;
  }
  AttemptReport some_report(const Workload& w, const std::string& from) {
    AttemptReport report;
    report.fence = {w_.state.cluster, w.id, w.attempts, w_.boots.at(from)};
    report.phase = static_cast<AttemptPhase>(rng_.below(6));
    if (rng_.chance(10)) report.fence.attempt += 1 - static_cast<AttemptNumber>(rng_.below(3));
    if (rng_.chance(20)) report.fence.boot = "boot-of-old";
    if (rng_.chance(20)) report.fence.workload = WorkloadId{rng_.below(w_.state.next_id + 2)};
    report.user_fault = rng_.chance(10);
    report.supervisor_lost = rng_.chance(10);
    report.out_of_memory = rng_.chance(20);
    report.exit_code = rng_.chance(2) ? 0 : static_cast<std::int32_t>(rng_.below(3));
    for (std::uint64_t n = rng_.below(3); n > 0; --n)
      report.steps.push_back({static_cast<StepNumber>(rng_.below(3)), 1, 0, false});
    report.used = some_used();
    for (std::uint64_t n = rng_.below(3); n > 0; --n)
      report.steps_used.push_back(
          {rng_.chance(3) ? kBatchStep : static_cast<StepNumber>(rng_.below(3)), some_used()});
    return report;
  }
  // Some node says something of some workload, true or not: often a plausible next phase.
  void report() {
    for (int i = 0; i < 3; ++i) {
      const std::string from = node();
      const auto& holders = w_.state.use.at(w_.node(from).id).holders;
      if (holders.empty() || rng_.chance(10)) {
        if (!w_.state.workloads.empty())
          w_.say(from, some_report(w_.state.workloads.begin()->second, from));
        continue;
      }
      auto it = holders.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(rng_.below(holders.size())));
      AttemptReport report = some_report(*find_workload(w_.state, *it), from);
      const Workload& w = *find_workload(w_.state, *it);
      if (rng_.chance(2))
        report.phase = w.phase == Phase::placed    ? AttemptPhase::prepared
                       : w.phase == Phase::running ? AttemptPhase::exited
                                                   : AttemptPhase::gone;
      w_.say(from, report);
    }
  }
  void connect() {
    const std::string name = node();
    std::vector<AttemptReport> attempts;
    for (const WorkloadId id : w_.state.use.at(w_.node(name).id).holders)
      if (!rng_.chance(3)) attempts.push_back(some_report(*find_workload(w_.state, id), name));
    if (!w_.state.workloads.empty() && rng_.chance(4))
      attempts.push_back(some_report(w_.state.workloads.rbegin()->second, name));
    w_.connect(name, rng_.chance(4) ? format("boot{}", rng_.below(1000)) : "", attempts);
    NodeReport report;
    report.name = name;
    report.boot = w_.boots.at(name);
    report.attempts = attempts;
    (void)orders(w_.state, w_.node(name).id, report);
  }

  void stop() {
    if (rng_.chance(4))
      return (void)w_.give(Finish{target(), static_cast<std::int32_t>(rng_.below(2))}, who());
    if (rng_.chance(3)) return (void)w_.give(Requeue{target(), rng_.chance(2)}, who());
    Cancel input;
    input.target = target();
    if (rng_.chance(5)) input.signal = 10;
    w_.give(input, who());
  }
  void change() {
    switch (rng_.below(6)) {
      case 0:
        w_.give(Hold{target(), rng_.chance(2)}, who());
        return;
      case 1:
        w_.give(Hold{target(), false}, admin());
        return;
      case 2:
        w_.give(Update{target(), seconds(rng_.between(-1, 900)), rng_.between(-5, 5), {}}, who());
        return;
      case 3:
        w_.give(Drain{node(), rng_.chance(3), "because", rng_.chance(4)}, admin());
        return;
      case 4:
        w_.archive();
        return;
      default: {
        std::vector<Device> devices = w_.config.nodes[rng_.below(3)].devices;
        if (!devices.empty() && rng_.chance(2)) devices[0].health = DeviceHealth::dirty;
        if (!devices.empty() && rng_.chance(3)) devices.pop_back();
        w_.give(DevicesReported{node(), devices});
        return;
      }
    }
  }
  void step() {
    StepRequest request;
    request.target = World::target(number());
    request.key = format("s{}", rng_.below(6));
    request.shape.tasks = rng_.between(0, 3);
    request.overlap = rng_.chance(4);
    request.exact = rng_.chance(2);
    w_.give(request, who());
    StepOver over;
    over.target = World::target(number());
    over.target.step = static_cast<StepNumber>(rng_.below(3));
    if (rng_.chance(3)) w_.give(over, who());
  }
  void object() {
    const ObjectKey key{"batch", "jobs", "default", format("o{}", rng_.below(2))};
    if (rng_.chance(4)) return (void)w_.give(DeleteObject{key, ""}, who());
    PutObject put;
    put.object.key = key;
    Completions meaning;
    meaning.parallelism = rng_.between(0, 3);
    meaning.completions = rng_.between(0, 4);
    meaning.backoff_limit = rng_.between(0, 3);
    meaning.suspended = rng_.chance(4);
    auto pod = std::make_shared<WorkloadSpec>(job("1"));
    pod->launch.script = format("script{}", rng_.below(9));
    meaning.pod = std::move(pod);
    put.object.meaning = meaning;
    w_.give(put, user("anna"));
  }

  // What is due is decided by one Tick; nothing stays due, and no deadline lies in the past.
  void check_progress() {
    for (int i = 0; i < 3 && next_deadline(w_.state, w_.heard) <= w_.now; ++i) w_.tick();
    EXPECT_GT(next_deadline(w_.state, w_.heard), w_.now);
  }

  Rng rng_;
  World w_;
};

class SwarmShard : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SwarmShard, KeepsTheInvariantsAndReplays) {
  std::uint64_t events = 0, ended = 0, requeued = 0;
  for (std::uint64_t seed = GetParam() * kSeedsPerShard + 1;
       seed <= (GetParam() + 1) * kSeedsPerShard; ++seed) {
    SCOPED_TRACE(format("seed {}", seed));
    const World w = Swarm(seed).run();
    State replayed;
    for (const Event& event : w.events) {
      const auto decoded = codec::decode<Event>(codec::encode(event));
      ASSERT_TRUE(decoded.ok()) << decoded.error().message;
      apply(replayed, *decoded);
      const auto* end = std::get_if<Ended>(&event.what);
      ended += end ? 1 : 0;
      requeued += end && end->again ? 1 : 0;
    }
    events += w.events.size();
    ASSERT_EQ(codec::encode(replayed), codec::encode(w.state));
    ASSERT_EQ(projection(replayed), projection(w.state));
    if (testing::Test::HasFailure()) return;  // the first seed that fails says enough
  }
  EXPECT_GT(events, 2'000U);  // the swarm does something
  EXPECT_GT(ended, 200U);
  EXPECT_GT(requeued, 20U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SwarmShard, testing::Range<std::uint64_t>(0, kShards));

TEST(Swarm, TheSameSeedGivesTheSameBytes) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const World a = Swarm(seed).run(), b = Swarm(seed).run();
    ASSERT_EQ(a.events.size(), b.events.size());
    for (std::size_t i = 0; i < a.events.size(); ++i)
      ASSERT_EQ(codec::encode(a.events[i]), codec::encode(b.events[i]));
  }
}

// Deciding and applying must not look at all the work there is: a hundred thousand pending jobs on
// a thousand nodes go in, and two thousand of them live and end; were each input to look at all of
// them, the suite's time limit would be over long before.
TEST(Scale, AHundredThousandPendingJobsOnAThousandNodes) {
  constexpr int kNodes = 1000, kJobs = 100'000, kStarts = 2000;
  State state;
  Heard heard;
  const Time now = from_unix_ms(1'000'000'000'000);
  ClusterConfig config;
  Partition partition;
  partition.name = "main";
  partition.is_default = true;
  for (int i = 0; i < kNodes; ++i) partition.nodes.push_back(format("n{}", i));
  config.partitions.push_back(partition);
  const auto give = [&](InputKind what, const Identity& who) {
    return step(state, heard, {now, who, std::move(what)}, nullptr);
  };
  give(Configure{"c1", config}, system_identity());
  for (int i = 0; i < kNodes; ++i) {
    NodeReport report;
    report.name = partition.nodes[static_cast<std::size_t>(i)];
    report.boot = "b";
    report.spec.cpus = 8;
    report.spec.memory = std::int64_t{64} << 30;
    give(AgentConnected{report}, system_identity());
  }
  Submit submit;
  submit.spec = std::make_shared<WorkloadSpec>(job("1"));
  for (int i = 0; i < kJobs; ++i) give(submit, user("anna"));
  ASSERT_EQ(state.pending.size(), std::size_t{kJobs});
  const std::vector<WorkloadId> ids(state.pending.begin(), state.pending.end());
  for (std::size_t i = 0; i < kStarts; ++i) {
    const Node& node = *find_node(state, partition.nodes[i % kNodes]);
    PlaceProposal p{
        ids[i], std::nullopt, {{node.id, "b", 1, Quantity::of(1), std::int64_t{1} << 30, {}}}};
    give(Propose{{p}}, system_identity());
    give(Tick{}, system_identity());
    AttemptReport report;
    report.fence = {"c1", ids[i], 1, "b"};
    report.phase = AttemptPhase::exited;
    give(AgentReported{node.spec.name, report}, system_identity());
    report.phase = AttemptPhase::gone;
    give(AgentReported{node.spec.name, report}, system_identity());
  }
  give(ArchiveHas{{state.unarchived.begin(), state.unarchived.end()}}, system_identity());
  EXPECT_EQ(state.workloads.size(), std::size_t{kJobs - kStarts});
  EXPECT_TRUE(violations(state).empty());
}

}  // namespace
}  // namespace phalanx::cluster
