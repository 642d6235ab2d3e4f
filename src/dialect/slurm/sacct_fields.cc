#include "dialect/slurm/sacct_fields.h"

#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "model/usage.h"

namespace phalanx::slurm {
namespace {

using Row = const AccountRow&;
using Style = const AccountStyle&;

std::string whole_seconds(Duration d) {
  return std::to_string(std::chrono::duration_cast<seconds>(d).count());
}
std::string number(std::int64_t n) { return std::to_string(n); }

// "a=1,b=2" in the order of the keys, as accounting writes it.
std::string by_key(const std::string& tres) {
  std::vector<std::string> parts = split_list(tres);
  std::sort(parts.begin(), parts.end(), [](const std::string& a, const std::string& b) {
    return a.substr(0, a.find('=')) < b.substr(0, b.find('='));
  });
  return join(parts, ",");
}

std::string in_unit(std::int64_t mb, char unit) {
  if (mb == 0) return "0";
  switch (unit) {
    case 'K':
      return format("{}K", mb * 1024);
    case 'M':
      return format("{}M", mb);
    case 'G':
      return mb % 1024 == 0 ? format("{}G", mb / 1024)
                            : format("{}.{:02}G", mb / 1024, mb % 1024 * 100 / 1024);
    case 'T':
      return format("{}.{:02}T", mb >> 20, (mb % (1 << 20)) * 100 >> 20);
    default:
      return print_mbytes(mb);
  }
}

// What was measured in KiB: in the largest unit that is exact, or as asked.
std::string kib(std::int64_t bytes, Style style) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr std::int64_t kStep = 1024;
  std::int64_t amount = bytes / kStep;
  std::size_t unit = 0;
  if (style.unit == 0 || style.noconvert) {
    while (!style.noconvert && amount != 0 && amount % kStep == 0 && unit + 1 < kUnits.size()) {
      amount /= kStep;
      ++unit;
    }
    return amount == 0 ? "0" : format("{}{}", amount, kUnits[unit]);
  }
  std::int64_t one = 1;
  for (; unit + 1 < kUnits.size() && kUnits[unit] != style.unit; ++unit) one *= kStep;
  return amount % one == 0
             ? format("{}{}", amount / one, kUnits[unit])
             : format("{}.{:02}{}", amount / one, amount % one * 100 / one, kUnits[unit]);
}

// "00:01.250", "01:02:03", "1-02:03:04".
std::string cpu_text(const std::optional<std::int64_t>& ms) {
  if (!ms) return "";
  if (*ms == 0 || *ms >= 3'600'000) return print_time_padded(milliseconds(*ms));
  return format("{:02}:{:02}.{:03}", *ms / 60'000, *ms / 1000 % 60, *ms % 1000);
}

std::optional<std::int64_t> total_cpu(const Used& used) {
  if (!used.user_ms && !used.system_ms) return std::nullopt;
  return used.user_ms.value_or(0) + used.system_ms.value_or(0);
}

std::string account(Row r, Style) { return printable(r.job->spec().account); }
std::string alloc_cpus(Row r, Style) { return number(r.tres().empty() ? 0 : r.cpus()); }
std::string alloc_nodes(Row r, Style) {
  return number(static_cast<std::int64_t>(r.nodes().size()));
}
std::string alloc_tres(Row r, Style) { return by_key(r.tres()); }
std::string cluster(Row r, Style) { return r.job->view().state.config.name; }
std::string comment(Row r, Style) { return printable(r.job->spec().comment); }
std::string constraints(Row r, Style) {
  const auto it = r.job->spec().asked.find("constraint");
  return it == r.job->spec().asked.end() ? "" : printable(it->second);
}
std::string cpu_time(Row r, Style) { return print_time_padded(r.elapsed() * r.cpus()); }
std::string cpu_time_raw(Row r, Style) { return whole_seconds(r.elapsed() * r.cpus()); }
std::string worst_step(Row r, Style) {
  return format("{}:0", r.job->over() ? r.job->workload()->end.worst_step : 0);
}
std::string elapsed(Row r, Style) { return print_time_padded(r.elapsed()); }
std::string elapsed_raw(Row r, Style) { return whole_seconds(r.elapsed()); }
std::string eligible(Row r, Style s) { return s.moments.print(r.job->eligible(), "Unknown"); }
std::string end(Row r, Style s) { return s.moments.print(r.end(), "Unknown"); }
std::string exit_code(Row r, Style) { return print_exit_code(r.exit_code()); }
std::string gid(Row r, Style) { return number(r.job->spec().owner.gid); }
std::string group(Row r, Style) { return printable(r.job->spec().owner.group); }
std::string gpu_seconds(Row r, Style) { return exact_seconds(r.usage().gpu_ms); }
std::string cpu_seconds(Row r, Style) { return exact_seconds(r.usage().cpu_ms); }
std::string memory_seconds(Row r, Style) { return exact_seconds(r.usage().memory_mb_ms); }
std::string id(Row r, Style) { return r.id(false); }
std::string raw_id(Row r, Style) { return r.id(true); }
std::string name(Row r, Style) { return printable(r.step ? r.step->name : r.job->spec().name); }
std::string node_list(Row r, Style) {
  const std::vector<std::string> nodes = r.nodes();
  return nodes.empty() ? "None assigned" : fold_hosts_sorted(nodes);
}
std::string node_count(Row r, Style) {
  const auto held = static_cast<std::int64_t>(r.nodes().size());
  return number(held > 0 ? held : r.job->node_count());
}
std::string cpu_count(Row r, Style) { return number(r.cpus()); }
std::string tasks(Row r, Style) { return r.step ? number(r.step->tasks) : ""; }
std::string partition(Row r, Style) { return r.job->spec().partition; }
std::string waited(Row r, Style) {
  const Time until = r.start() == Time{} ? r.job->view().now : r.start();
  return print_time_padded(std::max(until - r.job->eligible(), Duration{}));
}
std::string waited_cpu_raw(Row r, Style) {
  const Time until = r.start() == Time{} ? r.job->view().now : r.start();
  return whole_seconds(std::max(until - r.job->eligible(), Duration{}) * r.job->cpus());
}
std::string priority(Row r, Style) { return number(r.job->priority()); }
std::string qos(Row r, Style) { return r.job->spec().qos.empty() ? "normal" : r.job->spec().qos; }
std::string reason(Row r, Style) { return r.job->reason(); }
std::string asked_cpus(Row r, Style) { return number(r.job->cpus()); }
std::string asked_memory(Row r, Style s) { return in_unit(r.job->memory_mb(), s.unit); }
std::string asked_nodes(Row r, Style) { return number(r.job->node_count()); }
std::string asked_tres(Row r, Style) { return by_key(r.job->tres_asked()); }
std::string restarts(Row r, Style) { return number(r.restarts()); }
std::string start(Row r, Style s) { return s.moments.print(r.start(), "Unknown"); }
std::string state(Row r, Style) { return r.state(); }
std::string submit(Row r, Style s) { return s.moments.print(r.job->submitted(), "Unknown"); }
std::string submit_line(Row r, Style) {
  const WorkloadSpec& spec = r.job->spec();
  return printable(spec.submit_line.empty() ? spec.command : spec.submit_line);
}
std::string system_comment(Row r, Style) { return r.job->emulated() ? kEmulatedGpus : ""; }
// --- what was really used
std::string user_cpu(Row r, Style) { return cpu_text(r.measured().sum.user_ms); }
std::string system_cpu(Row r, Style) { return cpu_text(r.measured().sum.system_ms); }
std::string all_cpu(Row r, Style) { return cpu_text(total_cpu(r.measured().sum)); }
std::string average_cpu(Row r, Style) {
  const auto ms = total_cpu(r.measured().sum);
  return r.step && ms
             ? print_time_padded(milliseconds(*ms / std::max<std::int64_t>(r.step->tasks, 1)))
             : "";
}
std::string memory_peak(Row r, Style s) {
  const Measured m = r.measured();
  return r.step && m.peak ? kib(*m.peak, s) : "";
}
std::string memory_peak_node(Row r, Style) {
  const Measured m = r.measured();
  return r.step && m.peak ? r.node(m.peak_node) : "";
}
std::string average_memory(Row r, Style s) {
  const auto sum = r.measured().sum.memory_peak;
  return r.step && sum ? kib(*sum / std::max<std::int64_t>(r.step->tasks, 1), s) : "";
}
std::string no_time(Row, Style) { return "00:00:00"; }
std::string time_limit(Row r, Style) { return print_time_padded(r.job->limit()); }
std::string time_limit_raw(Row r, Style) {
  const Duration limit = r.job->limit();
  return limit == kForever ? "UNLIMITED"
                           : std::to_string(std::chrono::duration_cast<minutes>(limit).count());
}
std::string uid(Row r, Style) { return number(r.job->spec().owner.uid); }
std::string user(Row r, Style) { return printable(r.job->spec().owner.user); }
std::string work_dir(Row r, Style) { return printable(r.job->spec().launch.work_dir); }
std::string std_out(Row r, Style) {
  return printable(r.job->output(r.job->spec().launch.std_out, false));
}
std::string std_err(Row r, Style) {
  return printable(r.job->output(r.job->spec().launch.std_err, true));
}
std::string std_in(Row r, Style) {
  const std::string& file = r.job->spec().launch.std_in;
  return file.empty() ? "/dev/null" : printable(file);
}

constexpr bool kOfJobs = true;
constexpr AccountField kFields[] = {
    {"Account", 10, false, account},
    {"AdminComment", 14},
    {"AllocCPUS", 10, false, alloc_cpus},
    {"AllocNodes", 10, false, alloc_nodes},
    {"AllocTRES", 10, false, alloc_tres},
    {"AssocID", 7},
    {"AveCPU", 10, false, average_cpu},
    {"AveCPUFreq", 10},
    {"AveDiskRead", 14},
    {"AveDiskWrite", 14},
    {"AvePages", 10},
    {"AveRSS", 10, false, average_memory},
    {"AveVMSize", 10},
    {"BlockID", 16},
    {"Cluster", 10, false, cluster},
    {"Comment", 14, kOfJobs, comment},
    {"Constraints", 19, kOfJobs, constraints},
    {"ConsumedEnergy", 14},
    {"ConsumedEnergyRaw", 17},
    {"Container", 19},
    {"CPUTime", 10, false, cpu_time},
    {"CPUTimeRAW", 10, false, cpu_time_raw},
    {"CPUSeconds", 14, false, cpu_seconds},  // after Slurm's own: "CPU" stays CPUTime
    {"DBIndex", 10},
    {"DerivedExitCode", 15, kOfJobs, worst_step},
    {"Elapsed", 10, false, elapsed},
    {"ElapsedRaw", 10, false, elapsed_raw},
    {"Eligible", 19, kOfJobs, eligible},
    {"End", 19, false, end},
    {"ExitCode", 8, false, exit_code},
    {"Extra", 19},
    {"FailedNode", 19},
    {"Flags", 20},
    {"GID", 6, kOfJobs, gid},
    {"GPUSeconds", 14, false, gpu_seconds},
    {"Group", 9, kOfJobs, group},
    {"JobID", -12, false, id},
    {"JobIDRaw", -12, false, raw_id},
    {"JobName", 10, false, name},
    {"Layout", 9},
    {"Licenses", 10},
    {"MaxDiskRead", 12},
    {"MaxDiskReadNode", 15},
    {"MaxDiskReadTask", 15},
    {"MaxDiskWrite", 12},
    {"MaxDiskWriteNode", 16},
    {"MaxDiskWriteTask", 16},
    {"MaxPages", 8},
    {"MaxPagesNode", 12},
    {"MaxPagesTask", 14},
    {"MaxRSS", 10, false, memory_peak},
    {"MaxRSSNode", 10, false, memory_peak_node},
    {"MaxRSSTask", 10},
    {"MaxVMSize", 10},
    {"MaxVMSizeNode", 14},
    {"MaxVMSizeTask", 14},
    {"McsLabel", 9},
    {"MemorySeconds", 18, false, memory_seconds},  // MiB
    {"MinCPU", 10},
    {"MinCPUNode", 10},
    {"MinCPUTask", 10},
    {"NCPUS", 10, false, cpu_count},
    {"NNodes", 8, false, node_count},
    {"NodeList", 15, false, node_list},
    {"NTasks", 8, false, tasks},
    {"Partition", 10, kOfJobs, partition},
    {"Planned", 10, kOfJobs, waited},
    {"PlannedCPU", 10},
    {"PlannedCPURAW", 13, kOfJobs, waited_cpu_raw},
    {"Priority", 10, kOfJobs, priority},
    {"QOS", 10, kOfJobs, qos},
    {"QOSRAW", 10},
    {"QOSREQ", 10},
    {"Reason", 22, kOfJobs, reason},
    {"ReqCPUFreq", 10},
    {"ReqCPUFreqGov", 13},
    {"ReqCPUFreqMax", 13},
    {"ReqCPUFreqMin", 13},
    {"ReqCPUS", 8, false, asked_cpus},
    {"ReqMem", 10, kOfJobs, asked_memory},
    {"ReqNodes", 8, kOfJobs, asked_nodes},
    {"ReqTRES", 10, kOfJobs, asked_tres},
    {"Reservation", 20},
    {"ReservationId", 15},
    {"Reserved", 10, kOfJobs, waited},
    {"ResvCPU", 10},
    {"ResvCPURAW", 10, kOfJobs, waited_cpu_raw},
    {"Restarts", 8, kOfJobs, restarts},
    {"SLUID", 14},
    {"Start", 19, false, start},
    {"State", 10, false, state},
    {"StdErr", 20, kOfJobs, std_err},
    {"StdIn", 20, kOfJobs, std_in},
    {"StdOut", 20, kOfJobs, std_out},
    {"Submit", 19, false, submit},
    {"SubmitLine", 20, kOfJobs, submit_line},
    {"Suspended", 10, false, no_time},
    {"SystemComment", 14, kOfJobs, system_comment},
    {"SystemCPU", 10, false, system_cpu},
    {"Timelimit", 10, kOfJobs, time_limit},
    {"TimelimitRaw", 12, kOfJobs, time_limit_raw},
    {"TotalCPU", 10, false, all_cpu},
    {"TRESUsageInAve", 20},
    {"TRESUsageInMax", 20},
    {"TRESUsageInMaxNode", 20},
    {"TRESUsageInMaxTask", 20},
    {"TRESUsageInMin", 20},
    {"TRESUsageInMinNode", 20},
    {"TRESUsageInMinTask", 20},
    {"TRESUsageInTot", 20},
    {"TRESUsageOutAve", 20},
    {"TRESUsageOutMax", 20},
    {"TRESUsageOutMaxNode", 20},
    {"TRESUsageOutMaxTask", 20},
    {"TRESUsageOutMin", 20},
    {"TRESUsageOutMinNode", 20},
    {"TRESUsageOutMinTask", 20},
    {"TRESUsageOutTot", 20},
    {"UID", 6, kOfJobs, uid},
    {"User", 9, kOfJobs, user},
    {"UserCPU", 10, false, user_cpu},
    {"WCKey", 10},
    {"WCKeyID", 8},
    {"WorkDir", 12, kOfJobs, work_dir},
};

// Fields that Slurm removed; the newer one says the same.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {{"allocgres", "AllocTRES"},
                                                                      {"reqgres", "ReqTRES"}};

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& part) {
  if (part) sum = sum.value_or(0) + *part;
}

