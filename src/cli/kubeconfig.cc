#include "cli/kubeconfig.h"

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/codec.h"
#include "base/text.h"
#include "cli/session.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kUsage =
    "usage: phalanx kubeconfig [--server URL] [--hours N] > ~/.kube/config\n"
    "  --server URL  where kubectl reaches the controller; default: as the controller says\n"
    "  --hours N     how long the token is good; default: 24\n";

struct TokenRequest {
  std::int64_t seconds = 0;
  bool operator==(const TokenRequest&) const = default;
};
BOOST_DESCRIBE_STRUCT(TokenRequest, (), (seconds))
struct Token {
  std::string token;
  bool operator==(const Token&) const = default;
};
BOOST_DESCRIBE_STRUCT(Token, (), (token))
struct Address {
  std::string server;
  bool operator==(const Address&) const = default;
};
BOOST_DESCRIBE_STRUCT(Address, (), (server))

struct Options {
  std::string server;
  std::int64_t hours = 24;
  bool help = false;
};

Result<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    if (name == "--help" || name == "-h") {
      options.help = true;
      continue;
    }
    const std::size_t equals = name.find('=');
    std::optional<std::string_view> value;
    if (equals != std::string_view::npos)
      value = name.substr(equals + 1);
    else if (i + 1 < argc)
      value = argv[++i];
    name = name.substr(0, equals);
    if (name != "--server" && name != "--hours")
      return invalid(format("there is no option {}", printable(name)));
    if (!value) return invalid(format("{} needs a value", name));
    if (name == "--server") {
      options.server = *value;
      continue;
    }
    const auto hours = parse_int(*value);
    if (!hours || *hours < 1 || *hours > 24 * 366)
      return invalid("--hours must be a number from 1 to 8784");
    options.hours = *hours;
  }
  return options;
}

// kubectl sends no bearer token where there is no TLS; a password in the address it does send, and
// never prints.
std::string with_token(const std::string& server, const std::string& token) {
  constexpr std::string_view kPlain = "http://";
  if (!server.starts_with(kPlain)) return server;
  return format("{}bearer:{}@{}", kPlain, token, server.substr(kPlain.size()));
}

Result<std::string> config(const Options& options) {
  Session session("phalanx kubeconfig");
  std::string server = options.server;
  if (server.empty()) {
    const std::string answer = TRY(session.post("/v1/kubernetes", "{}"));
    server = TRY(codec::decode<Address>(std::string_view(answer))).server;
  }
  const Token token = TRY(session.call<Token>("/v1/token", TokenRequest{options.hours * 3600}));
  return format(
      "apiVersion: v1\n"
      "kind: Config\n"
      "current-context: phalanx\n"
      "clusters:\n"
      "- name: phalanx\n"
      "  cluster: {{server: \"{}\"}}\n"
      "users:\n"
      "- name: phalanx\n"
      "  user: {{token: \"{}\"}}\n"
      "contexts:\n"
      "- name: phalanx\n"
      "  context: {{cluster: phalanx, user: phalanx, namespace: default}}\n",
      with_token(server, token.token), token.token);
}

}  // namespace

int kubeconfig_verb(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options.ok()) {
    std::fprintf(stderr, "phalanx kubeconfig: %s\n%s", options.error().message.c_str(),
                 std::string(kUsage).c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(std::string(kUsage).c_str(), stdout);
    return 0;
  }
  const auto text = config(*options);
  if (!text.ok()) {
    std::fprintf(stderr, "phalanx kubeconfig: %s\n", text.error().message.c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace phalanx::cli
