#include "cli/session.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/text.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kNotReached = "Unable to contact slurm controller (connect failure)";
constexpr Duration kRetryFor = seconds(20);
constexpr int kYearsAhead = 3;

struct Refusal {
  std::string error;
  bool operator==(const Refusal&) const = default;
};
BOOST_DESCRIBE_STRUCT(Refusal, (), (error))

Error::Code code_of(int status) {
  switch (status) {
    case 400:
      return Error::Code::Invalid;
    case 401:
    case 403:
      return Error::Code::Denied;
    case 404:
      return Error::Code::NotFound;
    case 409:
      return Error::Code::Conflict;
    case 429:
    case 503:
      return Error::Code::Unavailable;
    default:
      return Error::Code::Internal;
  }
}

Error refusal(const net::Response& response) {
  const auto said = codec::decode<Refusal>(std::string_view(response.body));
  const bool words = said.ok() && !said->error.empty();
  return {code_of(response.status), words ? said->error
                                          : format("the controller answered {} {}", response.status,
                                                   net::status_text(response.status))};
}

Error not_reached(const net::HttpClient& client, const Error& error) {
  using Failure = net::HttpClient::Failure;
  const std::string where = net::to_string(client.endpoint());
  switch (client.failure()) {
    case Failure::NoServer:
      return unavailable(
          format("{}: nobody answers at {}; start it with `phalanx up`, or set "
                 "PHALANX_SOCKET",
                 kNotReached, where));
    case Failure::NotLetIn:
      return denied(format("{}: no permission for {}", kNotReached, where));
    case Failure::TimedOut:
      return unavailable(
          "Socket timed out on send/recv operation: the controller is there and has not answered; "
          "what was asked may still be done");
    default:
      return {error.code, format("{}: {}", kNotReached, error.message)};
  }
}

bool worth_repeating(const net::HttpClient& client, const Result<net::Response>& answer) {
  if (answer.ok()) return answer->status == 429 || answer->status == 503;
  return client.failure() == net::HttpClient::Failure::NoServer ||
         client.failure() == net::HttpClient::Failure::Lost;
}

bool mine_alone(const std::string& folder) {
  struct stat status{};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

Duration offset_at(std::time_t t) {
  std::tm local{};
  localtime_r(&t, &local);
  return seconds(local.tm_gmtoff);
}

}  // namespace

std::string controller_socket() {
  if (const std::string named = variable("PHALANX_SOCKET"); !named.empty()) return named;
  std::string common = "/run/phalanx/controller.sock";
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  std::string own = runtime + "/phalanx/controller.sock";
  if (!runtime.empty() && ::access(own.c_str(), F_OK) == 0) return own;
  const std::string folder = format("/tmp/phalanx-{}", ::geteuid());
  std::string fallback = folder + "/controller.sock";
  if (mine_alone(folder) && ::access(fallback.c_str(), F_OK) == 0) return fallback;
  return common;
}

