#include "dialect/kube/quantity.h"

#include <gtest/gtest.h>

#include <string>

namespace phalanx::kube {
namespace {

std::string cpus(std::string_view text) {
  const auto q = parse_cpus(text);
  return q.ok() ? to_string(*q) : "error";
}

std::string bytes(std::string_view text) {
  const auto n = parse_bytes(text);
  return n.ok() ? std::to_string(*n) : "error";
}

TEST(Quantity, CpusAreExact) {
  const struct {
    std::string_view text, value;
  } cases[] = {
      {"2", "2"},          {"500m", "0.5"},    {"0.5", "0.5"},     {".5", "0.5"},
      {"5.", "5"},         {"1.67", "1.67"},   {"1000", "1000"},   {"0.57", "0.57"},
      {"5.7E-1", "0.57"},  {"1e3", "1000"},    {"1E3", "1000"},    {"+1", "1"},
      {"0", "0"},          {"100u", "0.001"},  {"1n", "0.001"},    {"1k", "1000"},
      {"0.1234", "0.124"}, {"-1", "error"},    {"", "error"},      {"m", "error"},
      {"1 ", "error"},     {"1.2.3", "error"}, {"$GPUS", "error"}, {"1e99", "error"},
      {"2x", "error"},     {"1mm", "error"},
  };
  for (const auto& [text, value] : cases) EXPECT_EQ(cpus(text), value) << text;
}

TEST(Quantity, BytesKnowTheTwoKindsOfSuffix) {
  const struct {
    std::string_view text, value;
  } cases[] = {
      {"2G", "2000000000"},
      {"2Gi", "2147483648"},
      {"0.5Gi", "536870912"},
      {"1124Gi", "1206885810176"},
      {"128974848", "128974848"},
      {"129e6", "129000000"},
      {"129M", "129000000"},
      {"1500m", "2"},
      {"1Pi", "1125899906842624"},
      {"1E", "error"},
      {"9Ei", "error"},
      {"99999999999999999999999999", "error"},
      {"1g", "error"},
      {"1GB", "error"},
      {"1Zi", "error"},
  };
  for (const auto& [text, value] : cases) EXPECT_EQ(bytes(text), value) << text;
}

TEST(Quantity, DevicesAreWhole) {
  EXPECT_EQ(*parse_count("8"), 8);
  EXPECT_EQ(*parse_count("1e1"), 10);
  EXPECT_FALSE(parse_count("0.5").ok());
  EXPECT_FALSE(parse_count("500m").ok());
}

}  // namespace
}  // namespace phalanx::kube
