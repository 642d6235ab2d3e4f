// sbatch, and what salloc and srun ask for before anything runs: words to a Submit, in one commit
// with the script and the environment.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "dialect/slurm/slurm.h"
#include "plan/plan.h"
#include "server/slurm_api.h"

namespace phalanx::server {
namespace {

enum class Mode { submit, test };

// Dependencies that only the archive knows, and whether all went well: a job, a whole array, or one
// element of it.
using Gone = std::map<std::pair<JobNumber, std::optional<std::uint32_t>>, bool>;

// A submission on its way: shared by the callbacks that carry it on.
struct Draft {
  Identity who;
  slurm::SubmitRequest request;
  slurm::JobOptions options;
  std::string content;  // a digest of the request
  Gone gone;
  std::vector<std::string> partitions;  // of several that were named: those not yet tried
  std::optional<Error> refused;         // what the first of them said
  Answer answer;
  Mode mode = Mode::submit;
};
using DraftPtr = std::shared_ptr<Draft>;

std::string text_of(const Diagnostic& d) {
  return d.at.line > 0 ? format("{}:{}: {}", d.at.file, d.at.line, d.message) : d.message;
}

std::optional<slurm::KnownJob> known_job(const State& state, const Draft& draft, JobNumber number,
                                         std::optional<std::uint32_t> index) {
  slurm::KnownJob known;
  const auto it = state.by_number.find(number);
  if (it == state.by_number.end()) {
    const auto gone = draft.gone.find({number, index});
    if (gone == draft.gone.end()) return std::nullopt;
    known.gone = true;
    known.ok = gone->second;
    return known;
  }
  known.id = it->second;
  const Workload* w =
      find_workload(state, known.id);  // an array's last element has the array's number
  if (w && w->array_number == number && find_array(state, w->array)) known.id = w->array;
  if (!index) return known;
  const Array* array = find_array(state, known.id);
  const auto written = array ? slurm::parse_array(array->written) : invalid("no array");
  if (!written.ok() || !slurm::array_contains(*written, *index)) return std::nullopt;
  known.index = index;
  return known;
}

std::string joined_by_nul(const std::vector<std::string>& entries) {
  std::string out;
  for (const std::string& entry : entries) {
    out += entry;
    out += '\0';
  }
  return out;
}

// "Job 21 to start at 2026-12-25T01:55:55 using 1 processors on nodes m1 in partition main"
std::string start_sentence(const State& state, const slurm::Submission& s, Time now,
                           const slurm::Zone& zone) {
  const Partition* partition = find_partition(state.config, s.spec.partition);
  WorkloadSpec spec = s.spec;
  if (partition) spec.partition = partition->name;
  const auto start = plan::would_start(state, now, spec);
  if (!start.ok()) return {};
  std::vector<std::string> names;
  std::int64_t cpus = 0;
  for (const NodeShare& share : start->shares) {
    if (const Node* node = find_node(state, share.node)) names.push_back(node->spec.name);
    cpus += share.cpus.ceil();
  }
  return format("Job {} to start at {} using {} processors on nodes {} in partition {}",
                state.next_number, slurm::print_moment(start->start, zone), cpus,
                slurm::fold_hosts(names), spec.partition);
}

slurm::SubmitContext context_of(Door& door, const Draft& draft) {
  const State& state = door.core.state();
  slurm::SubmitContext context{state.config, draft.who, draft.request, {}, {}, {}, {}};
  context.find_job = [&](JobNumber number, std::optional<std::uint32_t> index) {
    return known_job(state, draft, number, index);
  };
  return context;
}

// Of several partitions: where it would start first, and of equals in the order given.
std::vector<std::string> preferred(Door& door, const Draft& draft) {
  std::vector<std::pair<Time, std::string>> by_start;
  slurm::SubmitContext context = context_of(door, draft);
  for (const std::string_view name : split(draft.options.partition, ',')) {
    context.partition = name;
    Time start = kNever;
    if (const auto made = slurm::translate(context, draft.options); made.ok())
      if (const auto asked = plan::would_start(door.core.state(), door.core.now(), made->spec);
          asked.ok())
        start = asked->start;
    by_start.emplace_back(start, name);
  }
  std::ranges::stable_sort(by_start, {}, &std::pair<Time, std::string>::first);
  std::vector<std::string> names;
  names.reserve(by_start.size());
  for (auto& [start, name] : by_start) names.push_back(std::move(name));
  return names;
}

void submit(Door& door, const DraftPtr& draft);

// Refused in one of several partitions: the next may take it. Where none does, the first speaks.
void refused(Door& door, const DraftPtr& draft, const Error& error) {
  if (!draft->refused) draft->refused = error;
  if (draft->partitions.empty()) return refuse(draft->answer, *draft->refused);
  submit(door, draft);
}

// Translates and hands it to the core.
void submit(Door& door, const DraftPtr& draft) {
  std::vector<store::Blob> blobs;
  slurm::SubmitContext context = context_of(door, *draft);
  if (!draft->partitions.empty()) {
    context.partition = draft->partitions.front();
    draft->partitions.erase(draft->partitions.begin());
  }
  if (draft->request.tool == slurm::Tool::Sbatch) {
    const auto environment = slurm::submitted_environment(
        draft->request.environment, draft->options.export_env.value_or(slurm::ExportSpec{}));
    blobs.push_back(store::make_blob(draft->request.script));
    blobs.push_back(store::make_blob(joined_by_nul(environment)));
    context.script_blob = blobs[0].id;
    context.environment_blob = blobs[1].id;
  }
  auto submission = slurm::translate(context, draft->options);
  if (!submission.ok()) return refused(door, draft, submission.error());
  slurm::SubmitReply said;
  said.warnings = submission->spec.warnings;
  Submit input;
  input.test_only = draft->mode == Mode::test;
  if (input.test_only)
    said.would_start =
        start_sentence(door.core.state(), *submission, door.core.now(), draft->request.zone);
  input.spec = std::make_shared<const WorkloadSpec>(std::move(submission->spec));
  input.array = std::move(submission->array);
  input.hold = submission->hold;
  input.key = draft->request.key;
  input.content = draft->content;
  if (input.test_only) blobs.clear();
  door.core.put(
      draft->who, std::move(input),
      [&door, draft, said](const Reply& reply, std::uint64_t sequence) mutable {
        if (reply.error) return refused(door, draft, *reply.error);
        door.clients.expect(reply.id);
        said.job = reply.number;
        said.sequence = sequence;
        reply_with(draft->answer, said, sequence);
      },
      std::move(blobs));
}

void begin(Door& door, const DraftPtr& draft) {
  if (draft->options.partition.find(',') != std::string::npos)
    draft->partitions = preferred(door, *draft);
  submit(door, draft);
}

// Dependencies on jobs that have left State: the archive says how they ended. Reader's thread.
Gone ask_archive(store::Archive& archive, const std::vector<std::int64_t>& numbers) {
  Gone out;
  store::ArchiveFilter filter;
  filter.numbers = numbers;
  const auto rows = archive.query(filter);
  if (!rows.ok()) return out;
  for (const store::ArchiveRow& row : *rows) {
    const bool ok = row.state == "completed";
    for (const std::int64_t number : {row.number, row.array_number}) {
      if (number == 0) continue;
      const auto it = out.try_emplace({static_cast<JobNumber>(number), std::nullopt}, true).first;
      it->second = it->second && ok;
    }
    if (row.array_index >= 0)
      out[{static_cast<JobNumber>(row.array_number), static_cast<std::uint32_t>(row.array_index)}] =
          ok;
  }
  return out;
}

void start(Door& door, const Identity& who, const net::Request& request, const Answer& answer,
           Mode mode) {
  auto body = read_body<slurm::SubmitRequest>(request, answer);
  if (!body) return;
  if (who.kind != IdentityKind::unix_user)
    return refuse(answer, denied("Access/permission denied: only a user may submit work"));
  auto draft = std::make_shared<Draft>();
  draft->who = who;
  draft->request = std::move(*body);
  draft->content = store::sha256_hex(request.body);
  draft->answer = answer;
  draft->mode = mode;
  auto options = slurm::read_options(draft->request, door.core.state().config, door.core.now());
  if (const Diagnostic* error = options.first_error())
    return refuse(answer, invalid(text_of(*error)));
  for (const Diagnostic& d : options.diagnostics)
    if (d.severity == Diagnostic::Severity::Warning) draft->request.warnings.push_back(text_of(d));
  draft->options = std::move(options.value);
  std::vector<std::int64_t> unknown;
  for (const slurm::Dependency& d : draft->options.dependency.items)
    if (d.job != 0 && !door.core.state().by_number.contains(d.job)) unknown.push_back(d.job);
  if (unknown.empty()) return begin(door, draft);
  door.reader.ask(0, [&door, draft, unknown](const View& view) {
    draft->gone = ask_archive(view.archive, unknown);
    door.loop.post([&door, draft] { begin(door, draft); });
  });
}

}  // namespace

void slurm_submit_routes(Router& router, Door& door) {
  const auto route = [&](const char* path, Mode mode) {
    router.add(path,
               [&door, mode](const Identity& who, const net::Request& request,
                             const Answer& answer) { start(door, who, request, answer, mode); });
  };
  route("/slurm/v1/submit", Mode::submit);
  route("/slurm/v1/allocate", Mode::submit);
  route("/slurm/v1/test", Mode::test);
}

}  // namespace phalanx::server
