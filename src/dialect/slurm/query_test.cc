// The steering commands and Phalanx's own: which inputs they make, what they print.
#include <array>

#include "dialect/slurm/query_test_support.h"
#include "dialect/slurm/translate.h"

namespace phalanx::slurm {
namespace {

template <class T>
const T& input(const Answer& answer, std::size_t i = 0) {
  return std::get<T>(answer.inputs.at(i));
}

Reply failure(Error error) {
  Reply reply;
  reply.error = std::move(error);
  return reply;
}

Said finished(const Answer& answer, const std::vector<Reply>& replies) {
  return answer.finish(answer.said, replies);
}

std::shared_ptr<WorkloadSpec> waits_for(const std::vector<WorkloadId>& on, bool any) {
  auto spec = std::make_shared<WorkloadSpec>();
  spec->name = "next";
  spec->partition = "train";
  spec->owner.user = "alice";
  for (const WorkloadId id : on)
    spec->dependencies.push_back({phalanx::DependencyKind::afterok, id, {}, any, {}});
  if (!on.empty()) spec->dependencies.back().any = false;
  return spec;
}

void over(Workload& w, EndCause cause) {
  w.phase = Phase::ended;
  w.end.cause = cause;
}

// Golden sacct: afterok:29(failed), also when 29 has left.
TEST(Squeue, DependenciesAreNamedAlsoOnJobsThatHaveLeft) {
  struct Case {
    const char* names;
    std::vector<WorkloadId> on;
    const char* shown;
    const char* why;
  };
  const QueryWorld plain = recorded();
  const WorkloadId there = plain.state.by_number.at(242);
  const Case cases[] = {
      {"29", {{}}, "afterok:29(failed)", "job 29"},
      {"242", {there}, "afterok:242(failed)", "job 242"},
      {"29_3,242", {{}, there}, "afterok:29_3(failed),afterok:242(failed)", "job 29_3"},
  };
  for (const Case& c : cases) {
    QueryWorld w = recorded();
    over(w.state.workloads[there], EndCause::failed);
    const auto spec = waits_for(c.on, false);
    spec->asked[kDependencyNames] = c.names;
    const Workload& next = w.add(300, spec, hours(1));
    w.outlook.waits[next.id].reason.code = ReasonCode::dependency_never;
    w.outlook.waits[next.id].reason.other = c.on.front();
    EXPECT_EQ(w.ask("squeue", {"-h", "-j", "300", "-o", "%E"}).said.out,
              std::string(c.shown) + "\n");
    EXPECT_EQ(w.ask("why", {"300"}).said.out,
              format("Job 300 (next) is waiting: it waits for {}, which ended in a way that can "
                     "never satisfy it.\n",
                     c.why));
  }
}

TEST(Squeue, OnlyDependenciesThatStillBlockAreShown) {
  const auto shown = [](bool any, EndCause first) {
    QueryWorld w = recorded();
    const auto past = std::make_shared<WorkloadSpec>();
    past->owner.user = "alice";
    const WorkloadId one = w.add(301, past, hours(1)).id, two = w.add(302, past, hours(1)).id,
                     three = w.add(303, past, hours(1)).id;
    over(w.state.workloads[one], first);
    w.add(304, waits_for({one, two, three}, any), hours(1));
    return w.ask("squeue", {"-h", "-j", "304", "-o", "%E"}).said.out;
  };
  EXPECT_EQ(shown(false, EndCause::completed),
            "afterok:302(unfulfilled),afterok:303(unfulfilled)\n");
  EXPECT_EQ(shown(false, EndCause::failed),
            "afterok:301(failed),afterok:302(unfulfilled),afterok:303(unfulfilled)\n");
  EXPECT_EQ(shown(true, EndCause::failed),
            "afterok:301(failed)?afterok:302(unfulfilled)?afterok:303(unfulfilled)\n");
  EXPECT_EQ(shown(true, EndCause::completed), "(null)\n");  // one of them suffices
}

TEST(Squeue, AllMeansEveryLetterThereIs) {
  const QueryWorld w = recorded();
  const std::string jobs = w.out("squeue", {"-j", "242", "-o", "%all"});
  EXPECT_TRUE(jobs.starts_with("ACCOUNT|JOBID|EXEC_HOST|TRES_PER_NODE|")) << jobs;
  EXPECT_NE(jobs.find("\nphysics|242|n1|"), std::string::npos) << jobs;
  const std::string nodes = w.out("sinfo", {"-o", "%ALL"});
  EXPECT_TRUE(nodes.starts_with("AVAIL|NODES(A/I)|ACTIVE_FEATURES|")) << nodes;
}

TEST(Scancel, NamesBecomeTargets) {
  const QueryWorld w = recorded();
  const Answer answer = w.ask("scancel", {"246", "245_[6-8]", "245_5,243.0", "242.batch"});
  ASSERT_EQ(answer.inputs.size(), 5U);
  EXPECT_EQ(input<Cancel>(answer, 0).target.number, 246U);
  EXPECT_EQ(input<Cancel>(answer, 1).target.indexes, (std::vector<std::uint32_t>{6, 7, 8}));
  EXPECT_EQ(input<Cancel>(answer, 2).target.indexes, (std::vector<std::uint32_t>{5}));
  EXPECT_EQ(input<Cancel>(answer, 3).target.step, StepNumber{0});
  EXPECT_EQ(input<Cancel>(answer, 4).to, SignalTarget::shell);
}

TEST(Scancel, SignalsGoWhereTheyAreTold) {
  const QueryWorld w = recorded();
  EXPECT_EQ(input<Cancel>(w.ask("scancel", {"-s", "USR1", "243"})).signal, 10);
  EXPECT_EQ(input<Cancel>(w.ask("scancel", {"243", "--signal", "USR2"})).to, SignalTarget::steps);
  EXPECT_EQ(input<Cancel>(w.ask("scancel", {"-b", "-s", "USR1", "243"})).to, SignalTarget::shell);
  EXPECT_EQ(input<Cancel>(w.ask("scancel", {"-f", "-s", "2", "243"})).to, SignalTarget::all);
  EXPECT_EQ(input<Cancel>(w.ask("scancel", {"-s", "KILL", "243"})).signal, 0);
  EXPECT_EQ(w.ask("scancel", {"-s", "NOPE", "243"}).said.code, 1);
}

TEST(Queries, AnotherClustersNameIsRefused) {
  QueryWorld w = recorded();
  w.state.config.name = "lab";
  for (const char* tool : {"squeue", "sinfo", "sacct", "scontrol", "scancel"}) {
    const Answer other = w.ask(tool, {"-M", "other", "242"});
    EXPECT_EQ(other.said.code, 1) << tool;
    EXPECT_NE(other.said.err.find("No cluster 'other'"), std::string::npos) << other.said.err;
    EXPECT_TRUE(other.inputs.empty()) << tool;
  }
  EXPECT_EQ(w.ask("scancel", {"--clusters=Lab", "242"}).inputs.size(), 1U);
  EXPECT_EQ(w.ask("scancel", {"242"}, {{"SLURM_CLUSTERS", "other"}}).inputs.size(), 0U);
}

TEST(Scancel, FiltersPickOwnJobs) {
  const QueryWorld w = recorded();
  EXPECT_EQ(w.ask("scancel", {"--me"}).inputs.size(), 6U);
  EXPECT_EQ(w.ask("scancel", {"-u", "bob"}).inputs.size(), 1U);  // which is refused and says so
  EXPECT_EQ(w.ask("scancel", {"-p", "cpu"}).inputs.size(), 0U);  // bob's is passed over
  EXPECT_EQ(w.ask("scancel", {"-t", "PENDING", "-p", "train"}).inputs.size(), 2U);
  EXPECT_EQ(w.ask("scancel", {"-n", "gpu2"}).inputs.size(), 1U);
  EXPECT_EQ(w.ask("scancel", {"--name=gpu2", "242"}).inputs.size(), 0U);
}

TEST(Scancel, SaysOnlyWhatMatters) {
  const QueryWorld w = recorded();
  const std::vector<Reply> unknown{failure(not_found("no"))};
  EXPECT_EQ(finished(w.ask("scancel", {"99999999"}), unknown), (Said{"", "", 0}));
  EXPECT_EQ(finished(w.ask("scancel", {"-v", "99999999"}), unknown),
            (Said{"",
                  "scancel: Terminating job 99999999\n"
                  "scancel: error: Kill job error on job id 99999999: Invalid job id specified\n",
                  0}));
  EXPECT_EQ(
      finished(w.ask("scancel", {"254"}), {failure(denied("Access/permission denied"))}),
      (Said{"", "scancel: error: Kill job error on job id 254: Access/permission denied\n", 210}));
  EXPECT_EQ(w.ask("scancel", {"abc"}).said, (Said{"", "scancel: error: Invalid job id abc\n", 1}));
  EXPECT_EQ(w.ask("scancel", {}).said,
            (Said{"", "scancel: error: No job identification provided\n", 1}));
}

TEST(Scontrol, Updates) {
  const QueryWorld w = recorded();
  const Answer more = w.ask("scontrol", {"update", "JobId=242", "TimeLimit=+30"});
  EXPECT_EQ(input<Update>(more).limit, hours(1) + minutes(30));
  EXPECT_EQ(input<Update>(w.ask("scontrol", {"update", "job", "242", "timelimit=30"})).limit,
            minutes(30));
  EXPECT_EQ(input<Update>(w.ask("scontrol", {"update", "jobid=246", "nice=-5"})).nice, -5);
  EXPECT_EQ(input<Update>(w.ask("scontrol", {"update", "jobid=246", "priority=7"})).priority, 7);
  EXPECT_EQ(w.ask("scontrol", {"update", "jobid=248", "frob=1"}).said,
            (Said{"", "Update of this parameter is not supported: frob=1\nRequest aborted\n", 1}));
}

TEST(Scontrol, Nodes) {
  const QueryWorld w = recorded();
  const Answer drain =
      w.ask("scontrol", {"update", "NodeName=n[1-2]", "State=DRAIN", "Reason=bad fan"});
  ASSERT_EQ(drain.inputs.size(), 2U);
  EXPECT_EQ(input<Drain>(drain, 1).node, "n2");
  EXPECT_EQ(input<Drain>(drain).reason, "bad fan");
  EXPECT_FALSE(input<Drain>(w.ask("scontrol", {"update", "node", "n1", "state=resume"})).drain);
  EXPECT_TRUE(
      input<Drain>(w.ask("scontrol", {"update", "nodename=n1", "state=down", "reason=x"})).down);
  EXPECT_EQ(w.ask("scontrol", {"update", "nodename=n1", "state=odd"}).said.code, 1);
  EXPECT_TRUE(w.ask("scontrol", {"reconfigure"}).reconfigure);
  EXPECT_TRUE(w.ask("scontrol", {"reconfig"}).reconfigure);
}

TEST(Scontrol, HoldsAndRequeues) {
  const QueryWorld w = recorded();
  EXPECT_TRUE(input<Hold>(w.ask("scontrol", {"hold", "246"})).hold);
  EXPECT_FALSE(input<Hold>(w.ask("scontrol", {"release", "246,245_3"}), 1).hold);
  EXPECT_TRUE(input<Requeue>(w.ask("scontrol", {"requeuehold", "242"})).hold);
  EXPECT_FALSE(input<Requeue>(w.ask("scontrol", {"requeue", "245_1"})).hold);
  EXPECT_EQ(finished(w.ask("scontrol", {"hold", "5"}), {failure(not_found("x"))}),
            (Said{"", "Invalid job id specified for job 5\n", 1}));
  EXPECT_EQ(w.ask("scontrol", {"frobnicate"}).said, (Said{"", "invalid keyword: frobnicate\n", 1}));
}

TEST(Offline, HostListsAndVersion) {
  const auto offline = [](const std::string& tool, const std::vector<std::string>& args) {
    return answer_offline(tool, args, "n[2-4]").value_or(Said{"", "", -1}).out;
  };
  EXPECT_EQ(offline("squeue", {"--version"}), "slurm 25.11.0\n");
  EXPECT_EQ(offline("scontrol", {"version"}), "slurm 25.11.0\n");
  EXPECT_EQ(offline("scontrol", {"show", "hostnames"}), "n2\nn3\nn4\n");
  EXPECT_EQ(offline("scontrol", {"show", "hostname", "n[1-2],a"}), "n1\nn2\na\n");
  EXPECT_EQ(offline("scontrol", {"show", "hostnames=n[1-2]"}), "n1\nn2\n");
  EXPECT_EQ(offline("scontrol", {"show", "hostlist", "n01,n02,n03,n1,n10,a"}), "n[01-03,1,10],a\n");
  EXPECT_EQ(offline("scontrol", {"show", "hostlistsorted", "n3,n1,n2"}), "n[1-3]\n");
  EXPECT_FALSE(answer_offline("scontrol", {"show", "job"}, "").has_value());
  EXPECT_EQ(answer_offline("scontrol", {"show", "hostnames"}, "")->err,
            "scontrol: error: host list is empty\n");
}

// What became of attempts that others followed.
TEST(Sacct, DuplicatesSayHowEachAttemptEnded) {
  QueryWorld w = recorded();
  Workload& job = w.add(300, QueryWorld::spec("again"), hours(1));
  const auto ends = [&](EndCause cause, bool ran) {
    PastAttempt past;
    past.number = static_cast<std::uint32_t>(job.past.size() + 1);
    past.placed = past.ended = w.now;
    if (ran) past.launched = w.now;
    past.end.cause = cause;
    job.past.push_back(past);
  };
  ends(EndCause::none, true);
  ends(EndCause::launch_failed, false);
  ends(EndCause::launch_failed, true);
  ends(EndCause::node_failed, false);
  ends(EndCause::node_failed, true);
  job.past.back().end.detail = "node n5: it was silent";
  w.run(job, {5}, 1, 1000);
  EXPECT_EQ(w.out("sacct", {"-D", "-X", "-n", "-P", "-j", "300", "-o", "State"}),
            "REQUEUED\nREQUEUED\nNODE_FAIL\nREQUEUED\nNODE_FAIL\nRUNNING\n");
  EXPECT_EQ(w.out("why", {"300"}),
            "Job 300 (again) is running on n5 since 2026-11-30T08:06:08; its time limit ends at "
            "2026-11-30T09:06:08.\nIts last attempt ended: node n5: it was silent.\n");
}

// Each attempt for itself: what it cost, and how often the job had been restarted before it.
TEST(Sacct, DuplicatesCostWhatTheyRan) {
  QueryWorld w = recorded();
  Workload& job = w.add(300, QueryWorld::spec("again"), hours(1));
  const auto went = [&](EndCause cause, Duration before, Duration time) {
    PastAttempt past;
    past.number = static_cast<std::uint32_t>(job.past.size() + 1);
    past.placed = job.submitted;
    if (time != Duration{}) past.launched = past.placed + before;
    past.ended = past.placed + before + time;
    past.end.cause = cause;
    past.shares.push_back({w.node(1), "b", 1, Quantity::of(3), 1, {0, 1}});  // a byte is a MiB
    past.nodes.push_back("n1");
    job.past.push_back(past);
  };
  went(EndCause::node_failed, milliseconds(400), milliseconds(1234));
  went(EndCause::launch_failed, seconds(7), Duration{});
  went(EndCause::preempted, Duration{}, milliseconds(1));
  job.restarts = 2;
  w.run(job, {5, 2}, 2, 100, {0});
  job.current->number = 4;
  job.current->launched = w.now - milliseconds(1500);
  const std::vector<std::string> args{
      "-D", "-X", "-n", "-P", "-j", "300", "-o", "Restarts,GPUSeconds,CPUSeconds,MemorySeconds"};
  const std::string earlier = "0|2.468|3.702|1.234\n1|0.000|0.000|0.000\n1|0.002|0.003|0.001\n";
  EXPECT_EQ(w.out("sacct", args), earlier + "2|3.000|6.000|300.000\n");
  // It is over, and its nodes still clean up.
  job.past.push_back(job.past.front());
  job.past.back().number = 4;
  job.phase = Phase::ended;
  job.ended = w.now;
  EXPECT_EQ(w.out("sacct", args), earlier + "2|2.468|4.936|246.800\n");
  job.current.reset();
  EXPECT_EQ(w.out("sacct", args), earlier + "2|2.468|3.702|1.234\n");
}

TEST(Why, DatesAreTheAskers) {
  QueryWorld w = recorded();
  const Workload& next = w.add(300, QueryWorld::spec("next"), hours(1));
  Reason reason;
  reason.code = ReasonCode::resources;
  reason.needed = "8 gpus";
  reason.free = "6";
  reason.earliest = w.now + hours(1);
  w.outlook.waits[next.id].reason = reason;
  const std::string sentence = "needs 8 gpus, 6 free; expected to start at 2026-11-30T12:06:20";
  Ask ask;
  ask.zone = {hours(3), {}};
  ask.tool = "why";
  ask.args = {"300"};
  EXPECT_EQ(answer(w.view(), ask).said.out, "Job 300 (next) is waiting: it " + sentence + ".\n");
  ask.tool = "top";
  ask.args = {"--once"};
  EXPECT_NE(answer(w.view(), ask).said.out.find(" " + sentence + "\n"), std::string::npos);
  w.outlook.waits[next.id].reason.earliest.reset();
  EXPECT_EQ(w.out("why", {"300"}), "Job 300 (next) is waiting: it needs 8 gpus, 6 free.\n");
}

TEST(Why, TellsEveryPhase) {
  QueryWorld w = recorded();
  EXPECT_EQ(w.out("why", {"246"}),
            "Job 246 (held) is waiting: it is held by its owner: `scontrol release` lets it go.\n");
  EXPECT_EQ(w.out("why", {"243"}),
            "Job 243 (gpu2) is running on n1 since 2026-11-30T08:06:08; its time limit ends at "
            "2026-11-30T10:06:08.\n");
  auto spec = QueryWorld::spec("lost");
  spec->warnings = {"16 launchers for 16 GPUs"};
  Workload job = w.add(300, spec, hours(1));
  w.run(job, {5}, 1, 1000);
  QueryWorld::end(job, EndCause::failed, 3, w.now);
  job.end.detail = "node n5: cannot create logs/7.out";
  w.state.workloads.erase(job.id);
  w.archive.push_back(job);
  EXPECT_EQ(
      w.out("why", {"300"}),
      "Job 300 (lost) failed with exit code 3:0 at 2026-11-30T08:06:20 after 00:00:12 on n5.\n"
      "Cause: node n5: cannot create logs/7.out.\n"
      "Warning: 16 launchers for 16 GPUs\n");
  EXPECT_EQ(w.ask("why", {"999"}).said.code, 1);
}

TEST(Top, DrawsHoldersAndMarksEmulatedGpus) {
  QueryWorld w = recorded();
  for (Device& device : w.state.nodes[w.node(2)].spec.devices) device.emulated = true;
  const std::string out = w.out("top", {"--once"});
  const std::string first = "n1    mixed      A A · · · · · ·   cpu 5/16  gpu:h100:8\n";
  EXPECT_NE(out.find(first), std::string::npos);
  EXPECT_NE(out.find("gpu:h100:8 (emulated)\n"), std::string::npos);
  EXPECT_NE(out.find("A  243        alice      gpu2"), std::string::npos);
  EXPECT_NE(out.find("waiting\n"), std::string::npos);
}

TEST(Ledger, PartsAddUpToCapacityTimesTime) {
  QueryWorld w = recorded();
  for (auto& [id, node] : w.state.nodes) node.joined = w.now - seconds(100);
  w.state.charged["physics"]["alice"] = {1500, 2500, 4'096'000, 0};
  w.state.reserved = {7, 8, 9, 0};
  const std::string out = w.out("ledger", {});
  const auto value = [&](const std::string& label, std::size_t column = 0) {
    const std::size_t at = out.find("\n" + label);
    EXPECT_NE(at, std::string::npos) << label;
    const std::string line = out.substr(at + 1, out.find('\n', at + 1) - at - 1);
    const auto words = split_blanks(line);
    std::string digits(words.at(words.size() - 3 + column));
    std::erase(digits, '.');
    return parse_int(digits).value_or(-1);
  };
  EXPECT_EQ(value("physics          alice"), 1500);
  EXPECT_EQ(value("chem             alice"), 24'000);
  EXPECT_EQ(value("physics          alice", 1), 2500 + (2 + 2) * 12'000);
  EXPECT_EQ(value("chem             alice", 1), 4 * 12'000);
  EXPECT_EQ(value("physics          alice", 2), 4'096'000 + 4 * 1000 * 12'000);
  EXPECT_EQ(value("chem             alice", 2), 4000 * 12'000);
  EXPECT_EQ(value("chem             bob", 1), 2 * 12'000);
  EXPECT_EQ(value("capacity x time"), 40 * 100'000);
  EXPECT_EQ(value("capacity x time", 1), (6 * 16 + 2 * 32) * 100'000);
  EXPECT_EQ(value("capacity x time", 2), std::int64_t{6 * 64'000 + 2 * 128'000} * 100'000);
  // Each by its own figure, for idle is computed as what the others leave.
  const std::vector<std::pair<const char*, std::array<std::int64_t, 3>>> parts = {
      {"allocated", {25'500, 122'500, 112'096'000}},
      {"reserved", {7, 8, 9}},
      {"down", {0, 3'200'000, 12'800'000'000}},
      {"idle", {3'974'493, 12'677'492, 51'087'903'991}},
  };
  for (const auto& [name, figures] : parts)
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(value(name, i), figures.at(i)) << name << i;
}

// Of a node that is away what a job holds all the same is the job's.
TEST(Ledger, WhatIsHeldOnALostNodeIsNotDown) {
  QueryWorld w = recorded();
  for (auto& [id, node] : w.state.nodes) node.joined = w.now - seconds(100);
  Node& lost = w.state.nodes.at(w.node(1));
  lost.health = NodeHealth::lost;
  lost.since = w.now - seconds(10);  // 242 and 243 hold 5 CPUs and 5000 MiB there
  const std::string out = w.out("ledger", {});
  const std::size_t at = out.find("\ndown ");
  ASSERT_NE(at, std::string::npos) << out;
  const std::string line = out.substr(at + 1, out.find('\n', at + 1) - at - 1);
  const std::vector<std::string_view> words = split_blanks(line);
  ASSERT_EQ(words.size(), 4U) << line;
  EXPECT_EQ(words[1], format("{}.000", (8 - 2) * 10));
  EXPECT_EQ(words[2], format("{}.000", 32 * 100 + (16 - 5) * 10));
  EXPECT_EQ(words[3], format("{}.000", 128'000 * 100 + (64'000 - 5000) * 10));
}

// Memory of a large cluster is more than 64 bits of MiB-milliseconds.
TEST(Ledger, SumsOfALargeClusterDoNotOverflow) {
  QueryWorld w = recorded();
  w.state.charged["a"]["u"].memory_mb_ms = w.state.charged["b"]["u"].memory_mb_ms =
      9'000'000'000'000'000'000;
  const std::string out = w.out("ledger", {});
  EXPECT_NE(out.find("18000000000108000.000"), std::string::npos) << out;
}

TEST(Queries, NamesCannotGarbleATerminal) {
  QueryWorld w = recorded();
  w.add(301, QueryWorld::spec("\x1b[2Jümlaut"), hours(1));
  EXPECT_EQ(w.out("squeue", {"-h", "-j", "301", "-o", "%j"}), "\\x1b[2Jümlaut\n");
  w.add(302, QueryWorld::spec("ümlaut"), hours(1));
  EXPECT_EQ(w.out("squeue", {"-h", "-j", "302", "-o", "%.8j|"}), "  ümlaut|\n");
}

TEST(Queries, TimesFollowTheEnvironment) {
  const QueryWorld w = recorded();
  EXPECT_EQ(
      w.ask("squeue", {"-h", "-j", "243", "-o", "%S"}, {{"SLURM_TIME_FORMAT", "%s"}}).said.out,
      "1796025968\n");
  EXPECT_EQ(w.ask("squeue", {"-j", "243"}, {{"SQUEUE_FORMAT", "%i %T"}}).said.out,
            "JOBID STATE\n243 RUNNING\n");
}

}  // namespace
}  // namespace phalanx::slurm
