// A core on a journal in memory, for tests of this room: what it is asked, what it told the
// outside.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/core.h"

namespace phalanx::server {

inline ClusterConfig one_partition() {
  ClusterConfig config;
  Partition main;
  main.name = "main";
  main.is_default = true;
  config.partitions.push_back(main);
  return config;
}

inline std::shared_ptr<const WorkloadSpec> job(const std::string& name) {
  auto spec = std::make_shared<WorkloadSpec>();
  spec->name = name;
  spec->owner.uid = 1000;
  spec->owner.user = "anna";
  spec->groups[0].nodes_min = 99;  // more than there are: it waits
  return spec;
}

inline Identity anna() {
  Identity who;
  who.uid = 1000;
  who.user = "anna";
  return who;
}

struct CoreFixture : ::testing::Test {
  net::Loop loop;
  store::MemoryJournal journal;
  std::vector<std::string> told;
  std::unique_ptr<Core> core;

  void SetUp() override { start(); }
  void TearDown() override { core.reset(); }
  void start() {
    core = std::make_unique<Core>(
        loop, journal,
        Core::Outside{[](const Effect&) {}, [this](const Committed& c) { committed(c); },
                      [this](const Error&) { told.emplace_back("rebuilt"); }});
    ASSERT_TRUE(core->recover().ok());
  }
  void committed(const Committed& c) {
    // Whatever readers hear is in the journal already.
    EXPECT_GE(journal.last_seq().value(), c.last_sequence);
  }
  // Puts it and runs the loop until it is answered.
  Reply ask(InputKind what, const Identity& who = system_identity(),
            std::vector<store::Blob> blobs = {}) {
    Reply answer;
    core->put(
        who, std::move(what),
        [&](const Reply& reply, std::uint64_t sequence) {
          if (!reply.error) {
            EXPECT_GE(journal.last_seq().value(), sequence) << "told before it was on disk";
          }
          answer = reply;
          loop.stop();
        },
        std::move(blobs));
    loop.run();
    return answer;
  }
};
}  // namespace phalanx::server
