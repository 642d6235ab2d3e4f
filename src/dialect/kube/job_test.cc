#include "dialect/kube/job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/codec.h"
#include "base/text.h"

namespace phalanx::kube {
namespace {

JobContext anna() {
  JobContext context;
  context.owner.uid = 1001;
  context.owner.user = "anna";
  context.home = "/home/anna";
  context.shell = "/bin/bash";
  context.grace = seconds(30);
  return context;
}

// A Job of one container that is complete but for what `container` and `spec` add.
json::object job(std::string_view container, std::string_view spec = "",
                 std::string_view pod = "") {
  const std::string text =
      format(R"({{"spec":{{"template":{{"spec":{{"restartPolicy":"Never","containers":)"
             R"([{{"name":"main","image":"host","command":["/bin/true"]{}}}]{}}}}}{}}}}})",
             container, pod, spec);
  json::object body = codec::parse_json(text)->get_object();
  set_job_defaults(body);
  return body;
}

std::string causes(const JobTranslation& t) {
  std::string out;
  for (const Cause& c : t.causes) out += format("{}: {}\n", c.field, c.message);
  return out;
}

TEST(Job, DefaultsAreOnePodOnce) {
  const JobTranslation t = translate_job(job(""), anna());
  EXPECT_EQ(causes(t), "");
  EXPECT_EQ(t.meaning.parallelism, 1);
  EXPECT_EQ(t.meaning.completions, 1);
  EXPECT_EQ(t.meaning.backoff_limit, 6);
  EXPECT_FALSE(t.meaning.suspended);
  EXPECT_EQ(t.pod->kind, WorkloadKind::command);
  EXPECT_EQ(t.pod->dialect, "kube");
  EXPECT_EQ(t.pod->owner.uid, 1001U);
  EXPECT_EQ(t.pod->launch.work_dir, "/home/anna");
  EXPECT_EQ(t.pod->launch.arguments, std::vector<std::string>{"/bin/true"});
  EXPECT_EQ(t.pod->groups.front().per_task, (Request{Quantity::of(1), 0, {}}));
}

TEST(Job, LimitsBecomeTheRequest) {
  const struct {
    std::string_view resources;
    Request request;
  } cases[] = {
      {R"({"limits":{"nvidia.com/gpu":"2","memory":"2Gi"}})",
       {Quantity::of(1), std::int64_t{2} << 30, {{"", 2}}}},
      {R"({"requests":{"cpu":"500m","memory":"1G"}})", {Quantity::milli(500), 1'000'000'000, {}}},
      {R"({"limits":{"cpu":"4","memory":"4Gi"},"requests":{"cpu":"2","memory":"1Gi"}})",
       {Quantity::of(2), std::int64_t{4} << 30, {}}},
      {R"({"limits":{"nvidia.com/gpu":"1"},"requests":{"nvidia.com/gpu":"1"}})",
       {Quantity::of(1), 0, {{"", 1}}}},
  };
  for (const auto& [resources, request] : cases) {
    const JobTranslation t = translate_job(job(format(R"(,"resources":{})", resources)), anna());
    EXPECT_EQ(causes(t), "") << resources;
    EXPECT_EQ(t.pod->groups.front().per_task, request) << resources;
  }
}

TEST(Job, VariablesAreExpandedAsKubernetesDoes) {
  const JobTranslation t =
      translate_job(job(R"x(,"args":["$(A)-$(B)","$(NONE)","$$(A)","${A}","$A","$"],)x"
                        R"x("env":[{"name":"A","value":"1"},{"name":"B","value":"$(A)2"}])x"),
                    anna());
  EXPECT_EQ(t.pod->launch.arguments,
            (std::vector<std::string>{"/bin/true", "1-12", "$(NONE)", "$(A)", "${A}", "$A", "$"}));
  const auto has = [&](const std::string& entry) {
    return t.environment.find(entry + std::string(1, '\0')) != std::string::npos;
  };
  EXPECT_TRUE(has("A=1"));
  EXPECT_TRUE(has("B=12"));
  EXPECT_TRUE(has("HOME=/home/anna"));
  EXPECT_TRUE(has("USER=anna"));
}

TEST(Job, WhatCannotBeDoneIsRefusedByName) {
  const struct {
    json::object body;
    std::string_view field;
  } cases[] = {
      {job(R"(,"image":"nginx:1.27")"), "containers[0].image"},
      {job(R"(,"command":[])"), "containers[0].command"},
      {job("", R"(,"parallelism":4)"), "spec.completions"},
      {job("", R"(,"completionMode":"Indexed")"), "spec.completionMode"},
      {job("", R"(,"parallelism":-1)"), "spec.parallelism"},
      {job("", "", R"(,"restartPolicy":"OnFailure")"), "spec.template.spec.restartPolicy"},
      {job("", "", R"(,"schedulerName":"yunikorn")"), "spec.template.spec.schedulerName"},
      {job("", "", R"(,"terminationGracePeriodSeconds":600)"), "terminationGracePeriodSeconds"},
      {job("", "", R"(,"nodeSelector":{"disk":"ssd"})"), "spec.template.spec.nodeSelector"},
      {job(R"(,"resources":{"limits":{"nvidia.com/gpu":"$GPUS"}})"), "limits.nvidia.com/gpu"},
      {job(R"(,"resources":{"limits":{"nvidia.com/gpu":"0.5"}})"), "limits.nvidia.com/gpu"},
      {job(R"(,"resources":{"requests":{"nvidia.com/gpu":"1"}})"), "requests.nvidia.com/gpu"},
      {job(R"(,"resources":{"limits":{"vpc.amazonaws.com/efa":"1"}})"), "vpc.amazonaws.com/efa"},
      {job(R"(,"workingDir":"data")"), "containers[0].workingDir"},
  };
  for (const auto& [body, field] : cases)
    EXPECT_NE(causes(translate_job(body, anna())).find(field), std::string::npos) << field;
}

TEST(Job, OnlyScaleAndSuspendMayChange) {
  const json::object before = job("");
  EXPECT_TRUE(forbidden_changes(before, job("", R"(,"parallelism":0,"suspend":true)")).empty());
  EXPECT_EQ(forbidden_changes(before, job(R"(,"args":["x"])")).front().field, "spec.template");
  EXPECT_EQ(forbidden_changes(before, job("", R"(,"completions":2)")).front().field,
            "spec.completions");
}

TEST(Job, LabelsThatTheServerShowsAreNotTakenBack) {
  json::object body = job("");
  body["spec"].get_object()["template"].get_object()["metadata"] =
      json::object{{"labels", json::object{{"job-name", "x"}, {"controller-uid", "1"}}}};
  set_job_defaults(body);
  EXPECT_EQ(body, job(""));
}

}  // namespace
}  // namespace phalanx::kube