void add(Measured& sum, NodeId node, const Used& part) {
  add(sum.sum.user_ms, part.user_ms);
  add(sum.sum.system_ms, part.system_ms);
  add(sum.sum.memory_peak, part.memory_peak);
  if (!part.memory_peak || (sum.peak && *sum.peak >= *part.memory_peak)) return;
  sum.peak = part.memory_peak;
  sum.peak_node = node;
}

const PastAttempt* attempt_of(const AccountRow& row) {
  if (row.attempt) return row.attempt;
  const Workload* w = row.job->workload();
  return w && !w->current && w->phase == Phase::ended && !w->past.empty() ? &w->past.back()
                                                                          : nullptr;
}

}  // namespace

std::span<const AccountField> account_fields() { return kFields; }

const AccountField* account_field(std::string_view name) {
  for (const auto& [alias, canonical] : kAliases)
    if (iequals(alias, name)) name = canonical;
  for (const AccountField& field : kFields)
    if (iequals(field.name, name)) return &field;
  for (const AccountField& field : kFields)
    if (!name.empty() && istarts_with(field.name, name)) return &field;
  return nullptr;
}

std::string AccountRow::id(bool raw) const {
  const std::string job_id = raw ? std::to_string(job->number()) : job->id();
  return step ? job_id + "." + step_name(step->number) : job_id;
}

