#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/codec.h"
#include "main/arguments.h"
#include "main/paths.h"
#include "main/verbs.h"
#include "net/net.h"

namespace phalanx {
namespace {

Result<std::string> ask(const std::string& socket, const std::string& body) {
  net::HttpClient client(net::Endpoint::unix_socket(socket));
  const auto answer = TRY(client.request("POST", "/v1/token", {}, body));
  const boost::json::value json = TRY(codec::parse_json(answer.body));
  const auto* object = json.if_object();
  const auto text = [&](const char* name) {
    const auto* member = object ? object->if_contains(name) : nullptr;
    const auto* value = member ? member->if_string() : nullptr;
    return value ? std::string(value->data(), value->size()) : std::string();
  };
  if (answer.status != 200) return denied(text("error"));
  return text("token");
}

}  // namespace

int token_verb(int argc, char** argv) {
  const char* variable = std::getenv("PHALANX_SOCKET");
  std::string socket = variable ? variable : default_paths().socket();
  std::optional<std::int64_t> uid, life_hours;
  bool agent = false;
  const std::vector<Option> known{
      {"--socket", &socket, "PATH", "of the controller"},
      {"--uid", &uid, "UID", "for this user (operators only); default: you"},
      {"--agent", &agent, "", "for an agent to join with (operators only)"},
      {"--hours", &life_hours, "N", "how long it is good; default: 24"},
  };
  if (const auto code = parse_arguments(
          "token", "Prints a token to show to the controller where no kernel vouches for you.",
          known, argc, argv)) {
    return *code;
  }
  std::string body = format("{{\"agent\":{},\"seconds\":{}", agent, life_hours.value_or(24) * 3600);
  if (uid) body += format(",\"uid\":{}", *uid);
  const auto token = ask(socket, body + "}");
  if (!token.ok()) {
    std::fprintf(stderr, "phalanx token: %s\n", token.error().message.c_str());
    return 1;
  }
  std::printf("%s\n", token->c_str());
  return 0;
}

}  // namespace phalanx
