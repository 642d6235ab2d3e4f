#include "dialect/kube/patch.h"

#include <gtest/gtest.h>

#include <string>

#include "base/codec.h"

namespace phalanx::kube {
namespace {

json::value parsed(std::string_view text) { return *codec::parse_json(text); }

TEST(MergePatch, FollowsRfc7386) {
  const struct {
    std::string_view target, patch, result;
  } cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const auto& [target, patch, result] : cases) {
    json::value v = parsed(target);
    merge_patch(v, parsed(patch));
    EXPECT_EQ(v, parsed(result)) << patch;
  }
}

std::string strategic(std::string_view target, std::string_view patch) {
  json::value v = parsed(target);
  const Status status =
      strategic_patch(v.get_object(), parsed(patch).get_object(), *message_of("batch/v1", "Job"));
  return status.ok() ? json::serialize(v) : "error: " + status.error().message;
}

std::string job(std::string_view containers) {
  return R"({"spec":{"template":{"spec":{"containers":)" + std::string(containers) + "}}}}";
}

TEST(StrategicPatch, MergesListsByTheirKey) {
  const struct {
    std::string_view target, patch, result;
  } cases[] = {
      {R"([{"name":"a","image":"x"}])", R"([{"name":"a","image":"y"}])",
       R"([{"name":"a","image":"y"}])"},
      {R"([{"name":"a"}])", R"([{"name":"b"}])", R"([{"name":"a"},{"name":"b"}])"},
      {R"([{"name":"a"},{"name":"b"}])", R"([{"$patch":"delete","name":"a"}])",
       R"([{"name":"b"}])"},
      {R"([{"name":"a"}])", R"([{"name":"c"},{"$patch":"replace"}])", R"([{"name":"c"}])"},
      {R"([{"name":"a","args":["1","2"]}])", R"([{"name":"a","args":["3"]}])",
       R"([{"name":"a","args":["3"]}])"},
      {R"([{"name":"a","env":[{"name":"K","value":"1"}]}])",
       R"([{"name":"a","env":[{"name":"L","value":"2"}],)"
       R"("$setElementOrder/env":[{"name":"L"},{"name":"K"}]}])",
       R"([{"name":"a","env":[{"name":"L","value":"2"},{"name":"K","value":"1"}]}])"},
      // The same key twice: the first one is meant, and nothing breaks.
      {R"([{"name":"a","image":"x"},{"name":"a","image":"z"}])", R"([{"name":"a","image":"y"}])",
       R"([{"name":"a","image":"y"},{"name":"a","image":"z"}])"},
  };
  for (const auto& [target, patch, result] : cases)
    EXPECT_EQ(strategic(job(target), job(patch)), job(result)) << patch;
}

TEST(StrategicPatch, KnowsTheDirectives) {
  const struct {
    std::string_view target, patch, result;
  } cases[] = {
      {R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{"labels":{"a":null,"b":"2"}}})",
       R"({"metadata":{"labels":{"b":"2"}}})"},
      {R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"$patch":"replace","b":"2"}}})",
       R"({"metadata":{"labels":{"b":"2"}}})"},
      {R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
       R"({"metadata":{"labels":{"$retainKeys":["b"]}}})", R"({"metadata":{"labels":{"b":"2"}}})"},
      {R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})",
       R"({"metadata":{"finalizers":["b"]}})"},
      {R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{"labels":{"$patch":"delete"}}})",
       R"({"metadata":{}})"},
  };
  for (const auto& [target, patch, result] : cases)
    EXPECT_EQ(strategic(target, patch), result) << patch;
  EXPECT_EQ(strategic(job("[]"), job(R"([{"image":"x"}])")),
            R"(error: the patch of containers needs "name" in every element)");
}

TEST(JsonPatch, FollowsRfc6902) {
  const struct {
    std::string_view target, patch, result;
  } cases[] = {
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":1})", R"([{"op":"remove","path":"/a"}])", R"({})"},
      {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":[1]})", R"([{"op":"replace","path":"/a/0","value":2}])", R"({"a":[2]})"},
      {R"({"a":1})", R"([{"op":"move","from":"/a","path":"/b"}])", R"({"b":1})"},
      {R"({"a":1})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"a":1,"b":1})"},
      {R"({"a/b":{"~":1}})", R"([{"op":"test","path":"/a~1b/~0","value":1}])",
       R"({"a/b":{"~":1}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", "error"},
      {R"({"a":1})", R"([{"op":"remove","path":"/b"}])", "error"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/7","value":2}])", "error"},
      {R"({"a":1})", R"([{"op":"add","path":"b","value":2}])", "error"},
      {R"({"a":1})", R"([{"op":"jump","path":"/a"}])", "error"},
      {R"({"a":1})", R"({"op":"remove","path":"/a"})", "error"},
  };
  for (const auto& [target, patch, result] : cases) {
    json::value v = parsed(target);
    const Status status = json_patch(v, parsed(patch));
    EXPECT_EQ(status.ok() ? json::serialize(v) : "error", result) << patch;
  }
}

TEST(JsonPatch, DoesNotGrowWithoutBound) {
  json::value v = parsed(R"({"a":"0123456789"})");
  std::string patch = "[";
  for (int i = 0; i < 60; ++i)
    patch += R"({"op":"copy","from":"","path":"/c)" + std::to_string(i) + R"("},)";
  patch.back() = ']';
  EXPECT_FALSE(json_patch(v, parsed(patch)).ok());
}

}  // namespace
}  // namespace phalanx::kube
