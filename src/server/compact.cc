// `phalanx compact`: alone with a journal, as the child of a controller, or by asking one.
#include <unistd.h>

#include <cstdio>

#include "base/codec.h"
#include "net/net.h"
#include "server/server.h"
#include "server/snapshot.h"

namespace phalanx::server {
namespace {

constexpr int kGiveWay = 10;  // to the controller that commits meanwhile

std::string journal_path(const CompactOptions& options) {
  return options.state_dir + "/journal.db";
}

int fail(const Error& error, int code = 1) {
  std::fprintf(stderr, "phalanx compact: %s\n", error.message.c_str());
  return code;
}

int as_child(const CompactOptions& options) {
  (void)!::nice(kGiveWay);
  auto journal = store::SqliteJournal::open_beside(journal_path(options));
  if (!journal.ok()) return fail(journal.error());
  const auto saved = save_next_snapshot(**journal, {options.at, options.expected});
  if (saved.ok()) return 0;
  return fail(saved.error(), saved.error().code == Error::Code::Conflict ? kCompactMismatch : 1);
}

// No controller has it: what the journal says is all there is to compare with.
int alone(store::SqliteJournal& journal) {
  const auto replayed = replay(journal);
  if (!replayed.ok()) return fail(replayed.error());
  const State& state = replayed->state;
  if (state.sequence > replayed->snapshot) {
    const auto saved = save_next_snapshot(journal, {state.sequence, fingerprint(state)});
    if (!saved.ok()) return fail(saved.error());
  }
  const auto first = journal.compact();
  if (!first.ok()) return fail(first.error());
  std::printf("snapshot of event %llu, the journal starts at event %llu\n",
              static_cast<unsigned long long>(state.sequence),
              static_cast<unsigned long long>(*first));
  return 0;
}

int ask(const std::string& socket) {
  net::HttpClient::Options patient;
  patient.answer = minutes(30);
  net::HttpClient client(net::Endpoint::unix_socket(socket), patient);
  const auto answer = client.request("POST", "/v1/compact");
  if (!answer.ok()) return fail(answer.error());
  const auto value = codec::parse_json(answer->body);
  const auto* object = value.ok() ? value->if_object() : nullptr;
  const auto* error = object ? object->if_contains("error") : nullptr;
  if (error && error->is_string()) return fail(internal(std::string(error->get_string())));
  if (answer->status != 200) return fail(internal("the controller answered: " + answer->body));
  std::fputs(answer->body.c_str(), stdout);
  return 0;
}

}  // namespace

int run_compact(const CompactOptions& options) {
  if (!options.expected.empty()) return as_child(options);
  if (::access(journal_path(options).c_str(), F_OK) != 0)
    return fail(not_found(format("there is no journal in {}", options.state_dir)));
  const auto journal = store::SqliteJournal::open(journal_path(options));
  if (journal.ok()) return alone(**journal);
  if (journal.error().code != Error::Code::Conflict) return fail(journal.error());
  return ask(options.socket);
}

}  // namespace phalanx::server
