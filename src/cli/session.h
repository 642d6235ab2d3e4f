// What the client commands share: the way to the controller, errors in Slurm's words, and what this
// machine knows that the controller does not (environment, local time). One Session per process and
// thread; it connects on the first request. Nothing here prints but say(), error() and those named
// after them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/diagnostic.h"
#include "dialect/slurm/slurm.h"
#include "net/net.h"

namespace phalanx::cli {

// $PHALANX_SOCKET; else the first controller.sock that exists in $XDG_RUNTIME_DIR/phalanx, in
// /tmp/phalanx-UID (if that is this user's alone: anybody can make a folder of that name) and in
// /run/phalanx; else the last of them.
std::string controller_socket();

class Session {
 public:
  explicit Session(std::string tool) : tool_(std::move(tool)) {}

  [[nodiscard]] const std::string& tool() const { return tool_; }
  // "sbatch: text", "sbatch: error: text" on standard error.
  void say(std::string_view text) const;
  void error(std::string_view text) const;

  // POSTs a body and returns the body of the 2xx answer; the error holds what the controller said,
  // or Slurm's words for "not reached". A request that was certainly not processed, or that the
  // server says to repeat, is tried again for a few seconds if `again`.
  enum class Retry { no, again };
  Result<std::string> post(std::string_view path, std::string_view body, Retry retry = Retry::no,
                           const net::Headers& headers = {});
  // The same with codec's types.
  template <class Answer, class Request>
  Result<Answer> call(std::string_view path, const Request& request, Retry retry = Retry::no) {
    const std::string body = TRY(post(path, codec::encode(request), retry));
    return codec::decode<Answer>(std::string_view(body));
  }
  // A stream of lines of JSON; `line` returns false to stop. It also gets an empty line when a
  // signal interrupted the wait. An error if the stream broke before `line` said to stop.
  Status lines(std::string_view path, std::string_view body,
               const std::function<bool(std::string_view)>& line);

 private:
  std::string tool_;
  std::unique_ptr<net::HttpClient> client_;
};

// The exit code of a command that could not do its work: $SLURM_EXIT_ERROR or 1.
int exit_error();

// The process's environment, as NAME=value and as pairs.
std::vector<std::string> environment();
std::vector<std::pair<std::string, std::string>> variables();
std::string variable(const char* name);  // empty if it is not set

// Local time as a table: from a year before `now` to some years after it.
slurm::Zone local_zone(Time now);
Time wall_now();
std::string host_name();  // without the domain
std::string current_directory();
std::uint32_t current_umask();
std::map<std::string, std::int64_t> soft_limits();
// 32 hexadecimal digits: an idempotency key.
std::string fresh_key();
Result<std::string> read_file(const std::string& path);

// Errors as "sbatch: error: …" (true if there was one); warnings only where somebody looks: on a
// terminal, or when asked to be verbose.
bool print_errors(const Session& session, const std::vector<Diagnostic>& diagnostics);
void print_warnings(const Session& session, const std::vector<std::string>& warnings, bool verbose);

}  // namespace phalanx::cli
