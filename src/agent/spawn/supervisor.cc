#include "agent/spawn/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/spawn/files.h"
#include "agent/spawn/processes.h"

namespace phalanx::agent::spawn {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kKillPauseMin = 5 * kMillisecond, kKillPauseMax = 100 * kMillisecond;

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

Usage usage_of(const rusage& r) {
  const auto count = [](long n) { return static_cast<std::uint64_t>(n); };
  return {microseconds(r.ru_utime), microseconds(r.ru_stime), count(r.ru_maxrss),
          count(r.ru_minflt),       count(r.ru_majflt),       count(r.ru_inblock),
          count(r.ru_oublock),      count(r.ru_nvcsw),        count(r.ru_nivcsw)};
}

}  // namespace

template <class Event>
void Supervisor::record(const Event& event) {
  const std::string frame = pack(event);
  history_ += frame;
  (void)!write_all(state_.get(), frame);
  if (client_ && greeted_) out_ += frame;
}

Supervisor::Supervisor(Start start, std::string folder, Fd state, Fd listener, rlimit open_files)
    : start_(std::move(start)),
      folder_(std::move(folder)),
      state_(std::move(state)),
      listener_(std::move(listener)) {
  context_.marker = kUnitVariable + folder_;
  context_.open_files = open_files;
  if (!start_.script.empty()) {
    context_.script_path = start_.script_path.empty() ? folder_ + "/script" : start_.script_path;
  }
}

void Supervisor::run() {
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "phalanx-unit");
  sigset_t all, child;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);  // only SIGKILL ends a supervisor
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  children_ = Fd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  watch(listener_.get(), Source::Listener, 0, EPOLLIN);
  watch(children_.get(), Source::Children, 0, EPOLLIN);
  begin();
  while (true) {
    flush();
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, std::size(events), timeout_ms());
    for (int i = 0; i < count; ++i) {
      const std::uint64_t tag = events[i].data.u64;
      dispatch(static_cast<Source>(tag >> 32), static_cast<std::uint32_t>(tag), events[i].events);
    }
    check_timers();
  }
}

void Supervisor::begin() {
  tasks_.resize(start_.tasks.size());
  record(UnitInfo{start_.unit, ::getpid(), start_.uid, static_cast<std::uint32_t>(tasks_.size()),
                  boottime_ns()});
  if (!start_.script.empty() && !start_.script_path.empty()) {
    const std::string parent = start_.script_path.substr(0, start_.script_path.rfind('/'));
    made_script_folder_ = ::mkdir(parent.c_str(), 0711) == 0;
    if (made_script_folder_) ::chmod(parent.c_str(), 0711);  // whatever the umask
  }
  std::vector<Plumbing> plumbing;
  if (const auto failure = prepare(start_, context_.script_path, plumbing)) return refuse(*failure);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    Launched launched = launch(start_, i, plumbing[i], context_);
    const int error = errno;
    adopt_streams(i, plumbing[i]);
    if (launched.pid < 0) {
      fail_task(i, Stage::Fork, error, "fork");
      continue;
    }
    tasks_[i].pid = launched.pid;
    tasks_[i].status = std::move(launched.status);
    by_pid_[launched.pid] = i;
    watch(tasks_[i].status.get(), Source::Launch, i, EPOLLIN);
  }
  start_.env = {};  // megabytes, perhaps: no task needs them again
  start_.script = {};
  for (TaskSpec& task : start_.tasks) task.env = {};
  reap();
}

void Supervisor::refuse(const Failure& failure) {
  record(UnitRefused{failure.stage, failure.error, failure.detail});
  over_ = tasks_.size();
  record(AllExited{});
  reap();
}

void Supervisor::adopt_streams(std::size_t index, Plumbing& plumbing) {
  for (Fd& fd : plumbing.child) fd.reset();
  Task& task = tasks_[index];
  if (plumbing.ours[0]) task.in.open(std::move(plumbing.ours[0]), start_.tasks[index].pty);
  for (int i = 0; i < 2; ++i) {
    if (plumbing.ours[i + 1]) task.out[i].open(std::move(plumbing.ours[i + 1]), start_.window);
  }
  watch_streams(index);
}

void Supervisor::read_launch(std::size_t index) {
  Task& task = tasks_[index];
  ChildReport report;
  while (task.status) {
    const ssize_t got = ::read(task.status.get(), &report, sizeof report);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got == sizeof report && !report.fatal) {
      record(TaskWarning{static_cast<std::uint32_t>(index), report.stage, report.error,
                         describe(report, start_, index, context_)});
    } else {
      watch(task.status.get(), Source::Launch, index, 0);
      task.status.reset();
      if (got == sizeof report) {
        fail_task(index, report.stage, report.error, describe(report, start_, index, context_));
      } else {
        task.phase = Phase::Running;
        record(TaskStarted{static_cast<std::uint32_t>(index), task.pid, boottime_ns()});
      }
    }
  }
}

