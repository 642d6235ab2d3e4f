// POST /slurm/v1/run: the command lines of squeue, sinfo, scontrol, sacct, scancel, why, top and
// ledger. Reading happens on the reader's thread; what changes something goes to the core and is
// answered when it is on disk.
#include "base/codec.h"
#include "base/text.h"
#include "dialect/slurm/slurm.h"
#include "server/slurm_api.h"

namespace phalanx::server {
namespace {

// Finished work that has left State; `problem` says what could not be read.
std::vector<Workload> finished_work(store::Archive& archive, const slurm::PastFilter& wanted,
                                    std::string& problem) {
  store::ArchiveFilter filter;
  for (const JobNumber number : wanted.numbers) filter.numbers.push_back(number);
  if (wanted.from) filter.from_ms = unix_ms(*wanted.from);
  if (wanted.until) filter.until_ms = unix_ms(*wanted.until);
  std::vector<Workload> out;
  const auto rows = archive.query(filter);
  if (!rows.ok()) {
    problem = rows.error().message;
    return out;
  }
  for (const store::ArchiveRow& row : *rows) {
    auto workload = codec::decode<Workload>(std::string_view(row.body));
    if (workload.ok())
      out.push_back(std::move(*workload));
    else
      problem = format("job {}: {}", row.number, workload.error().message);
  }
  return out;
}

net::Headers sequence_header(std::uint64_t sequence) {
  return {{"Phalanx-Sequence", std::to_string(sequence)}};
}

void reply(const Answer& answer, const slurm::Said& said, std::uint64_t sequence) {
  answer->post_reply(200, "application/json", codec::encode(said), sequence_header(sequence));
}

// What work that has left State needs to run again. Where it is not kept any more the work is
// forgotten.
std::vector<store::Blob> texts_for(store::Archive& archive, InputKind& input) {
  auto* requeue = std::get_if<Requeue>(&input);
  if (!requeue || !requeue->gone) return {};
  std::vector<store::Blob> out;
  const LaunchSpec& launch = requeue->gone->spec->launch;
  for (const std::string* id : {&launch.script, &launch.environment}) {
    if (id->empty()) continue;
    auto bytes = archive.text(*id);
    if (!bytes.ok()) {
      requeue->gone.reset();
      return {};
    }
    out.push_back({*id, std::move(*bytes)});
  }
  return out;
}

// The inputs of one command on their way through the core.
struct Changes {
  slurm::Answer plan;
  std::vector<std::vector<store::Blob>> blobs;  // of each input
  std::vector<Reply> replies;
  std::size_t missing = 0;
  std::uint64_t sequence = 0;
  Answer answer;
};

// Loop thread.
void decide(Core& core, const Identity& who, slurm::Answer plan,
            std::vector<std::vector<store::Blob>> blobs, const Answer& answer) {
  const auto changes = std::make_shared<Changes>();
  changes->blobs = std::move(blobs);
  changes->plan = std::move(plan);
  changes->answer = answer;
  changes->missing = changes->plan.inputs.size();
  changes->replies.resize(changes->missing);
  for (std::size_t i = 0; i < changes->replies.size(); ++i) {
    core.put(
        who, std::move(changes->plan.inputs[i]),
        [changes, i](const Reply& said, std::uint64_t sequence) {
          changes->replies[i] = said;
          changes->sequence = std::max(changes->sequence, sequence);
          if (--changes->missing > 0) return;
          reply(changes->answer, changes->plan.finish(changes->plan.said, changes->replies),
                changes->sequence);
        },
        std::move(changes->blobs[i]));
  }
}

slurm::Said refusal(const std::string& why) {
  return {"", "slurm_reconfigure error: " + why + "\n", 1};
}

void reconfigured(Door& door, const slurm::Said& said, bool nodes_differ, const Answer& answer,
                  const Reply& decided, std::uint64_t sequence) {
  if (decided.error) return reply(answer, refusal(decided.error->message), sequence);
  // What a node offers is decided when its agent reports: each comes again.
  if (nodes_differ) door.agents.disconnect_all();
  reply(answer, said, sequence);
}

// Loop thread. Files are read for operators only; the core says so to everybody else.
void reconfigure(Door& door, const Identity& who, const Answer& answer) {
  const ClusterConfig& now = door.core.state().config;
  Reread next{now, {}};
  slurm::Said said;
  if (who.operator_) {
    if (!door.reread)
      return reply(answer, refusal("the cluster was started without --config: there are no files"),
                   0);
    auto reread = door.reread();
    if (!reread.ok()) return reply(answer, refusal(reread.error().message), 0);
    next = std::move(*reread);
    const auto notes = slurm::change_notes(now, next.config);
    if (!notes.ok()) return reply(answer, refusal(notes.error().message), 0);
    for (const std::string& note : *notes) said.out += note + "\n";
    for (const std::string& warning : next.warnings) said.err += warning + "\n";
  }
  const bool nodes_differ = next.config.nodes != now.nodes;
  door.core.put(who, Configure{"", std::move(next.config)},
                [&door, said, nodes_differ, answer](const Reply& decided, std::uint64_t sequence) {
                  reconfigured(door, said, nodes_differ, answer, decided, sequence);
                });
}

void run_command(Door& door, const Identity& who, const slurm::Ask& ask, std::uint64_t at_least,
                 const Answer& answer) {
  door.reader.ask(at_least, [&door, who, ask, answer](const View& view) {
    std::string problem;
    const slurm::View seen{view.state,
                           view.outlook,
                           [&](const slurm::PastFilter& wanted) {
                             return finished_work(view.archive, wanted, problem);
                           },
                           view.now,
                           who,
                           &view.vitals};
    slurm::Answer plan = slurm::answer(seen, ask);
    if (!problem.empty()) {
      plan.said.err += "phalanx: the archive of finished jobs is incomplete: " + problem + "\n";
      plan.said.code = std::max(plan.said.code, 1);
    }
    if (plan.reconfigure)
      return door.loop.post([&door, who, answer] { reconfigure(door, who, answer); });
    if (plan.inputs.empty()) return reply(answer, plan.said, view.state.sequence);
    std::vector<std::vector<store::Blob>> blobs;
    blobs.reserve(plan.inputs.size());
    for (InputKind& input : plan.inputs) blobs.push_back(texts_for(view.archive, input));
    door.loop.post(
        [&door, who, answer, plan = std::move(plan), blobs = std::move(blobs)]() mutable {
          decide(door.core, who, std::move(plan), std::move(blobs), answer);
        });
  });
}

std::uint64_t at_least(const net::Request& request) {
  const auto header = request.headers.find("Phalanx-At-Least");
  return header ? parse_uint(*header).value_or(0) : 0;
}

}  // namespace

void slurm_query_routes(Router& router, Door& door) {
  router.add("/slurm/v1/run",
             [&door](const Identity& who, const net::Request& request, const Answer& answer) {
               const auto ask = read_body<slurm::Ask>(request, answer);
               if (!ask) return;
               // What is not on disk yet will not come: nobody waits for a number that was never
               // given.
               const std::uint64_t known = door.core.state().sequence;
               run_command(door, who, *ask, std::min(at_least(request), known), answer);
             });
}

}  // namespace phalanx::server
