#include "dialect/kube/check.h"

#include <gtest/gtest.h>

#include "base/codec.h"
#include "base/text.h"
#include "dialect/kube/selector.h"
#include "dialect/kube/table.h"

namespace phalanx::kube {
namespace {

Checked checked(std::string_view text) {
  return check(*codec::parse_json(text), *message_of("batch/v1", "Job"));
}

TEST(Check, KeepsWhatUsersOwn) {
  const Checked c = checked(
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","uid":"u","generation":3,)"
      R"("creationTimestamp":null,"managedFields":[{}]},"status":{"active":1},)"
      R"("spec":{"parallelism":2,"selector":{"matchLabels":{}},"template":{"spec":{)"
      R"("hostNetwork":false,"volumes":[],"containers":[{"resources":{"limits":{"cpu":2,)"
      R"("memory":"1Gi"}}}]}}}})");
  EXPECT_EQ(json::serialize(c.object),
            R"({"metadata":{"name":"a","uid":"u"},"spec":{"parallelism":2,"template":{"spec":{)"
            R"("hostNetwork":false,"volumes":[],"containers":[{"resources":{"limits":{"cpu":"2",)"
            R"("memory":"1Gi"}}}]}}}})");
  EXPECT_TRUE(c.mistyped.empty() && c.unknown.empty() && c.refused.empty());
}

TEST(Check, NamesEveryFault) {
  const Checked c = checked(
      R"({"metadata":{"finalizers":["x"]},"spec":{"foo":1,"parallelism":"2",)"
      R"("ttlSecondsAfterFinished":60,"template":{"spec":{"hostNetwork":true,"containers":[)"
      R"({"command":["echo",true],"volumeMounts":[{}]}]}}}})");
  EXPECT_EQ(c.unknown, std::vector<std::string>{"spec.foo"});
  EXPECT_EQ(c.mistyped, (std::vector<std::string>{
                            "spec.parallelism: must be a whole number",
                            "spec.template.spec.containers[0].command[1]: must be text: put it in "
                            "quotes"}));
  EXPECT_EQ(c.warnings,
            std::vector<std::string>{"spec.ttlSecondsAfterFinished has no effect here"});
  std::vector<std::string> refused;
  refused.reserve(c.refused.size());
  for (const Cause& cause : c.refused) refused.push_back(cause.field);
  EXPECT_EQ(refused,
            (std::vector<std::string>{"metadata.finalizers", "spec.template.spec.hostNetwork",
                                      "spec.template.spec.containers[0].volumeMounts"}));
}

TEST(Check, Names) {
  for (const std::string_view name : {"a", "train-7", "a.b"}) EXPECT_EQ(fault_of_name(name), "");
  for (const std::string_view name : {"", "-a", "A", "a_b", "a/b", "a-"})
    EXPECT_NE(fault_of_name(name), "") << name;
  EXPECT_NE(fault_of_name(std::string(64, 'a')), "");
}

TEST(Selector, SelectsAsKubernetesDoes) {
  const json::value object = *codec::parse_json(
      R"({"metadata":{"name":"web-1","labels":{"app":"web","version":"1.1.0"}},"status":{"n":2}})");
  const struct {
    std::string_view text;
    bool matches;
  } cases[] = {
      {"", true},
      {"app=web", true},
      {"app==web", true},
      {"app!=web", false},
      {"other!=web", true},
      {"app in (db, web)", true},
      {"app notin (db)", true},
      {"other notin (db)", true},
      {"version notin (1.1.0)", false},
      {"app,!other", true},
      {"!app", false},
      {"app=web,version=2", false},
  };
  for (const auto& [text, result] : cases) {
    const auto requirements = parse_requirements(text);
    ASSERT_TRUE(requirements.ok()) << text;
    EXPECT_EQ(matches({*requirements, {}}, object), result) << text;
  }
  EXPECT_TRUE(matches({{}, *parse_requirements("metadata.name=web-1,status.n=2")}, object));
  EXPECT_FALSE(matches({{}, *parse_requirements("metadata.name!=web-1")}, object));
  for (const std::string_view bad : {"=a", "a in", "a in (b", "a of (b)", "a b", ",", "a,,b"})
    EXPECT_FALSE(parse_requirements(bad).ok()) << bad;
}

TEST(Table, AgesAsKubectlPrintsThem) {
  const struct {
    Duration age;
    std::string_view text;
  } cases[] = {
      {seconds(0), "0s"},      {seconds(119), "119s"},  {seconds(120), "2m"},
      {seconds(200), "3m20s"}, {minutes(10), "10m"},    {minutes(179), "179m"},
      {hours(3), "3h"},        {minutes(200), "3h20m"}, {hours(8), "8h"},
      {hours(47), "47h"},      {hours(52), "2d4h"},     {hours(24 * 8), "8d"},
      {hours(24 * 730), "2y"}, {seconds(-5), "0s"},
  };
  for (const auto& [age, text] : cases) EXPECT_EQ(human_duration(age), text);
}

TEST(Table, TimesAreReadBack) {
  const Time t = from_unix_ms(1'796'049'430'000);
  EXPECT_EQ(parse_rfc3339(to_rfc3339(t)), t);
  for (const std::string_view bad :
       {"", "2026-11-30", "2026-13-30T14:37:10Z", "2026-11-30 14:37:10Z"})
    EXPECT_FALSE(parse_rfc3339(bad)) << bad;
}

}  // namespace
}  // namespace phalanx::kube