namespace {
// Of an attempt that another one followed.
std::string state_of_attempt(const PastAttempt& attempt) {
  switch (attempt.end.cause) {
    case EndCause::none:
    case EndCause::cancelled:
      return "REQUEUED";
    case EndCause::launch_failed:
    case EndCause::node_failed:  // as in Slurm, where it ran and its node lost it
      return attempt.launched == Time{} ? "REQUEUED" : "NODE_FAIL";
    default:
      return state_of(attempt.end.cause);
  }
}
}  // namespace

std::string AccountRow::state() const {
  if (attempt) return state_of_attempt(*attempt);
  if (!step) {
    std::string base = job->base();
    if (base == "CANCELLED" && job->over() && job->workload()->end.by != End().by)
      return format("CANCELLED by {}", job->workload()->end.by);
    return base;
  }
  if (!step->ended) return "RUNNING";
  if (step->out_of_memory) return "OUT_OF_MEMORY";
  const ExitCode exit = exit_code();
  if (exit.signal != 0) return "CANCELLED";
  return exit.code != 0 ? "FAILED" : "COMPLETED";
}

Time AccountRow::start() const {
  if (attempt) return attempt->launched != Time{} ? attempt->launched : attempt->placed;
  return step ? step->started : job->start();
}

Time AccountRow::end() const {
  if (attempt) return attempt->ended;
  if (step) return step->ended.value_or(Time{});
  return job->over() ? job->end() : Time{};
}

