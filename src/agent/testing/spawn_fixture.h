// For tests of phalanx-spawn: a run directory of its own, an event loop that is run until something
// is so (with a generous deadline, never for a fixed time), and a recorder of what happens in a
// unit.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/spawn_client.h"
#include "agent/unit_link.h"

namespace phalanx::agent::testing {

struct Recorder {
  std::unique_ptr<UnitLink> link;
  bool acknowledge = true;
  std::optional<spawn::UnitRefused> refused;
  std::map<std::uint32_t, spawn::TaskStarted> started;
  std::map<std::uint32_t, spawn::TaskFailed> failed;
  std::vector<spawn::TaskWarning> warnings;
  std::map<std::uint32_t, spawn::TaskExited> exited;
  std::map<std::uint32_t, std::string> out, err;        // from the first offset seen
  std::map<std::uint32_t, spawn::OutputEof> out_eof;    // of stream 1
  std::map<std::uint32_t, std::uint64_t> first_offset;  // of stream 1
  std::map<std::uint32_t, spawn::StdinTaken> taken;
  std::vector<spawn::SignalReply> signals;
  std::optional<spawn::ReleaseReply> released;
  std::optional<spawn::UnitEmpty> empty;
  std::optional<SupervisorLost> lost;
  int infos = 0;
  bool replayed = false, all_exited = false, disconnected = false;

  void hear(const UnitEvent& event);
};

class SpawnTest : public ::testing::TestWithParam<std::string> {
 public:
  ~SpawnTest() override;

 protected:
  SpawnTest();
  void run_until(const std::function<bool()>& condition, const char* what);
  [[nodiscard]] spawn::StartReply start(const spawn::Start& request);
  // A new recorder replaces none: an agent that comes back makes a second one.
  std::unique_ptr<Recorder> attach(const std::string& unit, bool acknowledge = true);
  std::unique_ptr<Recorder> run(const spawn::Start& request);  // start and attach; must be accepted
  void release(Recorder& unit);                                // when empty
  void new_client();                                           // as an agent that starts again
  spawn::Start shell(const std::string& unit,
                     const std::string& script) const;  // one task of the caller's user

  std::string program_, rundir_;
  boost::asio::io_context loop_;
  std::unique_ptr<SpawnClient> client_;
};

[[nodiscard]] bool alive(pid_t pid);  // and not a zombie
[[nodiscard]] pid_t parent_of(pid_t pid);
[[nodiscard]] std::size_t open_files(pid_t pid);
[[nodiscard]] std::size_t children(pid_t pid);
[[nodiscard]] std::string read_text(const std::string& path);
[[nodiscard]] std::vector<std::string>
programs();  // the static one, and the checked one where it is built

[[nodiscard]] std::string program_name(const ::testing::TestParamInfo<std::string>& info);

}  // namespace phalanx::agent::testing
