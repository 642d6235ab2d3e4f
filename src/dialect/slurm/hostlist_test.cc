#include "dialect/slurm/hostlist.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/text.h"

namespace phalanx::slurm {
namespace {

std::string expanded(std::string_view list) {
  const auto names = expand_hosts(list);
  return names.ok() ? join(*names, " ") : "refused: " + names.error().message;
}

TEST(HostList, Expands) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"a", "a"},
      {"n[1-3]", "n1 n2 n3"},
      {"node[01-04]", "node01 node02 node03 node04"},  // B006
      {"n[1-2,04-06]", "n1 n2 n04 n05 n06"},
      {"n[3,1-2]", "n3 n1 n2"},                                   // the order is kept
      {"n[1-2]c[01-03]", "n1c01 n1c02 n1c03 n2c01 n2c02 n2c03"},  // several groups
      {"n[1-2]x[3-4]y", "n1x3y n1x4y n2x3y n2x4y"},
      {"n[1-2],,n3", "n1 n2 n3"},
      {"n1\nn2 n3\t", "n1 n2 n3"},                                // a file's content (S105)
      {"gpu[04,02]", "gpu04 gpu02"},                              // S102
      {"cn[65-66,71],gpu[07-08]", "cn65 cn66 cn71 gpu07 gpu08"},  // S103
      {"[1-3]", "1 2 3"},
  };
  for (const auto& [list, names] : cases) EXPECT_EQ(expanded(list), names) << list;
  EXPECT_EQ(expand_hosts("euler[01-09],euler[11-12],euler[14],euler[24-27]")->size(), 16u);  // S101
}

TEST(HostList, B003_BadTextIsRefusedAtOnce) {
  for (const char* list :
       {"node]1-2[", "n[1", "n]", "n[", "n[]", "n[1,]", "n[a-b]", "n[2-1]", "n[[1-2]]", "n[-3]",
        "n[1-2-3]", "node[0-2000000]", "n[0-65536]", "n[0-999]x[0-99]", "n[0-18446744073709551615]",
        "n[1-9999999999999999999999]"})
    EXPECT_FALSE(expand_hosts(list).ok()) << list;
  EXPECT_EQ(expand_hosts("n[0-65535]")->size(), kMaxHosts);
  EXPECT_FALSE(expand_hosts(std::string(256, 'n')).ok());
}

TEST(HostList, FoldsAsScontrolShowsIt) {
  const struct {
    const char* names;
    const char* folded;
    const char* sorted;
  } cases[] = {
      // slurm 1.4.8, and the same command of a real Slurm 22.05
      {"n01,n02,n03,n1,n10,a", "n[01-03,1,10],a", "a,n[1,01-03,10]"},
      {"n3,n1,n2", "n[3,1-2]", "n[1-3]"},
      {"n1,n2,n3,n7", "n[1-3,7]", "n[1-3,7]"},
      {"n3,n1,n1,n2", "n[3,1,1-2]", "n[1,1-3]"},
      {"n[1-2]c[01-03]", "n1c[01-03],n2c[01-03]", "n1c[01-03],n2c[01-03]"},
      {"n[09-11],n[9-11]", "n[09-11,9-11]", "n[9,09-10,10-11,11]"},
      {"n098,n099,n100", "n[098-100]", "n[098-100]"},
      {"n98,n99,n100", "n[98-100]", "n[98-100]"},
      {"n[1-3],m,n[5-6]", "n[1-3],m,n[5-6]", "m,n[1-3,5-6]"},
      {"n00,n01", "n[00-01]", "n[00-01]"},
      {"1,2,3", "[1-3]", "[1-3]"},
      {"n1x3y,n1x4y", "n1x3y,n1x4y", "n1x3y,n1x4y"},
      {"n5", "n5", "n5"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(fold_hosts(*expand_hosts(c.names)), c.folded) << c.names;
    EXPECT_EQ(fold_hosts_sorted(*expand_hosts(c.names)), c.sorted) << c.names;
  }
}

TEST(HostList, B001_ExpandOfFoldIsTheSame) {
  const auto two_fields = *expand_hosts("n[01-04]c[01-09]");
  EXPECT_EQ(*expand_hosts(fold_hosts(two_fields)), two_fields);
  Rng rng(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> names;
    for (std::uint64_t i = rng.below(40); i > 0; --i)
      names.push_back(
          format("{}{:0{}}", rng.chance(2) ? "n" : "n01c", rng.below(120), rng.below(4) + 1));
    EXPECT_EQ(*expand_hosts(fold_hosts(names)), names);
  }
}

TEST(HostList, NumbersAreOrderedAsNumbers) {
  EXPECT_TRUE(host_before("n2", "n10"));
  EXPECT_TRUE(host_before("n1", "n01"));
  EXPECT_TRUE(host_before("a", "n1"));
  EXPECT_FALSE(host_before("n1", "n1"));
}

}  // namespace
}  // namespace phalanx::slurm
