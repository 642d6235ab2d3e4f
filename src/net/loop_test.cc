#include "net/loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <string>
#include <thread>

#include "net/clock.h"
#include "net/fd.h"

namespace phalanx::net {
namespace {

TEST(Loop, RunsPostsInOrderAndNeverAtOnce) {
  Loop loop;
  std::string order;
  loop.post([&] {
    EXPECT_TRUE(loop.in_loop_thread());
    loop.post([&] {
      order += 'c';
      loop.stop();
    });
    order += 'a';
  });
  loop.post([&] { order += 'b'; });
  EXPECT_FALSE(loop.in_loop_thread());
  loop.run();
  EXPECT_EQ(order, "abc");
}

TEST(Loop, TakesPostsFromManyThreads) {
  Loop loop;
  int count = 0;
  const auto work = [&] {
    for (int i = 0; i < 1000; ++i)
      loop.post([&] {
        if (++count == 4000) loop.stop();
      });
  };
  std::thread a(work), b(work), c(work), d(work);
  loop.run();
  for (std::thread* thread : {&a, &b, &c, &d}) thread->join();
  EXPECT_EQ(count, 4000);
}

TEST(Loop, FiresTimersInOrderOfDeadline) {
  Loop loop;
  std::string order;
  Timer last = loop.after(milliseconds(3), [&] { loop.stop(); });
  Timer second = loop.after(milliseconds(2), [&] { order += '2'; });
  loop.after(milliseconds(1), [&] { order += '1'; }).detach();
  Timer cancelled = loop.after(milliseconds(0), [&] { order += 'x'; });
  cancelled.cancel();
  {
    const Timer dropped = loop.after(milliseconds(0), [&] { order += 'y'; });
  }
  const Timer never = loop.after(kForever, [&] { order += 'z'; });
  loop.run();
  EXPECT_EQ(order, "12");
}

TEST(Loop, ATimerMayBeSetAgainFromItsOwnCallback) {
  Loop loop;
  int count = 0;
  Timer timer;
  Task tick = [&] {
    if (++count == 3) return loop.stop();
    timer = loop.after(Duration(0), tick);
  };
  timer = loop.after(Duration(0), tick);
  loop.run();
  EXPECT_EQ(count, 3);
}

TEST(Loop, WatchesDescriptors) {
  Loop loop;
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const Fd ours(pair[0]);
  const Fd theirs(pair[1]);
  std::string seen;
  Watch watch;
  watch = loop.watch(
      ours.get(),
      [&] {
        char byte = 0;
        if (::read(ours.get(), &byte, 1) == 1) seen += byte;
        if (byte == 'q') {
          watch.cancel();
          return loop.stop();
        }
        watch.arm_read();
      },
      [&] {
        seen += '!';
        EXPECT_EQ(::write(theirs.get(), "abq", 3), 3);
      });
  watch.arm_write();
  watch.arm_read();
  loop.run();
  EXPECT_EQ(seen, "!abq");
}

TEST(Loop, HandsSignalsToTheLoopThread) {
  Loop loop;
  std::string seen;
  loop.on_signal({SIGUSR1, SIGTERM}, [&](int number) {
    seen += number == SIGUSR1 ? 'u' : 't';
    if (number == SIGTERM) return loop.stop();
    ::raise(SIGTERM);
  });
  loop.post([] { ::raise(SIGUSR1); });
  loop.run();
  EXPECT_EQ(seen, "ut");
}

TEST(Clock, Advances) {
  EXPECT_GT(unix_seconds(wall_now()), 1'700'000'000);
  EXPECT_GT(boottime_now().count(), 0);
}

}  // namespace
}  // namespace phalanx::net
