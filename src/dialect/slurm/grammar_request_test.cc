#include <gtest/gtest.h>

#include "base/codec.h"
#include "base/rng.h"
#include "base/text.h"
#include "dialect/slurm/grammar.h"

namespace phalanx::slurm {
namespace {

std::string array(std::string_view text, std::uint32_t max = 1001) {
  const auto spec = parse_array(text, max);
  return spec.ok() ? print_array(*spec) : "refused";
}

TEST(Array, IsASetOfIndexes) {
  const std::pair<const char*, const char*> cases[] = {
      {"0-9", "0-9"},           {"1-100:2", "1-99:2"},     // S052: 50 elements
      {"0-9:2%3", "0-8:2%3"},   {"1-100%10", "1-100%10"},  // S053
      {"[1-3,7]", "1-3,7"},     {"[0-9%3]", "0-9%3"},
      {"[0-9]%3", "0-9%3"},     {"1-9,1-9", "1-9"},  // B027: duplicates merge
      {"7,1,3,2", "1-3,7"},     {"1-5,4-8", "1-8"},
      {"1,3,5,7,8", "1-7:2,8"}, {"1,3,5,6,7", "1-5:2,6-7"},
      {"1-3,5", "1-3,5"},       {"5", "5"},
      {"1,3", "1,3"},           {"1-2,6-9%2", "1-2,6-9%2"},  // slurm 1.4.20
      {"1-3%0", "1-3"},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(array(text), printed) << text;
  EXPECT_EQ(array_count(*parse_array("1-100:2")), 50u);
  EXPECT_EQ(array_count(*parse_array("801-1600%30")), 800u);  // S098
  EXPECT_TRUE(array_contains(*parse_array("1-100:2"), 99));
  EXPECT_FALSE(array_contains(*parse_array("1-100:2"), 98));
}

TEST(Array, B027_RefusesEarlyAndWithoutExpansion) {
  for (const char* text : {"", "foo", "5-1", "1:2", "1-", "-1", "1,,2", "1-3:0", "1-3%", "1-3%x",
                           "[1-3", "1-3]", "[", "rray=1-45" /* S093 */, "1-10715" /* S116 */,
                           "0-1001", "0-99999,0-99999", "0-18446744073709551615"})
    EXPECT_EQ(array(text), "refused") << text;
  EXPECT_EQ(array("0-1000"), "0-1000");
  EXPECT_EQ(array("0-99999,0-99999", 200'000), "0-99999");
  std::string many = "0-4000000:2";
  for (int i = 0; i < 1000; ++i) many += ",1-4000000:2";
  EXPECT_EQ(array(many, kMaxArraySize), "refused");
}

TEST(Array, PrintingGivesBackTheSameSet) {
  Rng rng(7);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    std::vector<bool> member(64);
    for (std::uint64_t i = rng.below(6) + 1; i > 0; --i) {
      const std::uint64_t first = rng.below(60), last = first + rng.below(64 - first),
                          step = rng.below(4) + 1;
      text += format("{}{}-{}:{}", text.empty() ? "" : ",", first, last, step);
      for (std::uint64_t n = first; n <= last; n += step) member[n] = true;
    }
    const ArraySpec spec = *parse_array(text);
    EXPECT_EQ(*parse_array(print_array(spec)), spec) << text;
    std::vector<std::uint32_t> indexes;
    for (std::uint32_t n = 0; n < 64; ++n) {
      EXPECT_EQ(array_contains(spec, n), member[n]) << text << " " << n;
      if (member[n]) indexes.push_back(n);
    }
    EXPECT_EQ(array_count(spec), indexes.size());
    EXPECT_EQ(fold_indexes(indexes), spec.ranges);
  }
}

std::string dependency(std::string_view text) {
  const auto list = parse_dependencies(text);
  return list.ok() ? print_dependencies(*list) : "refused";
}

TEST(Dependency, ReadsEveryKind) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"0", ""},
      {"afterok:225:226,afterany:228", "afterok:225,afterok:226,afterany:228"},  // golden show-f
      {"afterok:225?afternotok:225", "afterok:225?afternotok:225"},
      {"after:225+1", "after:225+1"},
      {"after:5+10:6", "after:5+10,after:6"},
      {"singleton", "singleton"},
      {"afterok:234_1", "afterok:234_1"},
      {"aftercorr:234_*", "aftercorr:234"},
      {"AFTERANY:7", "afterany:7"},
      {"123", "afterany:123"},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(dependency(text), printed) << text;
  EXPECT_TRUE(parse_dependencies("afterok:1?afterok:2")->any);
}

TEST(Dependency, RefusesWhatItCannotRead) {
  for (const char* text :
       {"foo:1" /* slurm 1.4.20 */, "afterok", "afterok:", "afterok:0", "afterok:1,",
        "afterok:1,afterok:2?afterok:3", "afterok:1+5", "singleton:1",
        "afterok:$upstreamJobId" /* S097 */, "afterok:1_x", "afterok:-1"})
    EXPECT_EQ(dependency(text), "refused") << text;
}

std::string gres(std::string_view text) {
  const auto list = parse_gres(text);
  return list.ok() ? print_gres(*list) : "refused";
}

TEST(Gres, ReadsNameTypeAndCount) {
  const std::pair<const char*, const char*> cases[] = {
      {"gpu:rtxpro6000:8", "gpu:rtxpro6000:8"},
      {"gpu", "gpu:1"},
      {"gpu:0", "gpu:0"},  // S127
      {"gpu:4", "gpu:4"},
      {"gpu:a100", "gpu:a100:1"},
      {"gpu:a100:1,gpu:v100:2", "gpu:a100:1,gpu:v100:2"},
      {"gpu:a100.20gb:1", "gpu:a100.20gb:1"},  // S076
      {"gpu:1g.10gb", "gpu:1g.10gb:1"},
      {"gpumem:22g", "gpumem:23622320128"},  // S129
      {"gres/gpu=2", "gpu:2"},
      {"gres:gpu:2", "gpu:2"},
      {"gpu:1K", "gpu:1024"},
      {"none", ""},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(gres(text), printed) << text;
  for (const char* text :
       {"", "gpu:", ":2", "gpu:a:b:1", "gpu:a100:x", "gpu,gpu", "gpu::2", "gpu:1,"})
    EXPECT_EQ(gres(text), "refused") << text;
}

TEST(Gpus, TheWordBeforeTheColonIsAType) {
  EXPECT_EQ(print_gres(*parse_gpus("4")), "gpu:4");
  EXPECT_EQ(print_gres(*parse_gpus("a100:4")), "gpu:a100:4");
  EXPECT_EQ(print_gres(*parse_gpus("a100:1,v100:2")), "gpu:a100:1,gpu:v100:2");
  EXPECT_EQ((*parse_gpus("gpu:2"))[0].type, "gpu");                      // S130
  EXPECT_EQ(print_gres(*parse_gpus("a100.20gb:1")), "gpu:a100.20gb:1");  // S128
  for (const char* text : {"", "a100", "a100:", ":4", "-1", "4,"})
    EXPECT_FALSE(parse_gpus(text).ok()) << text;
}

TEST(Export, B032_KeepsTheRestOfTheEnvironment) {
  EXPECT_EQ(*parse_export("ALL"), (ExportSpec{ExportBase::All, {}, {}}));
  EXPECT_EQ(*parse_export("all"), (ExportSpec{ExportBase::All, {}, {}}));
  EXPECT_EQ(*parse_export("NONE"), (ExportSpec{ExportBase::None, {}, {}}));
  EXPECT_EQ(*parse_export("NIL"), (ExportSpec{ExportBase::Nil, {}, {}}));
  EXPECT_EQ(*parse_export("ALL,V=x"), (ExportSpec{ExportBase::All, {}, {{"V", "x"}}}));
  EXPECT_EQ(*parse_export("MYLIB,HOMEPACK"),
            (ExportSpec{ExportBase::Listed, {"MYLIB", "HOMEPACK"}, {}}));  // S091
  EXPECT_EQ(*parse_export("A=b=c,D='x, y',E"),
            (ExportSpec{ExportBase::Listed, {"E"}, {{"A", "b=c"}, {"D", "x, y"}}}));
  EXPECT_EQ(parse_export("ALL,PATH=/x:${PATH}")->values.at("PATH"), "/x:${PATH}");  // S118
  EXPECT_FALSE(parse_export("=x").ok());
  EXPECT_FALSE(parse_export("A='x").ok());
}

TEST(Constraint, JoinsFeatures) {
  const std::pair<const char*, const char*> cases[] = {
      {"gpu80", "gpu80"},                    // S045
      {"knl,quad,cache", "knl&quad&cache"},  // S122
      {"gpu&hbm80g", "gpu&hbm80g"},          // S123
      {"haswell|broadwell", "haswell|broadwell"},
      {"a|b&c", "(a|b)&c"},  // from left to right
      {"a&(b|c)", "a&(b|c)"},
      {"[rack1|rack2]", "[rack1|rack2]"},
      {"[rack1*2&rack2*4]", "[(rack1*2&rack2*4)]"},
      {"[rack1|rack2]&gpu", "[rack1|rack2]&gpu"},
      {"(a&b)*2", "(a&b)*2"},
      {"intel*4", "intel*4"},
  };
  for (const auto& [text, printed] : cases) {
    const auto parsed = parse_constraint(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(print_constraint(*parsed), printed) << text;
    EXPECT_EQ(*parse_constraint(printed), *parsed) << text;
  }
  for (const char* text :
       {"", "a&", "&a", "a||b", "(a", "a)", "[a", "a*", "a*0", "a b", "!a", "a*2*3", "()"})
    EXPECT_FALSE(parse_constraint(text).ok()) << text;
  EXPECT_FALSE(parse_constraint(std::string(40, '(') + "a" + std::string(40, ')')).ok());
}

TEST(Constraint, TellsWhichNodeMayServe) {
  const std::vector<std::string> features{"a100", "nvlink"};
  const auto allows = [&](std::string_view text) {
    return constraint_allows(*parse_constraint(text), features);
  };
  EXPECT_TRUE(allows("a100&nvlink"));
  EXPECT_FALSE(allows("a100&v100"));
  EXPECT_TRUE(allows("v100|a100"));
  EXPECT_FALSE(allows("a100|v100&ib"));
  EXPECT_TRUE(allows("[v100|a100]"));
}

TEST(Requests, TravelThroughTheCodec) {
  const Constraint constraint = *parse_constraint("a&(b|c)*2");
  EXPECT_EQ(*codec::decode<Constraint>(codec::encode(constraint)), constraint);
  const ArraySpec spec = *parse_array("0-9:2%3");
  EXPECT_EQ(*codec::decode<ArraySpec>(codec::encode(spec)), spec);
}

}  // namespace
}  // namespace phalanx::slurm
