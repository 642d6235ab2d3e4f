// Steps inside a job; objects that keep workloads going.
#include "cluster/testing.h"

namespace phalanx::cluster {
namespace {

StepRequest step_of(JobNumber number, std::int64_t tasks, std::int64_t gpus,
                    const std::string& key) {
  StepRequest request;
  request.target.number = number;
  request.key = key;
  request.exact = true;
  request.shape.tasks = tasks;
  request.shape.per_task.cpus = Quantity::of(1);
  if (gpus > 0) request.shape.per_task.gpus = {{"", gpus}};
  return request;
}

World running_allocation() {
  World w("n1:2");
  WorkloadSpec spec = job("2x1");
  spec.kind = WorkloadKind::allocation;
  w.submit(spec);
  w.place();
  w.say("n1", 1, AttemptPhase::running);
  return w;
}

// Each element's srun names it by its SLURM_JOB_ID; the last one's is the array's own number.
TEST(Step, OfEachElementOfAnArray) {
  World w("n1:8");
  w.submit_array(job("1"), {0, 1, 2}, 0);
  w.place();
  for (const std::uint32_t index : {0U, 1U, 2U}) {
    const Workload* element = w.element(1, index);
    ASSERT_TRUE(element);
    w.say("n1", element->number, AttemptPhase::running);
    const Reply reply = w.give(step_of(element->number, 1, 0, "a"), user("anna"));
    ASSERT_TRUE(reply.step) << index << ": " << reply.error->message;
    EXPECT_EQ(w.element(1, index)->steps.size(), 1U);
  }
  EXPECT_EQ(w.element(1, 2)->number, 1U);
  EXPECT_EQ(w.give(step_of(1, 1, 0, "b"), user("bert")).error->code, Error::Code::Denied);
}

TEST(Step, IsGrantedWaitsOrIsImpossible) {
  World w = running_allocation();
  const Reply first = w.give(step_of(1, 1, 1, "a"), user("anna"));
  ASSERT_TRUE(first.step) << first.error->message;
  EXPECT_EQ(first.step->number, 0U);
  const Reply second = w.give(step_of(1, 2, 1, "b"), user("anna"));
  EXPECT_FALSE(second.step);
  EXPECT_NE(second.waiting.find("step 1.0 holds"), std::string::npos) << second.waiting;
  EXPECT_EQ(w.give(step_of(1, 3, 1, "c"), user("anna")).error->code, Error::Code::Invalid);
  EXPECT_EQ(w.give(step_of(1, 1, 1, "d"), user("bert")).error->code, Error::Code::Denied);
  const Reply again = w.give(step_of(1, 1, 1, "a"), user("anna"));
  EXPECT_EQ(again.step->number, 0U);
  StepRequest over = step_of(1, 2, 1, "e");
  over.overlap = true;
  EXPECT_TRUE(w.give(over, user("anna")).step);
  StepOver done;
  done.target = World::target(1);
  done.target.step = 0;
  done.exit_code = 4;
  EXPECT_FALSE(w.give(done, user("anna")).error);
  EXPECT_FALSE(w.give(done, user("anna")).error);
  EXPECT_TRUE(w.give(step_of(1, 2, 1, "b"), user("anna")).step);
  w.give(Finish{World::target(1)}, user("anna"));
  EXPECT_EQ(w.give(step_of(1, 1, 0, "f"), user("anna")).error->code, Error::Code::Conflict);
  w.say("n1", 1, AttemptPhase::gone);
  EXPECT_EQ(w.work(1).end.worst_step, 4);
  for (const auto& [number, step] : w.work(1).steps) {
    EXPECT_TRUE(step.ended);
    EXPECT_EQ(step.exit_signal, number == 0 ? 0 : 9) << "what the job left running was killed";
  }
}

TEST(Step, EndsWhenItsAgentsSaySo) {
  World w = running_allocation();
  w.give(step_of(1, 1, 1, "a"), user("anna"));
  AttemptReport report = w.about("n1", 1, AttemptPhase::running);
  report.steps.push_back({0, 3, 0, false});
  w.say("n1", report);
  EXPECT_TRUE(w.work(1).steps.at(0).ended);
  EXPECT_EQ(w.work(1).steps.at(0).exit_code, 3);
  const std::size_t before = w.events.size();
  w.say("n1", report);
  EXPECT_EQ(w.events.size(), before);
}

TEST(Step, NeedsARunningJob) {
  World w("n1:2");
  w.submit(job("1"));
  EXPECT_EQ(w.give(step_of(1, 1, 0, "a"), user("anna")).error->code, Error::Code::Unavailable);
}

PutObject batch_job(std::int64_t parallelism, std::int64_t completions) {
  PutObject put;
  put.object.key = {"batch", "jobs", "default", "train"};
  put.object.kind = "Job";
  put.expected_version = 0;
  Completions meaning;
  meaning.parallelism = parallelism;
  meaning.completions = completions;
  meaning.backoff_limit = 1;
  auto pod = std::make_shared<WorkloadSpec>(job("1"));
  pod->kind = WorkloadKind::command;
  meaning.pod = std::move(pod);
  put.object.meaning = std::move(meaning);
  return put;
}

const Object& object_of(const World& w) {
  static const Object kNone;
  const auto it = w.state.objects.find({"batch", "jobs", "default", "train"});
  return it == w.state.objects.end() ? kNone : it->second;
}

TEST(Object, KeepsWorkloadsGoingUntilEnoughSucceed) {
  World w("n1:8");
  ASSERT_FALSE(w.give(batch_job(2, 3), user("anna")).error);
  EXPECT_EQ(object_of(w).workloads.size(), 2U);
  EXPECT_EQ(w.work(1).spec->name, "train-0");
  EXPECT_EQ(label(w.work(1)), "default/train-0");
  w.place();
  w.run_to_end("n1", 1);
  EXPECT_EQ(w.work(3).spec->name, "train-2");
  w.archive();
  w.run_to_end("n1", 2);
  EXPECT_EQ(object_of(w).made, 3);  // the third is under way: no fourth
  w.place();
  w.run_to_end("n1", 3);
  EXPECT_TRUE(object_of(w).completed);
  w.archive();
  EXPECT_EQ(object_of(w).succeeded, 3);
  EXPECT_EQ(object_of(w).generation, 1);
}

TEST(Object, FailuresWaitAndEndIt) {
  World w("n1:8");
  w.give(batch_job(1, 1), user("anna"));
  w.place();
  w.run_to_end("n1", 1, 1);
  EXPECT_EQ(w.work(2).spec->begin, w.now + seconds(10));
  w.now += seconds(10);
  w.place();
  w.run_to_end("n1", 2, 1);
  EXPECT_EQ(object_of(w).made, 2);  // backoff_limit 1
  EXPECT_TRUE(object_of(w).completed);
}

TEST(Object, SuspendsAndDeletes) {
  World w("n1:8");
  w.give(batch_job(2, 3), user("anna"));
  w.place();
  PutObject suspend = batch_job(2, 3);
  std::get<Completions>(suspend.object.meaning).suspended = true;
  suspend.expected_version = 1;
  EXPECT_EQ(w.give(suspend, user("anna")).error->code, Error::Code::Conflict);
  suspend.expected_version = w.state.object_version.begin()->second;
  EXPECT_EQ(w.give(suspend, user("bert")).error->code, Error::Code::Denied);
  EXPECT_FALSE(w.give(suspend, user("anna")).error);
  EXPECT_EQ(object_of(w).generation, 2);
  EXPECT_EQ(w.said(), "n1:Stop n1:Stop");
  w.run_to_end("n1", 1);
  DeleteObject gone{object_of(w).key, "not-this-one"};
  EXPECT_EQ(w.give(gone, user("anna")).error->code, Error::Code::Conflict);
  gone.uid = object_of(w).uid;
  EXPECT_FALSE(w.give(gone, user("anna")).error);
  EXPECT_TRUE(object_of(w).deleting);
  w.run_to_end("n1", 2);
  EXPECT_TRUE(w.state.objects.empty());
  w.archive();
  EXPECT_EQ(w.give(gone, user("anna")).error->code, Error::Code::NotFound);
}

TEST(Object, WhatIsPutTwiceIsRefused) {
  World w("n1:8");
  w.give(batch_job(1, 1), user("anna"));
  EXPECT_EQ(w.give(batch_job(1, 1), user("anna")).error->code, Error::Code::Conflict);
}

TEST(Touched, NamesWhatAWatcherMustHear) {
  World w("n1:8");
  w.give(batch_job(1, 1), user("anna"));
  w.place();
  for (const Event& event : w.events) {
    if (const auto* placed = std::get_if<Placed>(&event.what)) {
      const std::vector<Key> keys = touched(w.state, event);
      EXPECT_EQ(keys, (std::vector<Key>{placed->id, object_of(w).key, w.node("n1").id}));
    }
  }
}

}  // namespace
}  // namespace phalanx::cluster
