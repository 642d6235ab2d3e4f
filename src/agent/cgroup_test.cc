// Real groups with real children, for each back end that this machine has. As an ordinary user, or
// where nothing is mounted, what remains is the promise that everything degrades.
#include "agent/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "agent/kernel_file.h"
#include "base/text.h"

namespace phalanx::agent {
namespace {

constexpr Duration kPatience = std::chrono::seconds(60);
constexpr PollSpacing kSpacing{.first = Duration(1), .most = Duration(50)};
constexpr int kEnterFailed = 250;

std::string test_node() { return format("test-{}", ::getpid()); }

// A process that enters `files` and then does `what`; its exit code is what that returns.
class Child {
 public:
  Child(const std::vector<std::string>& files, const std::function<int()>& what) : pid_(::fork()) {
    if (pid_ != 0) return;
    for (const std::string& file : files)
      if (write_errno(file, "0") != 0) ::_exit(kEnterFailed);
    ::_exit(what());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  int wait() {  // as waitpid tells it
    int status = -1;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }
  int exit_code() {
    const int status = wait();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

// Says over a pipe that it has come so far.
class Gate {
 public:
  Gate() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void open() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void await(int times = 1) const {
    for (char c = 0; times > 0; --times) ASSERT_EQ(::read(ends_[0], &c, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

[[noreturn]] void idle() {
  while (true) ::pause();
}

std::vector<CgroupBackend> available() {
  std::vector<CgroupBackend> found;
  for (CgroupBackend wanted : {CgroupBackend::V1, CgroupBackend::Hybrid, CgroupBackend::V2}) {
    Cgroups cgroups = Cgroups::open({.node = test_node(), .only = wanted, .capability_major = {}});
    if (cgroups.backend() == wanted) found.push_back(wanted);
    cgroups.remove_root();
  }
  return found;
}

class CgroupTest : public testing::TestWithParam<CgroupBackend> {
 public:
  // Nothing of ours remains, whatever the test did.
  ~CgroupTest() override {
    for (const std::string& group : cgroups_.groups()) {
      if (group.find('/') != std::string::npos) continue;
      EXPECT_TRUE(cgroups_.kill(group));
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      const Result<bool> empty = cgroups_.wait_empty(group, kPatience, kSpacing);
      EXPECT_TRUE(empty && *empty) << group;
      const Status removed = cgroups_.remove(group);
      EXPECT_TRUE(removed) << removed.error().message;
    }
    cgroups_.remove_root();
    EXPECT_TRUE(cgroups_.groups().empty());
  }

 protected:
  CgroupTest()
      : cgroups_(Cgroups::open({.node = test_node(), .only = GetParam(), .capability_major = {}})) {
  }

  void create(std::string_view group, const CgroupLimits& limits = {}) {
    const Status done = cgroups_.create(group, limits);
    ASSERT_TRUE(done) << done.error().message;
  }
  [[nodiscard]] bool warned(CgroupWarning::Kind kind) const {
    return std::ranges::any_of(cgroups_.warnings(),
                               [&](const CgroupWarning& w) { return w.kind == kind; });
  }
  // A limit is tested where it can be enforced; elsewhere the warning is.
  [[nodiscard]] bool without(CgroupWarning::Kind kind) const {
    const bool v1_has_it = GetParam() != CgroupBackend::V2;
    EXPECT_FALSE(v1_has_it && warned(kind));
    return warned(kind);
  }
  [[nodiscard]] bool populated(std::string_view group) const {
    const Result<bool> answer = cgroups_.populated(group);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer && *answer;
  }

  Cgroups cgroups_;
};

TEST_P(CgroupTest, ChildEntersAndIsCounted) {
  create("job_1_a1/step_0");
  EXPECT_FALSE(populated("job_1_a1"));
  const Gate in;
  Child child(cgroups_.procs_files("job_1_a1/step_0"), [&] {
    in.open();
    idle();
    return 0;
  });
  in.await();
  EXPECT_TRUE(populated("job_1_a1/step_0"));
  EXPECT_TRUE(populated("job_1_a1")) << "a group is populated when one below it is";
  const Result<std::vector<pid_t>> inside = cgroups_.processes("job_1_a1");
  ASSERT_TRUE(inside) << inside.error().message;
  EXPECT_EQ(*inside, std::vector<pid_t>({child.pid()}));
  EXPECT_EQ(cgroups_.processes("job_1_a1/step_0").value().size(), 1U);
  const Status early = cgroups_.remove("job_1_a1");
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().message.find("still in it"), std::string::npos) << early.error().message;
}

TEST_P(CgroupTest, KillEndsThoseWhoForkAndLeaveTheirSession) {
  create("job_2_a1/step_0");
  const Gate in;
  Child child(cgroups_.procs_files("job_2_a1/step_0"), [&] {
    ::signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < 4; ++i) {
      if (::fork() != 0) continue;
      ::setsid();
      if (::fork() != 0) ::_exit(0);  // the daemon's double fork
      in.open();
      idle();
    }
    in.open();
    idle();
    return 0;
  });
  in.await(5);
  const Result<bool> killed = cgroups_.kill("job_2_a1");
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_EQ(child.exit_code(), -SIGKILL);
  const Result<bool> empty = cgroups_.wait_empty("job_2_a1", kPatience, kSpacing);
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_TRUE(*empty);
  EXPECT_TRUE(cgroups_.remove("job_2_a1"));
  EXPECT_FALSE(populated("job_2_a1")) << "what is gone is empty";
  EXPECT_TRUE(cgroups_.remove("job_2_a1")) << "removing twice is no error";
}

TEST_P(CgroupTest, KillCatchesAForkBomb) {
  CgroupLimits limits;
  limits.pids_max = 50;
  create("job_3_a1", limits);
  const Gate in;
  Child child(cgroups_.procs_files("job_3_a1"), [&] {
    in.open();
    ::alarm(60);
    for (int alive = 0;;) {  // without a pids controller the bomb limits itself
      const pid_t pid = ::fork();
      if (pid == 0) ::_exit(0);
      if (pid > 0 && ++alive >= 40) {
        while (alive > 0 && ::waitpid(-1, nullptr, 0) > 0) --alive;
      }
    }
    return 0;
  });
  in.await();
  ASSERT_TRUE(cgroups_.kill("job_3_a1"));
  EXPECT_EQ(child.exit_code(), -SIGKILL);
  EXPECT_TRUE(cgroups_.wait_empty("job_3_a1", kPatience, kSpacing).value());
}

TEST_P(CgroupTest, SignalsReachEveryProcess) {
  create("job_4_a1/step_0");
  const Gate in;
  const auto member = [&] {
    ::signal(SIGUSR1, [](int) { ::_exit(7); });
    in.open();
    idle();
    return 0;
  };
  Child first(cgroups_.procs_files("job_4_a1/step_0"), member);
  Child second(cgroups_.procs_files("job_4_a1/step_0"), member);
  in.await(2);
  const Result<int> reached = cgroups_.signal_all("job_4_a1", SIGUSR1);
  ASSERT_TRUE(reached) << reached.error().message;
  EXPECT_EQ(*reached, 2);
  EXPECT_EQ(first.exit_code(), 7);
  EXPECT_EQ(second.exit_code(), 7);
}

TEST_P(CgroupTest, FrozenProcessesRunAgainWhenThawed) {
  create("job_5_a1");
  const Gate in, go;
  Child child(cgroups_.procs_files("job_5_a1"), [&] {
    in.open();
    go.await();
    return 3;
  });
  in.await();
  const Status frozen = cgroups_.freeze("job_5_a1", true);
  ASSERT_TRUE(frozen) << frozen.error().message;
  go.open();
  EXPECT_EQ(::waitpid(child.pid(), nullptr, WNOHANG), 0);
  EXPECT_TRUE(populated("job_5_a1"));
  ASSERT_TRUE(cgroups_.freeze("job_5_a1", false));
  EXPECT_EQ(child.exit_code(), 3);
}

TEST_P(CgroupTest, KillEndsAFrozenGroup) {
  create("job_6_a1");
  const Gate in;
  Child child(cgroups_.procs_files("job_6_a1"), [&] {
    in.open();
    idle();
    return 0;
  });
  in.await();
  ASSERT_TRUE(cgroups_.freeze("job_6_a1", true));
  ASSERT_TRUE(cgroups_.kill("job_6_a1"));
  EXPECT_EQ(child.exit_code(), -SIGKILL);
}

TEST_P(CgroupTest, WatchTellsWhenTheLastProcessIsGone) {
  create("job_7_a1");
  Result<Fd> watch = cgroups_.watch("job_7_a1");
  if (GetParam() == CgroupBackend::V1) {
    ASSERT_FALSE(watch);
    EXPECT_EQ(watch.error().code, Error::Code::Unavailable);
    return;
  }
  ASSERT_TRUE(watch) << watch.error().message;
  Child child(cgroups_.procs_files("job_7_a1"), [] { return 0; });
  EXPECT_EQ(child.exit_code(), 0);
  pollfd waiting{.fd = watch->get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&waiting, 1, 60'000), 1);
  EXPECT_FALSE(populated("job_7_a1"));
}

TEST_P(CgroupTest, WaitingEndsWithTheTime) {
  create("job_8_a1");
  const Gate in;
  Child child(cgroups_.procs_files("job_8_a1"), [&] {
    in.open();
    idle();
    return 0;
  });
  in.await();
  const Result<bool> empty = cgroups_.wait_empty("job_8_a1", Duration(20), kSpacing);
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_FALSE(*empty);
}

// Touches memory until it is killed, 256 MiB at most.
int devour() {
  constexpr std::size_t kSize = std::size_t{256} << 20;
  char* memory = static_cast<char*>(
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 1;
  for (std::size_t at = 0; at < kSize; at += 4096) memory[at] = 1;
  return 0;
}

TEST_P(CgroupTest, AChildOverItsMemoryIsKilledAndCounted) {
  CgroupLimits limits;
  limits.memory_bytes = std::int64_t{64} << 20;
  create("job_9_a1", limits);
  create("job_9_a1/step_0");
  create("job_9_a1/step_1");
  Child child(cgroups_.procs_files("job_9_a1/step_0"), devour);
  if (without(CgroupWarning::Kind::NoMemory)) {
    EXPECT_EQ(child.exit_code(), 0);
    EXPECT_FALSE(cgroups_.counters("job_9_a1").oom_kills.has_value());
    return;
  }
  EXPECT_EQ(child.exit_code(), -SIGKILL);
  EXPECT_TRUE(cgroups_.oom_killed("job_9_a1/step_0"));
  EXPECT_TRUE(cgroups_.oom_killed("job_9_a1")) << "the limit is the job's";
  EXPECT_FALSE(cgroups_.oom_killed("job_9_a1/step_1"));
  const CgroupCounters job = cgroups_.counters("job_9_a1");
  EXPECT_GE(job.memory_peak_bytes.value(), std::int64_t{60} << 20);
  EXPECT_LE(job.memory_peak_bytes.value(), std::int64_t{64} << 20);
}

TEST_P(CgroupTest, CpuTimeIsMeasured) {
  create("job_10_a1/step_0");
  Child child(cgroups_.procs_files("job_10_a1/step_0"), [] {
    timespec used{};
    do ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec == 0 && used.tv_nsec < 50'000'000);
    return 0;
  });
  EXPECT_EQ(child.exit_code(), 0);
  EXPECT_GE(cgroups_.counters("job_10_a1/step_0").cpu_ns.value(), 25'000'000);
  EXPECT_GE(cgroups_.counters("job_10_a1").cpu_ns.value(), 25'000'000);
  const CgroupCounters job = cgroups_.counters("job_10_a1");
  EXPECT_GE(job.user_ms.value() + job.system_ms.value(), 24);
  EXPECT_LE(job.user_ms.value() + job.system_ms.value(), *job.cpu_ns / 1'000'000 + 1);
}

// A child of a program under the thread sanitizer has a thread more, and eight times the memory.
#ifdef __SANITIZE_THREAD__
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

TEST_P(CgroupTest, TheNumberOfProcessesIsLimited) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer's own thread counts";
  CgroupLimits limits;
  limits.pids_max = 3;
  create("job_11_a1", limits);
  Child child(cgroups_.procs_files("job_11_a1"), [] {
    int born = 0;
    for (int i = 0; i < 5; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) idle();
      born += pid > 0 ? 1 : 0;
    }
    return born;
  });
  EXPECT_EQ(child.exit_code(), without(CgroupWarning::Kind::NoPids) ? 5 : 2);
}

TEST_P(CgroupTest, CpusAreFenced) {
  CgroupLimits limits;
  limits.cpus = "0";
  create("job_12_a1", limits);
  create("job_12_a1/step_0");
  Child child(cgroups_.procs_files("job_12_a1/step_0"), [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : -1;
  });
  const int all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(child.exit_code(), without(CgroupWarning::Kind::NoCpuset) ? all : 1);
}

TEST_P(CgroupTest, WeightAndQuotaAreTaken) {
  CgroupLimits limits;
  limits.cpu_weight_milli = 2000;
  limits.cpu_quota_milli = 1500;
  create("job_13_a1", limits);
  if (without(CgroupWarning::Kind::NoCpu)) return;
  const auto value = [&](const char* name) {  // in whichever hierarchy has the file
    for (const std::string& file : cgroups_.procs_files("job_13_a1"))
      if (const auto text = read_text(file.substr(0, file.rfind('/') + 1) + name)) return *text;
    return std::string("none");
  };
  if (GetParam() == CgroupBackend::V2) {
    EXPECT_EQ(value("cpu.weight"), "79");  // 2048 shares, as OCI runtimes map them
    EXPECT_EQ(value("cpu.max"), "150000 100000");
  } else {
    EXPECT_EQ(value("cpu.shares"), "2048");
    EXPECT_EQ(value("cpu.cfs_quota_us"), "150000");
  }
}

TEST_P(CgroupTest, LimitsChangeWhileAJobRuns) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer's own memory counts";
  CgroupLimits limits;
  limits.memory_bytes = std::int64_t{64} << 20;
  create("job_14_a1", limits);
  for (std::int64_t mib : {128, 32, 512}) {
    limits.memory_bytes = mib << 20;
    const Status done = cgroups_.update("job_14_a1", limits);
    ASSERT_TRUE(done) << done.error().message;
  }
  Child child(cgroups_.procs_files("job_14_a1"), devour);
  EXPECT_EQ(child.exit_code(), 0);
  if (warned(CgroupWarning::Kind::NoCpuset)) return;
  limits.cpus = "0";
  const Status late = cgroups_.update("job_14_a1", limits);
  EXPECT_EQ(late.ok(), GetParam() == CgroupBackend::V2) << "v1 cannot add a controller later";
  EXPECT_TRUE(late.ok() || late.error().code == Error::Code::Conflict);
}

TEST_P(CgroupTest, ALimitThatTheKernelRefusesLeavesNothingBehind) {
  if (without(CgroupWarning::Kind::NoCpuset)) return;
  CgroupLimits limits;
  limits.cpus = "4000-4001";
  const Status done = cgroups_.create("job_15_a1/step_0", limits);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("cpuset.cpus"), std::string::npos) << done.error().message;
  EXPECT_TRUE(cgroups_.groups().empty());
}

TEST_P(CgroupTest, InV2AGroupWithProcessesHasNoGroupsBelow) {
  create("job_18_a1");
  const Gate in;
  Child child(cgroups_.procs_files("job_18_a1"), [&] {
    in.open();
    idle();
    return 0;
  });
  in.await();
  const Status step = cgroups_.create("job_18_a1/step_0", {});
  const bool v2_with_controllers =
      GetParam() == CgroupBackend::V2 && !warned(CgroupWarning::Kind::NoMemory);
  EXPECT_EQ(step.ok(), !v2_with_controllers);
  EXPECT_TRUE(step.ok() || step.error().code == Error::Code::Conflict) << step.error().message;
}

TEST_P(CgroupTest, AnotherAgentFindsWhatIsThere) {
  create("job_16_a1/step_0");
  create("job_16_a1/step_1");
  create("job_17_a2");
  const Gate in;
  Child child(cgroups_.procs_files("job_16_a1/step_1"), [&] {
    in.open();
    idle();
    return 0;
  });
  in.await();
  Cgroups later = Cgroups::open({.node = test_node(), .only = GetParam(), .capability_major = {}});
  EXPECT_EQ(later.groups(), std::vector<std::string>({"job_16_a1", "job_16_a1/step_0",
                                                      "job_16_a1/step_1", "job_17_a2"}));
  Cgroups other =
      Cgroups::open({.node = test_node() + "-other", .only = GetParam(), .capability_major = {}});
  EXPECT_TRUE(other.groups().empty()) << "nodes on one machine do not see each other's groups";
  other.remove_root();
  ASSERT_TRUE(later.kill("job_16_a1"));
  EXPECT_EQ(child.exit_code(), -SIGKILL);
}

TEST_P(CgroupTest, NamesThatCouldLeaveTheTreeAreRefused) {
  for (const char* name : {"", "/", "..", "a/../b", "/a", "a/", "a//b", "a b", "cgroup.procs"}) {
    EXPECT_EQ(cgroups_.create(name, {}).error().code, Error::Code::Invalid) << name;
    EXPECT_FALSE(cgroups_.kill(name)) << name;
    EXPECT_FALSE(cgroups_.remove(name)) << name;
    EXPECT_TRUE(cgroups_.procs_files(name).empty()) << name;
  }
}

// Opening character device 195:<minor>, which has no driver here, says ENXIO where the fence lets
// it pass and EPERM where it does not.
class FenceTest : public CgroupTest {
 public:
  ~FenceTest() override {
    for (int minor : {0, 1, 2, 254, 255}) ::unlink(node(minor).c_str());
    ::rmdir(dir_.c_str());
  }

 protected:
  FenceTest() : dir_(testing::TempDir() + "phalanx-fence-XXXXXX") {
    EXPECT_NE(::mkdtemp(dir_.data()), nullptr);
    for (int minor : {0, 1, 2, 254, 255})
      EXPECT_EQ(::mknod(node(minor).c_str(), S_IFCHR | 0666, makedev(195, minor)), 0);
  }
  [[nodiscard]] std::string node(int minor) const { return format("{}/nvidia{}", dir_, minor); }
  static int open_error(const std::string& path) {
    const Fd device(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    return device ? 0 : errno;
  }
  // The errors of opening the minors 0, 1, 2 and nvidiactl from within the group, and of /dev/null.
  [[nodiscard]] std::vector<int> seen_in(std::string_view group) const {
    const std::vector<std::string> paths{node(0), node(1), node(2), node(255), "/dev/null"};
    std::vector<int> errors;
    errors.reserve(paths.size());
    for (const std::string& path : paths)
      errors.push_back(
          Child(cgroups_.procs_files(group), [&] { return open_error(path); }).exit_code());
    return errors;
  }

  std::string dir_;
};

TEST_P(FenceTest, OutsideOfAGroupNothingIsDenied) { EXPECT_EQ(open_error(node(0)), ENXIO); }

TEST_P(FenceTest, AJobWithoutGpusSeesNone) {
  create("job_20_a1");
  create("job_20_a1/step_0");
  create("job_21_a1/step_0");
  const std::vector<int> none{EPERM, EPERM, EPERM, EPERM, 0};
  EXPECT_EQ(seen_in("job_20_a1/step_0"), none);
  EXPECT_EQ(seen_in("job_21_a1/step_0"), none) << "also where the job's group was made on the way";
  // The child stays root, and cannot make itself a way round.
  Child child(cgroups_.procs_files("job_20_a1/step_0"), [&] {
    const std::string other = dir_ + "/other";
    const int made = ::mknod(other.c_str(), S_IFCHR | 0666, makedev(195, 3));
    const int error = errno;
    if (made == 0) ::unlink(other.c_str());
    return made == 0 ? 0 : error;
  });
  EXPECT_EQ(child.exit_code(), EPERM);
}

TEST_P(FenceTest, AJobSeesItsOwnGpusAndTheControlDevice) {
  CgroupLimits limits;
  limits.devices = DeviceFence{.gpu_minors = {0, 2}, .capability_minors = {}, .also_denied = {}};
  create("job_22_a1", limits);
  create("job_22_a1/step_0");
  const std::vector<int> two{ENXIO, EPERM, ENXIO, ENXIO, 0};
  EXPECT_EQ(seen_in("job_22_a1/step_0"), two) << "a step sees what its job does";
  limits.devices = DeviceFence{.gpu_minors = {2}, .capability_minors = {}, .also_denied = {}};
  create("job_22_a1/step_1", limits);
  EXPECT_EQ(seen_in("job_22_a1/step_1"), std::vector<int>({EPERM, EPERM, ENXIO, ENXIO, 0}));
  limits.devices = DeviceFence{.gpu_minors = {1, 2}, .capability_minors = {}, .also_denied = {}};
  (void)cgroups_.create("job_22_a1/step_2", limits);
  EXPECT_EQ(seen_in("job_22_a1/step_2")[1], EPERM) << "a step never sees more than its job";
}

TEST_P(FenceTest, TheFenceMovesWithAResize) {
  create("job_23_a1");
  CgroupLimits limits;
  for (int minor : {0, 1}) {
    limits.devices = DeviceFence{.gpu_minors = {minor}, .capability_minors = {}, .also_denied = {}};
    for (int twice = 0; twice < 2; ++twice) {
      const Status done = cgroups_.update("job_23_a1", limits);
      ASSERT_TRUE(done) << done.error().message;
    }
    std::vector<int> expected{EPERM, EPERM, EPERM, ENXIO, 0};
    expected[static_cast<std::size_t>(minor)] = ENXIO;
    EXPECT_EQ(seen_in("job_23_a1"), expected);
  }
  limits.devices = DeviceFence{};
  ASSERT_TRUE(cgroups_.update("job_23_a1", limits));
  EXPECT_EQ(seen_in("job_23_a1"), std::vector<int>({EPERM, EPERM, EPERM, EPERM, 0}));
}

TEST_P(FenceTest, OtherDevicesCanBeDeniedByNumber) {
  CgroupLimits limits;
  limits.devices = DeviceFence{.gpu_minors = {}, .capability_minors = {}, .also_denied = {{1, 3}}};
  create("job_24_a1", limits);
  EXPECT_EQ(seen_in("job_24_a1")[4], EPERM) << "/dev/null is 1:3";
}

// /dev/null stands for a capability of MIG: 1:3 is given, /dev/zero (1:5) is not.
TEST_P(FenceTest, MigCapabilitiesAreFencedLikeGpus) {
  Cgroups cgroups = Cgroups::open({.node = test_node(), .only = GetParam(), .capability_major = 1});
  CgroupLimits limits;
  limits.devices = DeviceFence{.gpu_minors = {0}, .capability_minors = {3}, .also_denied = {}};
  const Status done = cgroups.create("job_25_a1", limits);
  ASSERT_TRUE(done) << done.error().message;
  const auto files = cgroups.procs_files("job_25_a1");
  EXPECT_EQ(Child(files, [] { return open_error("/dev/null"); }).exit_code(), 0);
  EXPECT_EQ(Child(files, [] { return open_error("/dev/zero"); }).exit_code(), EPERM);
  EXPECT_EQ(Child(files, [&] { return open_error(node(0)); }).exit_code(), ENXIO);
  EXPECT_EQ(Child(files, [&] { return open_error(node(1)); }).exit_code(), EPERM);
}

std::string backend_name(const testing::TestParamInfo<CgroupBackend>& info) {
  return std::string(to_string(info.param));
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CgroupTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FenceTest);
INSTANTIATE_TEST_SUITE_P(Backends, CgroupTest, testing::ValuesIn(available()), backend_name);
INSTANTIATE_TEST_SUITE_P(Backends, FenceTest, testing::ValuesIn(available()), backend_name);

// Whatever the machine: an ordinary user gets warnings, no exception, and calls that say why they
// fail.
TEST(CgroupDegrades, AnOrdinaryUserHasNoCgroups) {
  Child child({}, [] {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 100;
    Cgroups none =
        Cgroups::open({.node = test_node(), .only = CgroupBackend::None, .capability_major = {}});
    if (none.backend() != CgroupBackend::None) return 1;
    if (none.warnings().size() != 1 || none.warnings()[0].kind != CgroupWarning::Kind::NoCgroups)
      return 2;
    if (!none.create("job_1_a1", {})) return 3;
    if (!none.procs_files("job_1_a1").empty() || !none.unified_dir("job_1_a1").empty()) return 4;
    if (none.kill("job_1_a1") || none.populated("job_1_a1") || none.watch("job_1_a1")) return 5;
    if (none.counters("job_1_a1").cpu_ns || none.oom_killed("job_1_a1")) return 6;
    return none.remove("job_1_a1") ? 0 : 7;
  });
  EXPECT_EQ(child.exit_code(), 0);
}

// A user to whom a v2 group was delegated, as systemd does for user managers, works within it.
TEST(CgroupDegrades, ADelegatedGroupIsUsed) {
  Cgroups ours =
      Cgroups::open({.node = test_node(), .only = CgroupBackend::V2, .capability_major = {}});
  if (ours.backend() != CgroupBackend::V2 || ::geteuid() != 0) return;
  ASSERT_TRUE(ours.create("delegated", {}));
  const std::string dir = ours.unified_dir("delegated");
  const std::string procs = dir + "/cgroup.procs";
  ASSERT_EQ(::chown(dir.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chown(procs.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chown((dir + "/cgroup.subtree_control").c_str(), 65534, 65534), 0);
  Child child({procs}, [] {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 100;
    Cgroups mine = Cgroups::open({.node = "mine", .only = std::nullopt, .capability_major = {}});
    if (mine.backend() != CgroupBackend::V2) return 1;
    if (std::ranges::none_of(mine.warnings(), [](const CgroupWarning& w) {
          return w.kind == CgroupWarning::Kind::NoDeviceFence;
        }))
      return 2;
    // The user's own process is in the way of controllers, and the warning says so.
    if (std::ranges::none_of(mine.warnings(), [](const CgroupWarning& w) {
          return w.kind == CgroupWarning::Kind::NoMemory;
        }))
      return 8;
    if (!mine.create("job_1_a1", {})) return 3;
    Child inner(mine.procs_files("job_1_a1"), [] {
      idle();
      return 0;
    });
    while (!mine.populated("job_1_a1").value()) {
    }
    if (!mine.kill("job_1_a1")) return 4;
    if (inner.exit_code() != -SIGKILL) return 5;
    if (!mine.wait_empty("job_1_a1", kPatience, kSpacing).value()) return 6;
    if (!mine.remove("job_1_a1")) return 7;
    mine.remove_root();
    return 0;
  });
  EXPECT_EQ(child.exit_code(), 0);
  EXPECT_TRUE(ours.remove("delegated"));
  ours.remove_root();
}

}  // namespace
}  // namespace phalanx::agent