Duration AccountRow::elapsed() const {
  if (start() == Time{}) return Duration{};
  const Time until = end() == Time{} ? job->view().now : end();
  return std::max(until - start(), Duration{});
}

std::vector<std::string> AccountRow::nodes() const {
  std::vector<std::string> out;
  if (attempt) return attempt->nodes;
  if (!step) {
    for (const Share& share : job->shares()) out.push_back(share.node);
    return out;
  }
  const PastAttempt* past = attempt_of(*this);
  for (const StepShare& share : step->shares) {
    std::string name = node_name(job->view().state, share.node);
    for (std::size_t i = 0; past && i < past->shares.size(); ++i)
      if (past->shares[i].node == share.node && i < past->nodes.size()) name = past->nodes[i];
    out.push_back(std::move(name));
  }
  return out;
}

std::int64_t AccountRow::cpus() const {
  Quantity sum;
  if (attempt) {
    for (const NodeShare& share : attempt->shares) sum += share.cpus;
    return sum.ceil();
  }
  if (!step) return job->cpus();
  for (const StepShare& share : step->shares) sum += share.cpus;
  return sum.ceil();
}

std::int64_t AccountRow::gpus() const {
  std::size_t sum = 0;
  if (attempt) {
    for (const NodeShare& share : attempt->shares) sum += share.gpus.size();
  } else if (step) {
    for (const StepShare& share : step->shares) sum += share.gpus.size();
  } else if (!job->pending()) {
    return job->gpus();
  }
  return static_cast<std::int64_t>(sum);
}

