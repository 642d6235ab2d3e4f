#include "cli/submission.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <thread>

#include "base/text.h"
#include "dialect/slurm/slurm.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kVersion = "slurm 25.11.0";
constexpr std::string_view kHintHelp =
    "Application hint options:\n"
    "    --hint=             Bind tasks according to application hints\n"
    "        compute_bound   use all cores in each socket\n"
    "        memory_bound    use only one core in each socket\n"
    "        [no]multithread [don't] use extra threads with in-core multi-threading\n"
    "        help            show this help message\n";
constexpr std::array<int, 3> kNoted{SIGINT, SIGTERM, SIGHUP};
constexpr Duration kFollowAgain = milliseconds(500);
constexpr int kLookUp = SIGURG;  // ignored where nobody handles it
constexpr auto kLookAgain = std::chrono::milliseconds(5);

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler has no arguments
std::atomic<int> noted{0};

void note(int signal) { noted.store(signal); }

bool job_memory(const std::string& name) {
  return name == "SLURM_MEM_PER_NODE" || name == "SLURM_MEM_PER_CPU" || name == "SLURM_MEM_PER_GPU";
}

// As a shell would read it again.
std::string as_typed(int argc, char** argv) {
  std::string out;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool plain = !word.empty() &&
                       word.find_first_of(" \t\n'\"\\$`|&;()<>*?#~[]{}!") == std::string_view::npos;
    if (i > 0) out += ' ';
    if (plain) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

std::optional<int> answer_at_once(slurm::Tool tool, const slurm::JobOptions& options) {
  if (options.version) {
    std::printf("%s\n", std::string(kVersion).c_str());
    return 0;
  }
  if (options.hint == "help") {
    std::fwrite(kHintHelp.data(), 1, kHintHelp.size(), stdout);
    return 1;  // as Slurm
  }
  if (!options.help && !options.usage) return std::nullopt;
  const std::string text = options.help ? slurm::help_text(tool) : slurm::usage_text(tool);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

std::string submit_words(slurm::Tool tool) {
  return tool == slurm::Tool::Sbatch ? "Batch job submission failed: "
         : tool == slurm::Tool::Srun ? "Unable to allocate resources: "
                                     : "Job submit/allocate failed: ";
}

// Hosts of a file, separated by blanks, lines or commas; '#' begins a comment.
Result<std::string> hosts_in(const std::string& path) {
  const auto text = read_file(path);
  if (!text.ok())
    return invalid(format("cannot read the list of nodes in '{}': {}", path, text.error().message));
  std::string out;
  for (const std::string_view line : split(*text, '\n'))
    for (const std::string_view word : split_blanks(line.substr(0, line.find('#'))))
      out += format("{}{}", out.empty() ? "" : ",", word);
  return out;
}

void say_pending(const Session& session, std::uint32_t job) {
  if (session.tool() == "salloc") session.say(format("Pending job allocation {}", job));
  session.say(format("job {} queued and waiting for resources", job));
}

void say_granted(const Session& session, const Allocation& a, bool waited) {
  if (waited) session.say(format("job {} has been allocated resources", a.job));
  if (session.tool() != "salloc") return;
  session.say(format("Granted job allocation {}", a.job));
  session.say(format("Nodes {} are ready for job", a.news.nodes));
}

void say_over(const Session& session, const Allocation& a) {
  if (a.news.cause == "cancelled") session.say("Job has been cancelled");
  if (session.tool() == "salloc") session.say(format("Job allocation {} has been revoked.", a.job));
  const std::string why = a.news.detail.empty() ? a.news.cause : a.news.detail;
  session.error(submit_words(session.tool() == "srun" ? slurm::Tool::Srun : slurm::Tool::Salloc) +
                "Job/step already completing or completed" +
                (why.empty() ? "" : format(" ({})", why)));
}

}  // namespace

CommandLine read_command_line(const Session& session, slurm::Tool tool, int argc, char** argv) {
  CommandLine line;
  auto known = variables();
  if (tool == slurm::Tool::Srun)  // a step shares the job's memory unless it asks for some itself
    std::erase_if(known, [](const auto& entry) { return job_memory(entry.first); });
  line.tokens = slurm::environment_tokens(tool, known);
  const std::vector<std::string> words(argv + 1, argv + argc);
  line.typed = as_typed(argc, argv);
  for (slurm::Token& token : slurm::command_line_tokens(words))
    line.tokens.push_back(std::move(token));
  slurm::ParseContext context;
  context.now = wall_now();
  context.zone = local_zone(context.now);
  auto parsed = slurm::parse_tokens(tool, line.tokens, context);
  line.options = std::move(parsed.value);
  line.exit = answer_at_once(tool, line.options);
  if (line.exit) return line;
  if (print_errors(session, parsed.diagnostics)) {
    line.exit = slurm::kUsageExitCode;
    return line;
  }
  line.tokens.resize(line.tokens.size() - line.options.arguments.size());
  if (const Status status = read_host_files(line); !status.ok()) {
    session.error(status.error().message);
    line.exit = exit_error();
  }
  return line;
}

Status read_host_files(CommandLine& line) {
  const auto replace = [&](const char* option, const std::string& value) -> Status {
    if (value.find('/') == std::string::npos) return {};
    slurm::Token token;
    token.text = format("--{}={}", option, TRY(hosts_in(value)));
    token.origin = line.options.origins[option];
    // In front of a closing "--", behind all others of its origin: the last one counts.
    auto at = std::find_if(line.tokens.begin(), line.tokens.end(), [](const slurm::Token& t) {
      return t.text == "--" && t.origin == slurm::Origin::CommandLine;
    });
    line.tokens.insert(at, std::move(token));
    return {};
  };
  TRY(replace("nodelist", line.options.nodelist));
  TRY(replace("exclude", line.options.exclude));
  return {};
}

slurm::SubmitRequest make_request(slurm::Tool tool, const CommandLine& line) {
  slurm::SubmitRequest request;
  request.tool = tool;
  request.tokens = line.tokens;
  request.zone = local_zone(wall_now());
  request.work_dir = current_directory();
  request.umask = current_umask();
  request.limits = soft_limits();
  request.host = host_name();
  request.line = line.typed;
  request.key = fresh_key();
  if (tool != slurm::Tool::Sbatch) {
    request.stays = !line.options.no_shell;
    request.arguments = line.options.arguments;
    if (!request.arguments.empty()) request.script_name = request.arguments.front();
  }
  return request;
}

std::optional<slurm::SubmitReply> submit(Session& session, std::string_view path,
                                         const slurm::SubmitRequest& request, bool verbose) {
  auto reply = session.call<slurm::SubmitReply>(path, request, Session::Retry::again);
  if (!reply.ok()) {
    session.error(submit_words(request.tool) + reply.error().message);
    return std::nullopt;
  }
  print_warnings(session, reply->warnings, verbose);
  return std::move(*reply);
}

int test_only(Session& session, const slurm::SubmitRequest& request) {
  const auto reply = submit(session, "/slurm/v1/test", request, true);
  if (!reply) return exit_error();
  session.say(reply->would_start);
  return 0;
}

std::optional<Allocation> allocate(Session& session, const slurm::SubmitRequest& request,
                                   const slurm::JobOptions& options) {
  const auto reply = submit(session, "/slurm/v1/allocate", request, options.verbose > 0);
  if (!reply) return std::nullopt;
  Allocation allocation;
  allocation.job = reply->job;
  bool waited = false;
  const bool quiet = options.quiet > 0;
  note_signals();
  const Status status = follow(
      session, {reply->job, true, request.stays, reply->sequence}, [&](const slurm::JobNews& news) {
        if (noted_signal() != 0) return false;
        allocation.news = news;
        if (news.phase == slurm::JobPhase::Pending && !waited && !quiet)
          say_pending(session, reply->job);
        waited = waited || news.phase == slurm::JobPhase::Pending;
        return news.phase == slurm::JobPhase::Pending || news.phase == slurm::JobPhase::Starting;
      });
  if (noted_signal() != 0) {
    finish(session, reply->job, 1);
    if (session.tool() == "salloc")
      session.say(format("Job allocation {} has been revoked.", reply->job));
    session.say("Job aborted due to signal");
    return std::nullopt;
  }
  restore_signals();
  if (!status.ok()) {
    session.error(status.error().message);
    return std::nullopt;
  }
  if (allocation.news.phase != slurm::JobPhase::Running) {
    say_over(session, allocation);
    return std::nullopt;
  }
  if (!quiet) say_granted(session, allocation, waited);
  return allocation;
}

void finish(Session& session, std::uint32_t job, int exit_code) {
  slurm::OverRequest over;
  over.job = format("{}", job);
  over.exit_code = exit_code;
  const auto answer = session.post("/slurm/v1/finish", codec::encode(over), Session::Retry::again);
  if (!answer.ok() && answer.error().code != Error::Code::NotFound)
    session.error(format("cannot give job {} back: {}", job, answer.error().message));
}

Status follow(Session& session, const slurm::WaitRequest& request,
              const std::function<bool(const slurm::JobNews&)>& heard) {
  slurm::JobNews last;
  bool any = false;
  for (;;) {
    bool over = false;
    Status status =
        session.lines("/slurm/v1/wait", codec::encode(request), [&](std::string_view line) {
          if (!line.empty()) {
            auto news = codec::decode<slurm::JobNews>(line);
            if (!news.ok()) return true;
            last = std::move(*news);
            any = true;
          }
          const bool ended =
              last.phase == slurm::JobPhase::Ended || last.phase == slurm::JobPhase::Unknown;
          over = !heard(last) || ended;
          return !over;
        });
    if (over) return {};
    if (!status.ok() && status.error().code != Error::Code::Unavailable &&
        status.error().code != Error::Code::Internal)
      return status;
    std::this_thread::sleep_for(kFollowAgain);
    // Who waits for a start has nothing to look at before the first news.
    if ((any || !request.start || noted_signal() != 0) && !heard(last)) return {};
  }
}

// The thread takes no signal but the one that makes it look whether it is to leave.
Attendance::Attendance(Session& session, std::uint32_t job, std::function<void()> ended)
    : ended_(std::move(ended)) {
  struct sigaction action{};
  action.sa_handler = [](int) {};  // without SA_RESTART: it must interrupt the wait
  sigaction(kLookUp, &action, nullptr);
  sigset_t others, before;
  sigfillset(&others);
  sigdelset(&others, kLookUp);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  thread_ = std::thread([this, tool = session.tool(), job] { watch(tool, job); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Attendance::watch(const std::string& tool, std::uint32_t job) {
  Session session(tool);
  bool over = false;
  const Status status = follow(session, {job, false, true, 0}, [&](const slurm::JobNews& news) {
    over = news.phase == slurm::JobPhase::Ended || news.phase == slurm::JobPhase::Unknown;
    return !over && !leaving_.load();
  });
  if (!leaving_.load()) {
    if (!status.ok()) session.error(status.error().message);
    if (over && ended_) ended_();
  }
  const std::lock_guard lock(mutex_);
  gone_ = true;
  left_.notify_all();
}

// It may have looked just before it waits: it is woken until it is through.
void Attendance::leave() {
  if (!thread_.joinable()) return;
  leaving_ = true;
  std::unique_lock lock(mutex_);
  while (!gone_) {
    pthread_kill(thread_.native_handle(), kLookUp);
    left_.wait_for(lock, kLookAgain);
  }
  lock.unlock();
  thread_.join();
}

void note_signals() {
  struct sigaction action{};
  action.sa_handler = note;  // without SA_RESTART: it must interrupt the wait
  for (const int signal : kNoted) sigaction(signal, &action, nullptr);
}

int noted_signal() { return noted.load(); }

void restore_signals() {
  for (const int signal : kNoted) std::signal(signal, SIG_DFL);
}

}  // namespace phalanx::cli
