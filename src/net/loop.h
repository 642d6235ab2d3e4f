// Loop: one thread that waits for sockets, timers, signals and posted functions, and runs their
// callbacks one at a time. Whoever makes a Loop owns it; everything made on it (servers,
// WebSockets, timers, watches) must be gone, or idle, before the Loop is. All methods belong to the
// loop thread, or to any thread while run() does not run, except post() and stop(), which are
// thread-safe. Time is the steady clock. Nothing here fails, except watching a descriptor that
// cannot be waited for, which is a bug.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>

#include "base/time.h"

namespace boost::asio {
class io_context;  // NOLINT(readability-identifier-naming): Asio's name
}

namespace phalanx::net {

using SteadyTime = std::chrono::steady_clock::time_point;
using Task = std::function<void()>;

// A timer that is pending. Destroying or cancelling the handle cancels the timer.
class [[nodiscard]] Timer {
 public:
  Timer();
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;
  ~Timer();
  void cancel();
  void detach();  // it will fire whatever becomes of the handle

 private:
  friend class Loop;
  struct State;
  std::shared_ptr<State> state_;
};

// Readiness of a descriptor that stays the caller's (and is made non-blocking). Each arm_…() buys
// one call of the callback; arm again from within it to go on. Destroy the watch before closing the
// descriptor.
class [[nodiscard]] Watch {
 public:
  Watch();
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  ~Watch();
  void arm_read();   // readable, at its end, or broken
  void arm_write();  // writable, or broken
  void cancel();

 private:
  friend class Loop;
  struct State;
  static void arm(const std::shared_ptr<State>& state, bool write);
  std::shared_ptr<State> state_;
};

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();         // until stop()
  void stop();        // thread-safe; what is queued stays queued for the next run()
  void post(Task f);  // thread-safe; in order of arrival, never from within post itself
  [[nodiscard]] bool in_loop_thread() const;

  Timer at(SteadyTime deadline, Task f);
  Timer after(Duration delay, Task f);
  Watch watch(int fd, Task on_readable, Task on_writable = {});
  // Replaces what these signals do by default, for the life of the Loop.
  void on_signal(std::initializer_list<int> signals, std::function<void(int)> f);

  boost::asio::io_context& native();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace phalanx::net