std::string AccountRow::tres() const {
  if (!attempt && !step) return job->tres_held();
  std::map<std::string, std::int64_t> devices;
  std::int64_t memory = 0;
  if (attempt)
    for (const NodeShare& share : attempt->shares) memory += share.memory;
  else
    for (const StepShare& share : step->shares) memory += share.memory;
  devices[""] = gpus();
  std::string text =
      tres_text(cpus(), to_mbytes(memory), static_cast<std::int64_t>(nodes().size()), devices);
  if (!step) return text;
  const std::string billing = format(",billing={}", cpus());  // steps are not billed by themselves
  if (const std::size_t at = text.find(billing); at != std::string::npos)
    text.erase(at, billing.size());
  return text;
}

namespace {
template <class Shares>
Usage usage_of_all(const Shares& shares, Duration held) {
  Usage sum;
  for (const auto& share : shares) sum += usage_of(share, held);
  return sum;
}
}  // namespace

Usage AccountRow::usage() const {
  if (attempt) return usage_of_all(attempt->shares, ran(*attempt));
  if (step) return usage_of_all(step->shares, elapsed());
  const Workload* w = job->workload();
  if (!w || job->pending()) return {};
  if (w->current) return usage_of_all(w->current->shares, ran(job->view(), *w));
  return w->past.empty() ? Usage{} : usage_of_all(w->past.back().shares, ran(w->past.back()));
}

