// phalanx why: one paragraph a job: how it stands, why it waits or how it ended.
#include "base/text.h"
#include "dialect/slurm/query.h"

namespace phalanx::slurm {
namespace {

using V = Flag::Value;
constexpr Flag kFlags[] = {{"help", 'h'}, {"verbose", 'v', V::none, Flag::Handling::ignored}};

std::string waits(const JobRow& row, const Moments& moments) {
  const Reason reason = row.why();
  // Where the sentence begins with something else than the job.
  const bool of_others =
      reason.code == ReasonCode::priority || reason.code == ReasonCode::array_limit ||
      reason.code == ReasonCode::partition_down || reason.code == ReasonCode::constraints ||
      reason.code == ReasonCode::cleaning || reason.code == ReasonCode::unconfirmed;
  return format("is waiting: {}{}", of_others ? "" : "it ", waiting_for(row, moments));
}

std::string moved(const JobRow& row) {
  const auto& promise = row.workload() ? row.workload()->promise : row.array()->promise;
  if (!promise || promise->cause.empty()) return "";
  return "Its expected start moved: " + printable(promise->cause) + ".\n";
}

std::string runs(const JobRow& row, const Moments& moments) {
  if (row.state() == "CONFIGURING")
    return format("is starting: {} {} being prepared", row.nodes(),
                  row.node_count() == 1 ? "is" : "are");
  std::string text = format("is running on {} since {}", row.nodes(),
                            moments.print(row.start(), "an unknown time"));
  if (row.limit() != kForever)
    text += format("; its time limit ends at {}", moments.print(row.end(), "no time"));
  return text;
}

std::string cause_in_words(const JobRow& row) {
  const End& end = row.workload()->end;
  switch (end.cause) {
    case EndCause::completed:
      return "completed";
    case EndCause::failed:
      return end.exit_signal != 0 && end.exit_code == 0 && end.detail.empty()
                 ? format("failed: signal {} ended it", print_signal_name(end.exit_signal))
                 : format("failed with exit code {}", print_exit_code(row.exit_code()));
    case EndCause::cancelled:
      if (end.by == End().by) return "was cancelled by the cluster";
      return format("was cancelled by {}", end.by == row.spec().owner.uid
                                               ? row.spec().owner.user
                                               : format("uid {}", end.by));
    case EndCause::timeout:
      return "was stopped at its time limit of " + print_time_padded(row.limit());
    case EndCause::node_failed:
      return "was lost with its node";
    case EndCause::out_of_memory:
      return "was killed: it used more memory than it had asked for";
    case EndCause::launch_failed:
      return "could not be started";
    case EndCause::deadline:
      return "missed its deadline";
    case EndCause::preempted:
      return "made way for other work";
    case EndCause::none:
      return "ended";
  }
  return "ended";
}

std::string ended(const JobRow& row, const Moments& moments) {
  std::string text = cause_in_words(row);
  text += format(" at {}", moments.print(row.end(), "an unknown time"));
  if (row.start() != Time{})
    text += format(" after {} on {}", print_time_padded(row.elapsed()), row.nodes());
  if (row.state() == "COMPLETING") text += "; its nodes still clean up after it";
  return text;
}

std::string about(const JobRow& row, const Moments& moments) {
  std::string how;
  if (row.pending())
    how = waits(row, moments);
  else if (row.running())
    how = runs(row, moments);
  else if (row.over())
    how = ended(row, moments);
  else
    how = "is being stopped on " + row.nodes();
  std::string out = format("Job {} ({}) {}.\n", row.id(), printable(row.spec().name), how);
  if (row.over() && !row.workload()->end.detail.empty())
    out += "Cause: " + printable(row.workload()->end.detail) + ".\n";
  if (row.pending()) out += moved(row);
  if (!row.over() && row.workload() && !row.workload()->past.empty())
    if (const End& last = row.workload()->past.back().end; !last.detail.empty())
      out += "Its last attempt ended: " + printable(last.detail) + ".\n";
  for (const std::string& warning : row.spec().warnings)
    out += "Warning: " + printable(warning) + "\n";
  return out;
}

}  // namespace

Answer why(const View& view, const Ask& ask) {
  const Arguments a = read_arguments("phalanx why", kFlags, ask.args);
  if (a.error.code != 0) return {a.error, {}, {}};
  if (a.words.empty() || a.has("help"))
    return {{"", "Usage: phalanx why JOB …\n", a.has("help") ? 0 : 1}, {}, {}};
  std::vector<JobName> names;
  for (const std::string& word : a.words) {
    const auto name = parse_job_name(word);
    if (!name)
      return {
          failed("phalanx why", printable(word) + " is not a job: write 4711 or 4711_3"), {}, {}};
    names.push_back(*name);
  }
  std::vector<JobName> unknown;
  const JobRows jobs = find_jobs(view, names, true, unknown);
  Said said;
  const Moments moments = moments_of(ask);
  for (const JobRow& row : jobs.rows) said.out += about(row, moments);
  for (const JobName& name : unknown) {
    const std::string element = name.indexes ? "_" + print_array(*name.indexes) : "";
    said.err += format("phalanx why: job {}{} is not known here\n", name.number, element);
    said.code = 1;
  }
  return {said, {}, {}};
}

}  // namespace phalanx::slurm
