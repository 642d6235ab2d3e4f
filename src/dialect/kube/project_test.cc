#include "dialect/kube/project.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "dialect/kube/table.h"

namespace phalanx::kube {
namespace {

constexpr Time kNow = from_unix_ms(1'796'000'100'000);

// A Job of two Pods, of which the second waits.
class Cluster {
 public:
  Cluster() {
    Object& job = state.objects[key];
    job.key = key;
    job.uid = "11111111-2222-4333-8444-555555555555";
    job.version = "batch/v1";
    job.kind = "Job";
    job.created = job.started.emplace(from_unix_ms(1'796'000'000'000));
    job.body = R"({"metadata":{"labels":{"team":"nlp"}},"spec":{"completions":2,"parallelism":2,)"
               R"("template":{"spec":{"containers":[{"name":"main","image":"host"}]}}}})";
    Completions meaning;
    meaning.parallelism = meaning.completions = 2;
    job.meaning = meaning;
    add(WorkloadId{7}, Phase::running);
    add(WorkloadId{8}, Phase::pending);
    outlook.at = kNow;
    outlook.waits[WorkloadId{8}].reason.code = ReasonCode::resources;
    outlook.waits[WorkloadId{8}].reason.needed = "1 gpu";
    outlook.waits[WorkloadId{8}].reason.free = "0";
  }

  void add(WorkloadId id, Phase phase) {
    auto spec = std::make_shared<WorkloadSpec>();
    spec->name = format("train-{}", id.value - 7);
    spec->object = to_string(key);
    Workload& w = state.workloads[id];
    w.id = id;
    w.spec = std::move(spec);
    w.phase = phase;
    w.submitted = job().created;
    job().workloads.push_back(id);
    ++job().made;
  }
  Object& job() { return state.objects[key]; }
  Workload& pod(std::uint64_t id) { return state.workloads[WorkloadId{id}]; }
  json::value shown() { return object_json(state, job(), 12); }
  json::value shown_pod(std::uint64_t id) { return pod_json(state, outlook, job(), pod(id), 12); }

  // The normal cells of `kubectl get`.
  std::string row(std::string_view resource, const json::value& object) {
    const Resource& r = *find_resource(resource == "jobs" ? "batch" : "", "v1", resource);
    const json::object& o = object.get_object();
    const json::value t = table(r, {&o, 1}, kNow, "12", RowObject::none);
    std::string out;
    for (const json::value& cell : find(t, {"rows"})->get_array().front().at("cells").get_array())
      if (cell.is_string()) out += std::string(cell.get_string()) + " ";
    return out.substr(0, out.find(" <none>"));
  }

  ObjectKey key{"batch", "jobs", "default", "train"};
  State state;
  Outlook outlook;
};

TEST(Project, AJobRuns) {
  Cluster c;
  const json::value v = c.shown();
  EXPECT_EQ(integer_at(v, {"status", "active"}), 2);
  EXPECT_EQ(integer_at(v, {"status", "ready"}), 1);
  EXPECT_EQ(text_at(v, {"metadata", "resourceVersion"}), "12");
  EXPECT_EQ(text_at(v, {"metadata", "labels", "team"}), "nlp");
  EXPECT_EQ(text_at(v, {"spec", "template", "metadata", "labels", "job-name"}), "train");
  EXPECT_TRUE(c.row("jobs", v).starts_with("train Running 0/2 100s 100s main"));
}

TEST(Project, AJobIsComplete) {
  Cluster c;
  c.pod(7).phase = Phase::ended;
  c.pod(7).end.cause = EndCause::completed;
  c.state.workloads.erase(WorkloadId{8});  // the archive has it
  c.job().workloads.pop_back();
  c.job().succeeded = 1;
  c.job().completed = kNow - seconds(10);
  const json::value v = c.shown();
  EXPECT_EQ(integer_at(v, {"status", "succeeded"}), 2);
  EXPECT_TRUE(c.row("jobs", v).starts_with("train Complete 2/2 90s 100s main"));
}

TEST(Project, AJobHasFailed) {
  Cluster c;
  c.job().completed = kNow;
  c.job().failed = 7;
  EXPECT_TRUE(c.row("jobs", c.shown()).starts_with("train Failed 0/2"));
}

TEST(Project, PodsShowWhatTheyDo) {
  Cluster c;
  EXPECT_EQ(c.row("pods", c.shown_pod(7)), "train-0 1/1 Running 0 100s");
  EXPECT_EQ(c.row("pods", c.shown_pod(8)), "train-1 0/1 Pending 0 100s");
  c.pod(8).phase = Phase::placed;
  EXPECT_EQ(c.row("pods", c.shown_pod(8)), "train-1 0/1 ContainerCreating 0 100s");
  c.pod(7).stop_since = kNow;
  EXPECT_EQ(c.row("pods", c.shown_pod(7)), "train-0 1/1 Terminating 0 100s");
  c.pod(7).phase = Phase::ended;
  c.pod(7).end = {EndCause::failed, 3, 0, 0, 0, ""};
  EXPECT_EQ(c.row("pods", c.shown_pod(7)), "train-0 0/1 Error 0 100s");
  const json::value v = c.shown_pod(7);
  const json::value& status = find(v, {"status", "containerStatuses"})->get_array().front();
  EXPECT_EQ(integer_at(status, {"state", "terminated", "exitCode"}), 3);
}

TEST(Project, AWaitingPodSaysWhy) {
  Cluster c;
  const auto events = events_json(c.state, c.outlook, c.job(), c.pod(8), 12);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(text_at(json::value(events[0]), {"message"}), "needs 1 gpu, 0 free");
  EXPECT_EQ(text_at(json::value(events[1]), {"involvedObject", "kind"}), "Job");
  EXPECT_TRUE(events_json(c.state, c.outlook, c.job(), c.pod(7), 12).empty());
}

TEST(Project, UidsOfPodsDiffer) {
  Cluster c;
  EXPECT_EQ(pod_uid(c.job(), WorkloadId{8}), "11111111-2222-4333-8444-000000000008");
}

}  // namespace
}  // namespace phalanx::kube