std::int64_t AccountRow::restarts() const {
  const Workload* w = job->workload();
  if (!w) return 0;
  if (!attempt) return w->restarts;
  // One for each attempt before it, but for those that never ran.
  std::int64_t before = 0;
  for (const PastAttempt& past : w->past) {
    if (&past == attempt) break;
    const bool by_node =
        past.end.cause == EndCause::launch_failed || past.end.cause == EndCause::node_failed;
    if (!by_node || past.launched != Time{}) ++before;
  }
  return before;
}

Measured AccountRow::measured() const {
  Measured sum;
  if (step) {
    for (const auto& [node, used] : step->used) add(sum, node, used);
    return sum;
  }
  const Workload* w = job->workload();
  const PastAttempt* past = attempt_of(*this);
  if (!past && (!w || !w->current)) return sum;
  for (const auto& [node, used] : past ? past->used : w->current->used) add(sum, node, used);
  if (attempt || total_cpu(sum.sum)) return sum;
  // Nothing counts the whole there: what its steps used is known.
  add(sum, NodeId{}, past ? past->script_used : w->current->script_used);
  for (const auto& [number, one] : w->steps)
    for (const auto& [node, used] : one.used) add(sum, node, used);
  return sum;
}

std::string AccountRow::node(NodeId id) const {
  const Workload* w = job->workload();
  const PastAttempt* past = attempt ? attempt : attempt_of(*this);
  for (std::size_t i = 0; w && past && i < past->shares.size() && i < past->nodes.size(); ++i)
    if (past->shares[i].node == id) return past->nodes[i];
  return node_name(job->view().state, id);
}

ExitCode AccountRow::exit_code() const {
  if (attempt) return {attempt->end.exit_code, attempt->end.exit_signal};
  constexpr std::int32_t kOutOfMemory = 125;
  if (step && step->out_of_memory) return {0, kOutOfMemory};
  // Of several tasks the worst counts, and an exit code is worse than a signal.
  if (step) return {step->exit_code, step->exit_code != 0 ? 0 : step->exit_signal};
  const ExitCode code = job->exit_code();
  if (!job->over()) return {};
  switch (job->workload()->end.cause) {
    case EndCause::cancelled:
    case EndCause::timeout:
    case EndCause::node_failed:
    case EndCause::preempted:
      return {};  // it is the cluster's end, not the script's
    case EndCause::out_of_memory:
      return {0, 125};
    default:
      return code;
  }
}

}  // namespace phalanx::slurm
