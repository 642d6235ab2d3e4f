// The endpoints of the Slurm dialect, /slurm/v1/…, by what they do. Bodies are the structs of
// dialect/slurm/client_wire.h as JSON. Internal to server/; the door calls slurm_routes.
//
// Loop thread, but for what is said to run on the reader's.
#pragma once

#include <string>

#include "base/codec.h"
#include "dialect/slurm/slurm.h"
#include "server/door.h"

namespace phalanx::server {

void slurm_submit_routes(Router& router, Door& door);  // submit allocate test
void slurm_wait_routes(Router& router, Door& door);    // wait
void slurm_step_routes(Router& router, Door& door);    // step step_over finish
void slurm_query_routes(Router& router, Door& door);   // run

// "4711", "4711_3".
Result<Target> parse_target(const std::string& text);
// What it names in this State; null: nothing (any more).
const Workload* find_target(const State& state, const Target& target);

// The body as T, or the refusal is sent.
template <class T>
std::optional<T> read_body(const net::Request& request, const Answer& answer) {
  if (request.method != "POST") {
    refuse(answer, invalid("use POST here"));
    return std::nullopt;
  }
  auto body = codec::decode<T>(std::string_view(request.body));
  if (body.ok()) return std::move(*body);
  refuse(answer, invalid("not a request of this version: " + body.error().message));
  return std::nullopt;
}

// JSON, with the sequence number that later reads must not be older than.
template <class T>
void reply_with(const Answer& answer, const T& value, std::uint64_t sequence) {
  answer->reply(200, "application/json", codec::encode(value) + "\n",
                {{"Phalanx-Sequence", std::to_string(sequence)}});
}

}  // namespace phalanx::server
