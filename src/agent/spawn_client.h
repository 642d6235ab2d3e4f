// The agent's side of phalanx-spawn: starts it where it does not run, asks it for units, and clears
// away units whose supervisor died. What happens in a unit is told by its supervisor (unit_link.h).
//
// One thread, that of the io_context; callbacks come from its loop, once each, and never from
// within a call. connect() blocks for the few milliseconds that a start takes. Destroying the
// client ends neither phalanx-spawn nor any unit; callbacks that are still owed are dropped.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/spawn_protocol.h"
#include "base/result.h"

namespace boost::asio {
class io_context;  // NOLINT(readability-identifier-naming): Asio's name
}

namespace phalanx::agent {

struct SpawnOptions {
  std::string program;  // phalanx-spawn
  std::string rundir;   // created 0700; must belong to the agent's user
};

class SpawnClient {
 public:
  using OnStart = std::function<void(Result<spawn::StartReply>)>;
  using OnDone = std::function<void(Status)>;

  SpawnClient(boost::asio::io_context& context, SpawnOptions options);
  ~SpawnClient();
  SpawnClient(const SpawnClient&) = delete;
  SpawnClient& operator=(const SpawnClient&) = delete;

  // May be called again after the connection was lost.
  Status connect();
  // Called when phalanx-spawn ends or breaks the protocol. What was asked and not answered has
  // failed with Unavailable; a Start may have happened and can be repeated: a unit is never started
  // twice.
  void on_lost(std::function<void()> handler);

  void start(const spawn::Start& request, OnStart done);
  // SIGKILL to all that a lost unit left; done when nothing of it is left. Conflict: its supervisor
  // lives.
  void kill_lost(const std::string& unit, OnDone done);
  // Deletes a lost unit's folder. Its intent file stays.
  void forget(const std::string& unit, OnDone done);
  // phalanx-spawn ends; units and their supervisors stay.
  void stop(OnDone done);

  // The units that have a folder, in order of name; attach a UnitLink to learn about each.
  [[nodiscard]] std::vector<std::string> units() const;

 private:
  class Connection;
  std::shared_ptr<Connection> connection_;
};

}  // namespace phalanx::agent
