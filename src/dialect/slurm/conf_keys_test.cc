#include "dialect/slurm/conf_keys.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

constexpr ConfSection kSections[] = {
    ConfSection::Global,    ConfSection::Node,     ConfSection::Partition, ConfSection::NodeSet,
    ConfSection::DownNodes, ConfSection::Frontend, ConfSection::Switch,    ConfSection::Block,
    ConfSection::Gres,      ConfSection::Cgroup};

TEST(ConfKeys, TablesAreSound) {
  for (ConfSection section : kSections) {
    std::set<std::string> names;
    for (const ConfKey& key : conf_keys(section)) {
      EXPECT_TRUE(names.insert(to_lower(key.name)).second) << key.name << " is there twice";
      EXPECT_TRUE(key.handling != KeyHandling::Kept || !key.note.empty())
          << key.name << ": why is it kept?";
      EXPECT_TRUE(key.handling != KeyHandling::Removed || !key.removed.empty())
          << key.name << ": removed when?";
      if (!key.same_as.empty()) {
        const ConfKey* other = find_key(section, key.same_as);
        ASSERT_NE(other, nullptr) << key.name;
        EXPECT_TRUE(other->same_as.empty()) << key.name;
        EXPECT_EQ(other->handling, key.handling) << key.name;
      }
    }
  }
}

TEST(ConfKeys, AreFoundInAnyCase) {
  for (const char* name : {"slurmctldhost", "SLURMCTLDHOST", "SlurmctldHost"})
    EXPECT_NE(find_key(ConfSection::Global, name), nullptr);
  EXPECT_EQ(canonical(*find_key(ConfSection::Node, "procs")), "CPUs");
  EXPECT_EQ(canonical(*find_key(ConfSection::Node, "Features")), "Feature");
  EXPECT_EQ(canonical(*find_key(ConfSection::Partition, "SHARED")), "OverSubscribe");
  EXPECT_EQ(find_key(ConfSection::Global, "CPUs"), nullptr);
}

TEST(ConfKeys, UnknownKeysGetASuggestion) {
  const struct {
    ConfSection section;
    const char* name;
    const char* message;
  } cases[] = {
      {ConfSection::Global, "KillWiat",
       "KillWiat is not a key of slurm.conf; did you mean KillWait?"},
      {ConfSection::Global, "CoresPerSocket",
       "CoresPerSocket is not a key of slurm.conf; it belongs to a NodeName line"},
      {ConfSection::Node, "MaxTime",
       "MaxTime is not a key of a NodeName line; it belongs to a PartitionName line"},
      {ConfSection::Node, "RealMemroy",
       "RealMemroy is not a key of a NodeName line; did you mean RealMemory?"},
      {ConfSection::Cgroup, "Xyzzyplugh",
       "Xyzzyplugh is not a key of cgroup.conf; remove it or put # before it"},
      {ConfSection::Global, "PartitionNam",
       "PartitionNam is not a key of slurm.conf; did you mean PartitionName?"},
  };
  for (const auto& c : cases) EXPECT_EQ(unknown_key_message(c.section, c.name), c.message);
}

TEST(ConfKeys, SomeValuesAskForNothing) {
  EXPECT_TRUE(asks_for_nothing(ConfSection::Global, "PreemptType", "preempt/NONE"));
  EXPECT_FALSE(asks_for_nothing(ConfSection::Global, "PreemptType", "preempt/qos"));
  EXPECT_FALSE(asks_for_nothing(ConfSection::Partition, "PreemptType", "preempt/none"));
}

TEST(ConfKeys, OptionsInsideValues) {
  EXPECT_EQ(parameter_handling("SchedulerParameters", "bf_window"), KeyHandling::Kept);
  EXPECT_EQ(parameter_handling("SchedulerParameters", "kill_invalid_depend"), KeyHandling::NotYet);
  EXPECT_EQ(parameter_handling("SchedulerParameters", "max_switch_wait"), KeyHandling::NotYet);
  EXPECT_EQ(parameter_handling("SlurmdParameters", "config_overrides"), KeyHandling::NotYet);
}

}  // namespace
}  // namespace phalanx::slurm
