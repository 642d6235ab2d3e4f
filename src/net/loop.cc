#include "net/loop.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <thread>
#include <utility>

#include "base/assert.h"

namespace phalanx::net {

namespace asio = boost::asio;
using boost::system::error_code;

struct Timer::State {
  asio::steady_timer timer;
  Task task;

  // The wait for the deadline. If it is destroyed instead of called, the loop itself goes away, and
  // the task must go too: it may hold the owner of the timer's handle.
  struct Wait {
    std::shared_ptr<State> state;

    explicit Wait(std::shared_ptr<State> s) : state(std::move(s)) {}
    Wait(Wait&&) noexcept = default;
    ~Wait() {
      if (state) const Task dropped = std::exchange(state->task, nullptr);
    }
    void operator()(error_code error) {
      const auto held = std::move(state);
      const Task due = std::exchange(held->task, nullptr);
      if (!error && due) due();
    }
  };
};

Timer::Timer() = default;
Timer::Timer(Timer&&) noexcept = default;
Timer::~Timer() { cancel(); }

Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

void Timer::cancel() {
  if (!state_) return;
  const auto state = std::move(state_);  // the task may own this handle
  const Task task = std::exchange(state->task, nullptr);
  state->timer.cancel();
}

void Timer::detach() { state_.reset(); }

struct Watch::State {
  asio::posix::stream_descriptor descriptor;
  Task on_readable;
  Task on_writable;
  bool read_armed = false;
  bool write_armed = false;
  bool cancelled = false;
};

Watch::Watch() = default;
Watch::Watch(Watch&&) noexcept = default;
Watch::~Watch() { cancel(); }

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

void Watch::cancel() {
  if (!state_) return;
  state_->cancelled = true;
  state_->descriptor.release();
  state_.reset();
}

void Watch::arm(const std::shared_ptr<State>& state, bool write) {
  bool& armed = write ? state->write_armed : state->read_armed;
  if (std::exchange(armed, true)) return;
  const auto what =
      write ? asio::posix::descriptor_base::wait_write : asio::posix::descriptor_base::wait_read;
  state->descriptor.async_wait(what, [state, write](error_code error) {
    (write ? state->write_armed : state->read_armed) = false;
    if (error || state->cancelled) return;
    (write ? state->on_writable : state->on_readable)();
  });
}

void Watch::arm_read() {
  if (state_) arm(state_, false);
}

void Watch::arm_write() {
  if (state_) arm(state_, true);
}

struct Loop::State {
  std::atomic<std::thread::id>
      thread{};  // first: what the context destroys last may still ask for it
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::list<asio::signal_set> signals;

  void wait_signal(asio::signal_set& set, std::function<void(int)> f) {
    set.async_wait([this, &set, f = std::move(f)](error_code error, int number) mutable {
      if (error) return;
      f(number);
      wait_signal(set, std::move(f));
    });
  }
};

Loop::Loop() : state_(std::make_unique<State>()) {}
Loop::~Loop() = default;

void Loop::run() {
  state_->thread = std::this_thread::get_id();
  state_->context.restart();
  state_->context.run();
  state_->thread = std::thread::id();
}

void Loop::stop() { state_->context.stop(); }

void Loop::post(Task f) { asio::post(state_->context, std::move(f)); }

bool Loop::in_loop_thread() const { return state_->thread.load() == std::this_thread::get_id(); }

Timer Loop::at(SteadyTime deadline, Task f) {
  Timer handle;
  handle.state_ = std::make_shared<Timer::State>(
      Timer::State{asio::steady_timer(state_->context, deadline), std::move(f)});
  handle.state_->timer.async_wait(Timer::State::Wait(handle.state_));
  return handle;
}

Timer Loop::after(Duration delay, Task f) {
  const SteadyTime now = std::chrono::steady_clock::now();
  const bool never = delay > std::chrono::floor<Duration>(SteadyTime::max() - now);
  return at(never ? SteadyTime::max() : now + delay, std::move(f));
}

Watch Loop::watch(int fd, Task on_readable, Task on_writable) {
  Watch handle;
  handle.state_ =
      std::make_shared<Watch::State>(Watch::State{asio::posix::stream_descriptor(state_->context),
                                                  std::move(on_readable), std::move(on_writable)});
  error_code error;
  // NOLINTNEXTLINE(bugprone-unused-return-value): it is in error
  handle.state_->descriptor.assign(fd, error);
  ASSERT(!error);
  return handle;
}

void Loop::on_signal(std::initializer_list<int> signals, std::function<void(int)> f) {
  asio::signal_set& set = state_->signals.emplace_back(state_->context);
  for (const int number : signals) set.add(number);
  state_->wait_signal(set, std::move(f));
}

asio::io_context& Loop::native() { return state_->context; }

}  // namespace phalanx::net
