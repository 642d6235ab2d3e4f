// The agent's connection to the supervisor of one unit: what happened in it, from its start on, and
// what is to be done with it. spawn_protocol.h says what each message means and what is guaranteed.
//
// After attach() the handler gets the unit's whole history, then Replayed, then live events. If the
// supervisor is dead it gets what the supervisor had written down and then SupervisorLost, be it at
// once or years later: after that nothing more comes, and SpawnClient::kill_lost and forget are
// what is left to do. One thread, that of the io_context; the handler is called from its loop,
// never from within a call, and may destroy the link. Destroying the link leaves the unit as it is.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "agent/spawn_protocol.h"

namespace boost::asio {
class io_context;  // NOLINT(readability-identifier-naming): Asio's name
}

namespace phalanx::agent {

struct SupervisorLost {
  bool known = true;  // false: the unit has no folder
};
// The supervisor lives, but took a newer client instead, or could not be reached for a reason of
// this process (no descriptor left): attach a new link.
struct Disconnected {};

using UnitEvent =
    std::variant<spawn::UnitInfo, spawn::UnitRefused, spawn::TaskStarted, spawn::TaskFailed,
                 spawn::TaskWarning, spawn::TaskExited, spawn::AllExited, spawn::UnitEmpty,
                 spawn::Replayed, spawn::Output, spawn::OutputEof, spawn::StdinTaken,
                 spawn::SignalReply, spawn::ReleaseReply, SupervisorLost, Disconnected>;

class UnitLink {
 public:
  UnitLink(boost::asio::io_context& context, const std::string& rundir, const std::string& unit,
           std::function<void(const UnitEvent&)> handler);
  ~UnitLink();
  UnitLink(const UnitLink&) = delete;
  UnitLink& operator=(const UnitLink&) = delete;

  void attach();  // once

  // Answered by SignalReply with the same tag.
  void signal(std::uint32_t task, int signal, spawn::Scope scope, std::uint64_t tag = 0);
  void kill();     // UnitEmpty follows
  void release();  // answered by ReleaseReply; without error it is the last event
  // Output up to `offset` is taken care of: the supervisor may forget it.
  void ack(std::uint32_t task, std::uint8_t stream, std::uint64_t offset);
  // Queued here beyond what the supervisor takes. For a task without streamed stdin it is dropped.
  void write_stdin(std::uint32_t task, std::string_view bytes);
  void end_stdin(std::uint32_t task);
  [[nodiscard]] std::size_t stdin_queued(std::uint32_t task) const;
  void resize(std::uint32_t task, std::uint16_t rows, std::uint16_t columns);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace phalanx::agent
