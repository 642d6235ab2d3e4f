#include <gtest/gtest.h>

#include "base/codec.h"
#include "model/input.h"

namespace phalanx {
namespace {

TEST(Model, EventsSurviveTheJournal) {
  auto spec = std::make_shared<WorkloadSpec>();
  spec->name = "train";
  spec->owner = {IdentityKind::unix_user, 1000, 1000, "anna", "anna", {4, 27}, false};
  spec->groups[0].per_task.gpus = {{"rtxpro6000", 1}};
  spec->launch.limits["nofile"] = -1;
  Array array;
  array.pending = {1, 2, 3};
  const Event event{from_unix_ms(7), Submitted{WorkloadId{3}, 4711, spec, hours(1), std::nullopt,
                                               true, array, "k", "c"}};
  const std::string text = codec::encode(event);
  const auto back = codec::decode<Event>(text);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(codec::encode(*back), text);
  EXPECT_EQ(std::get<Submitted>(back->what).spec->owner.user, "anna");
}

TEST(Model, ObjectKeysReadBack) {
  const ObjectKey key{"batch", "jobs", "default", "train"};
  EXPECT_EQ(parse_object_key(to_string(key)), key);
  EXPECT_EQ(to_string(ObjectKey{"", "configmaps", "default", "c"}), "/configmaps/default/c");
}

TEST(Model, EveryReasonHasASentence) {
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<ReasonCode>>([](auto d) {
    Reason reason;
    reason.code = d.value;
    EXPECT_FALSE(sentence(reason, "job 7").empty()) << d.name;
  });
}

TEST(Model, CountsGpusWhateverTheSpelling) {
  TaskGroup g;
  g.tasks = 16;
  g.nodes_min = 2;
  g.per_node.gpus = {{"", 8}};
  EXPECT_EQ(gpus_asked(g), 16);
  g.per_node.gpus.clear();
  g.per_task.gpus = {{"", 1}};
  EXPECT_EQ(gpus_asked(g), 16);
}

}  // namespace
}  // namespace phalanx