void Session::say(std::string_view text) const {
  const std::string line = format("{}: {}\n", tool_, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void Session::error(std::string_view text) const { say(format("error: {}", text)); }

Result<std::string> Session::post(std::string_view path, std::string_view body, Retry retry,
                                  const net::Headers& headers) {
  if (!client_) {
    auto endpoint = TRY(net::Endpoint::parse(controller_socket()));
    client_ = std::make_unique<net::HttpClient>(std::move(endpoint));
  }
  const auto until = std::chrono::steady_clock::now() + kRetryFor;
  Duration pause = milliseconds(50);
  for (;;) {
    auto answer = client_->request("POST", path, headers, body);
    const bool repeat = retry == Retry::again && worth_repeating(*client_, answer) &&
                        std::chrono::steady_clock::now() < until;
    if (!repeat) {
      if (!answer.ok()) return not_reached(*client_, answer.error());
      if (answer->status / 100 != 2) return refusal(*answer);
      return std::move(answer->body);
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<Duration>(pause * 2, seconds(2));
  }
}

Status Session::lines(std::string_view path, std::string_view body,
                      const std::function<bool(std::string_view)>& line) {
  net::HttpClient client(TRY(net::Endpoint::parse(controller_socket())));
  std::string rest;
  bool stopped = false;
  const auto answer = client.stream("POST", path, {}, body, [&](std::string_view piece) {
    if (piece.empty()) return !(stopped = !line({}));
    rest += piece;
    for (std::size_t end = rest.find('\n'); !stopped && end != std::string::npos;
         end = rest.find('\n')) {
      stopped = !line(std::string_view(rest).substr(0, end));
      rest.erase(0, end + 1);
    }
    return !stopped;
  });
  if (stopped) return {};
  if (!answer.ok()) return not_reached(client, answer.error());
  if (answer->status / 100 != 2) return refusal(*answer);
  return unavailable("the controller ended the answer");
}

int exit_error() {
  const auto code = parse_int(variable("SLURM_EXIT_ERROR"));
  return code && *code >= 0 && *code <= 255 ? static_cast<int>(*code) : 1;
}

std::vector<std::string> environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) out.emplace_back(*entry);
  return out;
}

std::vector<std::pair<std::string, std::string>> variables() {
  std::vector<std::pair<std::string, std::string>> out;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    out.emplace_back(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
  }
  return out;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

slurm::Zone local_zone(Time now) {
  tzset();
  constexpr std::time_t kDay = 24 * 3600;
  const std::time_t start = unix_seconds(now) - 366 * kDay;
  const std::time_t end = unix_seconds(now) + kYearsAhead * 366 * kDay;
  slurm::Zone zone;
  zone.offset = offset_at(start);
  Duration last = zone.offset;
  for (std::time_t day = start; day < end; day += kDay) {
    if (offset_at(day + kDay) == last) continue;
    std::time_t before = day, after = day + kDay;
    while (after - before > 1) {
      const std::time_t middle = before + (after - before) / 2;
      (offset_at(middle) == last ? before : after) = middle;
    }
    last = offset_at(after);
    zone.changes.push_back({from_unix_ms(after * 1000), last});
  }
  return zone;
}

Time wall_now() { return net::wall_now(); }

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  const std::string_view whole = name.data();
  return std::string(whole.substr(0, whole.find('.')));
}

std::string current_directory() {
  std::array<char, 4096> path{};
  return getcwd(path.data(), path.size()) ? path.data() : "/";
}

std::uint32_t current_umask() {
  const mode_t mask = ::umask(022);
  ::umask(mask);
  return mask;
}

std::map<std::string, std::int64_t> soft_limits() {
  static constexpr std::array<std::pair<const char*, int>, 9> kLimits{{
      {"as", RLIMIT_AS},
      {"core", RLIMIT_CORE},
      {"cpu", RLIMIT_CPU},
      {"data", RLIMIT_DATA},
      {"fsize", RLIMIT_FSIZE},
      {"memlock", RLIMIT_MEMLOCK},
      {"nofile", RLIMIT_NOFILE},
      {"nproc", RLIMIT_NPROC},
      {"stack", RLIMIT_STACK},
  }};
  std::map<std::string, std::int64_t> out;
  for (const auto& [name, resource] : kLimits) {
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) continue;
    out[name] = limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(limit.rlim_cur);
  }
  return out;
}

std::string fresh_key() {
  std::array<unsigned char, 16> bytes{};
  std::ifstream("/dev/urandom", std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  std::string out;
  for (const unsigned char b : bytes) out += format("{:02x}", b);
  return out;
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return not_found(std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad() || text.fail()) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
      return invalid("Is a directory");
  }
  return text.str();
}

bool print_errors(const Session& session, const std::vector<Diagnostic>& diagnostics) {
  bool failed = false;
  for (const Diagnostic& d : diagnostics) {
    if (d.severity != Diagnostic::Severity::Error) continue;
    failed = true;
    const bool file = !d.at.file.empty() && d.at.line > 0;
    session.error(file ? format("{}:{}: {}", d.at.file, d.at.line, d.message) : d.message);
  }
  return failed;
}

void print_warnings(const Session& session, const std::vector<std::string>& warnings,
                    bool verbose) {
  if (!verbose && ::isatty(STDERR_FILENO) == 0) return;
  for (const std::string& warning : warnings) session.say("warning: " + warning);
}

}  // namespace phalanx::cli