void Supervisor::fail_task(std::size_t index, Stage stage, int error, std::string detail) {
  tasks_[index].failed = true;
  record(TaskFailed{static_cast<std::uint32_t>(index), stage, error, std::move(detail)});
  task_over(index);
}

void Supervisor::dispatch(Source source, std::size_t index, std::uint32_t events) {
  switch (source) {
    case Source::Listener:
      return accept_client();
    case Source::Client:
      if (client_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_client();
      return;
    case Source::Children: {
      signalfd_siginfo info;
      while (::read(children_.get(), &info, sizeof info) == sizeof info) {
      }
      return reap();
    }
    case Source::Launch:
      return read_launch(index);
    case Source::Input:
      tasks_[index].in.write();
      if (greeted_) send_taken(index);
      return watch_streams(index);
    case Source::Output:
      tasks_[index / 2].out[index % 2].read();
      return watch_streams(index / 2);
  }
}

void Supervisor::reap() {
  while (!empty_) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid == 0) return;
    if (pid < 0) {  // no child: every descendant has one of ours above it, so the tree is empty
      rusage total{};
      ::getrusage(RUSAGE_CHILDREN, &total);
      empty_ = true;
      kill_at_ = 0;
      record(UnitEmpty{boottime_ns(), usage_of(total)});
      return;
    }
    const auto found = by_pid_.find(pid);
    if (found == by_pid_.end()) continue;  // left behind by a task
    const std::size_t index = found->second;
    by_pid_.erase(found);
    task_exited(index, status, usage);
  }
}

void Supervisor::task_exited(std::size_t index, int status, const rusage& usage) {
  read_launch(index);
  if (tasks_[index].failed) return;
  tasks_[index].exited = boottime_ns();
  record(
      TaskExited{static_cast<std::uint32_t>(index), status, tasks_[index].exited, usage_of(usage)});
  task_over(index);
}

void Supervisor::task_over(std::size_t index) {
  Task& task = tasks_[index];
  task.phase = Phase::Over;
  task.exited = boottime_ns();
  if (task.in.exists() && !task.in.ended()) {
    task.in.drop();
    if (greeted_) send_taken(index);
  }
  watch_streams(index);
  if (++over_ == tasks_.size()) record(AllExited{});
}

int Supervisor::timeout_ms() const {
  std::uint64_t next = kill_at_;
  for (const Task& task : tasks_) {
    if (task.phase != Phase::Over) continue;
    for (const OutputStream& out : task.out) {
      if (!out.exists() || out.ended() || out.limited()) continue;
      const std::uint64_t deadline = task.exited + start_.drain_grace_ms * kMillisecond;
      next = next == 0 ? deadline : std::min(next, deadline);
    }
  }
  if (next == 0) return -1;
  const std::uint64_t now = boottime_ns();
  return next <= now ? 0 : static_cast<int>((next - now) / kMillisecond + 1);
}

void Supervisor::check_timers() {
  const std::uint64_t now = boottime_ns();
  if (kill_at_ != 0 && kill_at_ <= now) kill_again();
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    if (task.phase != Phase::Over || task.exited + start_.drain_grace_ms * kMillisecond > now)
      continue;
    for (OutputStream& out : task.out) {
      out.limit_rest();
    }
    watch_streams(i);
  }
}

void Supervisor::kill_again() {
  kill_round([] { return descendants(scan_processes(), ::getpid()); });
  kill_pause_ = std::clamp(kill_pause_ * 2, kKillPauseMin, kKillPauseMax);
  kill_at_ = boottime_ns() + kill_pause_;
  reap();
}

// A descriptor that nobody wants to hear of must leave the set: epoll reports hang-ups regardless.
void Supervisor::watch(int fd, Source source, std::size_t index, std::uint32_t events) {
  if (fd < 0) return;
  const auto known = watched_.find(fd);
  if (known == watched_.end() ? events == 0 : known->second == events) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(source) << 32 | index;
  const int operation = events == 0               ? EPOLL_CTL_DEL
                        : known == watched_.end() ? EPOLL_CTL_ADD
                                                  : EPOLL_CTL_MOD;
  ::epoll_ctl(epoll_.get(), operation, fd, &event);
  if (events == 0) {
    watched_.erase(known);
  } else {
    watched_[fd] = events;
  }
}

void Supervisor::watch_streams(std::size_t index) {
  Task& task = tasks_[index];
  for (std::size_t i = 0; i < 2; ++i) {
    OutputStream& out = task.out[i];
    watch(out.fd(), Source::Output, index * 2 + i,
          out.wants_reading() ? std::uint32_t{EPOLLIN} : 0);
    if (out.ended()) out.close();
  }
  watch(task.in.fd(), Source::Input, index, task.in.wants_writing() ? std::uint32_t{EPOLLOUT} : 0);
  if (task.in.ended()) task.in.close();
}

}  // namespace phalanx::agent::spawn
