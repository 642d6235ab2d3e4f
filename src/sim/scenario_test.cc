// The parser: what it reads, and what it says about what it cannot read.
#include <gtest/gtest.h>

#include "base/text.h"
#include "sim/scenario.h"
#include "sim/sim.h"
#include "sim/value.h"
#include "sim/words.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kNodes = "nodes gpus\nn1 8\n\n";

std::string complaints(std::string_view text) {
  std::string all;
  for (const Diagnostic& d : parse_scenario(text, "f.scn").diagnostics)
    all += (all.empty() ? "" : " | ") + to_string(d);
  return all;
}

TEST(Values, Durations) {
  const struct {
    std::string_view text;
    std::int64_t ms;  // -1: none
  } cases[] = {{"90s", 90'000},
               {"1h30m", 5'400'000},
               {"250ms", 250},
               {"2d", 172'800'000},
               {"0s", 0},
               {"0", 0},
               {"1h90", -1},
               {"", -1},
               {"fast", -1},
               {"-5s", -1},
               {"5", -1},
               {"9999999d", -1},
               {"99999999999999s", -1}};
  for (const auto& c : cases) {
    const auto d = parse_duration(c.text);
    EXPECT_EQ(d.ok() ? d->count() : -1, c.ms) << c.text;
  }
  EXPECT_EQ(*parse_duration("forever"), kForever);
}

TEST(Values, Names) {
  EXPECT_EQ(*expand_names("n[1-3,7],login"),
            (std::vector<std::string>{"n1", "n2", "n3", "n7", "login"}));
  for (const std::string_view bad : {"n[3-1]", "n[1-9999999]", "n[1", "n]1[", "", "a,,b"})
    EXPECT_FALSE(expand_names(bad).ok()) << bad;
}

TEST(Words, DatesAndJobNumbersInTheTermsOfAScenario) {
  EXPECT_EQ(relative_times("at 1970-01-01T01:30:00Z or so", Time{}), "at 1h30m or so");
  const std::map<JobNumber, std::string> names{{1, "A"}, {12, "B"}};
  EXPECT_EQ(name_jobs("job 12 came first", names), "B came first");
  EXPECT_EQ(name_jobs("launch failed for jobs 1 and 12", names), "launch failed for A and B");
}

TEST(Scenario, ReadsTables) {
  const auto parsed = parse_scenario(
      "# A title.\n\nnodes gpus features\nn[1-2] h100:8 fast,big # twins\n\n"
      "workloads submit nodes gpus/node after array\nA 5s 2 4 - -\nB - - - afterok:A,singleton "
      "1-5:2%2\n\nat what\n1m lose node n1\n2m cancel B_3 by root\n\nplay until=1h step=5m\n",
      "f");
  ASSERT_TRUE(parsed.ok()) << to_string(*parsed.first_error());
  const Scenario& s = parsed.value;
  EXPECT_EQ(s.title, "A title.");
  ASSERT_EQ(s.machines.size(), 2U);
  EXPECT_EQ(s.machines[1].spec.devices.size(), 8U);
  EXPECT_EQ(s.machines[1].spec.features, (std::vector<std::string>{"fast", "big"}));
  EXPECT_EQ(s.work[0].spec.groups[0].tasks, 2);
  EXPECT_EQ(s.work[1].array->pending, (std::set<std::uint32_t>{1, 3, 5}));
  EXPECT_EQ(s.work[1].array->at_once, 2U);
  EXPECT_EQ(s.work[1].after.size(), 2U);
  EXPECT_EQ(s.happenings[1].by, "root");
  EXPECT_EQ(s.play.step, minutes(5));
}

TEST(Scenario, SaysWhatIsWrongAndWhere) {
  const struct {
    std::string_view text, says;
  } cases[] = {
      {"nodes gpu\nn1 8\n", "f.scn:1:7: error: nodes have no column 'gpu'; did you mean 'gpus'?"},
      {"node gpus\nn1 8\n", "there is no table 'node'; did you mean 'nodes'?"},
      {"nodes gpus\nn1 many\n", "f.scn:2:4: error: gpus: 'many' is no whole number"},
      {"nodes gpus\nn1 8 9\n", "more cells than the table has columns"},
      {"", "there is no node"},
      {"nodes gpus\nn1 1\nn1 1\n", "two nodes called n1"},
  };
  for (const auto& c : cases)
    EXPECT_NE(complaints(c.text).find(c.says), std::string::npos) << complaints(c.text);
  const struct {
    std::string_view text, says;
  } below[] = {
      {"workloads submit\nA 1s\n", "would run for ever"},
      {"workloads limit after\nA 1h afterok:B\n", "waits for B, which is not in the table"},
      {"workloads limit\nA 1h\nA 1h\n", "two workloads called A"},
      {"at what\n1m loose node n1\n", "did you mean 'lose node'?"},
      {"at what\n1m lose node n9\n", "there is no n9 in this scenario"},
      {"at what\n1m partition main sideways\n", "no state of a partition"},
      {"play untill=2h\n", "did you mean 'until'?"},
      {"policy promises\n", "write name=value"},
      {"expect is\nmakespam <= 1h\n", "did you mean 'makespan'?"},
  };
  for (const auto& c : below) {
    const std::string said = complaints(std::string(kNodes) + std::string(c.text));
    EXPECT_NE(said.find(c.says), std::string::npos) << said;
  }
}

TEST(Scenario, AnExpectationThatDoesNotHoldIsAProblem) {
  const auto replayed = play_file(
      "nodes gpus\nn1 8\n\nworkloads limit\nA 1h\n\nexpect is\nmakespan <= 30m\nstarved = 0\n",
      "f");
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  ASSERT_EQ(replayed->problems.size(), 1U);
  EXPECT_NE(replayed->problems[0].find("makespan <= 30m"), std::string::npos);
}

}  // namespace
}  // namespace phalanx::sim
