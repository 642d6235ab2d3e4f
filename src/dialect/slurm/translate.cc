#include "dialect/slurm/translate.h"

#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/script.h"

namespace phalanx::slurm {
namespace {

std::string base_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

constexpr std::size_t kLongestLine = 4096;

// Without half a letter at its end.
std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string absolute(const std::string& base, const std::string& path) {
  if (path.empty() || path == ".") return base;
  if (path.front() == '/') return path;
  return (base.empty() || base.back() == '/' ? base : base + "/") + path;
}

Result<phalanx::DependencyKind> kind_of(DependencyKind kind) {
  switch (kind) {
    case DependencyKind::After:
      return phalanx::DependencyKind::after;
    case DependencyKind::AfterAny:
      return phalanx::DependencyKind::afterany;
    case DependencyKind::AfterOk:
      return phalanx::DependencyKind::afterok;
    case DependencyKind::AfterNotOk:
      return phalanx::DependencyKind::afternotok;
    case DependencyKind::Singleton:
      return phalanx::DependencyKind::singleton;
    case DependencyKind::AfterCorr:
      return phalanx::DependencyKind::aftercorr;
    case DependencyKind::AfterBurstBuffer:
      return invalid("Job dependency problem: there is no burst buffer; use afterany");
    case DependencyKind::Expand:
      return invalid("Job dependency problem: jobs cannot be expanded here");
  }
  return invalid("Job dependency problem");
}

// Whether a job that has ended and left State satisfies the dependency already.
bool satisfied_by(phalanx::DependencyKind kind, bool ok) {
  if (kind == phalanx::DependencyKind::afterok || kind == phalanx::DependencyKind::aftercorr)
    return ok;
  if (kind == phalanx::DependencyKind::afternotok) return !ok;
  return true;
}

// As Slurm does, one that can never come true is no reason to refuse: a pipeline must not depend on
// how fast its first job fails. `names` become the jobs' numbers, for when they have left State.
Result<std::vector<phalanx::Dependency>> dependencies_of(const DependencyList& list,
                                                         const FindJob& find_job,
                                                         std::vector<std::string>& names) {
  std::vector<phalanx::Dependency> out;
  for (const Dependency& item : list.items) {
    phalanx::Dependency d;
    d.kind = TRY(kind_of(item.kind));
    d.delay = minutes(item.minutes);
    d.any = list.any;
    std::string named;
    if (item.kind != DependencyKind::Singleton) {
      const auto known = find_job(item.job, item.index);
      named = item.index ? format("{}_{}", item.job, *item.index) : format("{}", item.job);
      if (!known) return invalid(format("Job dependency problem: job {} is not known here", named));
      if (known->gone && satisfied_by(d.kind, known->ok)) {
        if (list.any) return std::vector<phalanx::Dependency>();
        continue;
      }
      d.on = known->id;  // none: it is gone, and the dependency never comes true
      d.index = known->index;
    }
    out.push_back(d);
    names.push_back(std::move(named));
  }
  if (!out.empty()) out.back().any = false;
  return out;
}

std::optional<Array> array_of(const JobOptions& o) {
  if (!o.array) return std::nullopt;
  Array array;
  for (const IndexRange& range : o.array->ranges) {
    for (std::uint64_t i = range.first; i <= range.last; i += std::max(range.step, 1U))
      array.pending.insert(static_cast<std::uint32_t>(i));
  }
  array.at_once = o.array->at_once;
  return array;
}

// Options as they were written, for scontrol and squeue.
std::map<std::string, std::string> asked(const JobOptions& o) {
  std::map<std::string, std::string> out = o.kept;
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) out[name] = value;
  };
  text("gres", print_gres(o.gres));
  const auto gpus = [&](const char* name, const std::optional<std::vector<GresRequest>>& list) {
    if (!list) return;
    std::string words;
    for (const GresRequest& g : *list) {
      if (!words.empty()) words += ',';
      words += g.type.empty() ? format("{}", g.count) : format("{}:{}", g.type, g.count);
    }
    out[name] = words;
  };
  gpus("gpus", o.gpus);
  gpus("gpus-per-node", o.gpus_per_node);
  gpus("gpus-per-task", o.gpus_per_task);
  const auto memory = [&](const char* name, const std::optional<std::int64_t>& value) {
    if (value) out[name] = print_mbytes(*value);
  };
  memory("mem", o.mem);
  memory("mem-per-cpu", o.mem_per_cpu);
  memory("mem-per-gpu", o.mem_per_gpu);
  text("constraint", o.constraint);
  text("nodelist", o.nodelist);
  text("exclude", o.exclude);
  text("hint", o.hint);
  text("distribution", o.step.distribution);
  if (!o.dependency.items.empty()) out["dependency"] = print_dependencies(o.dependency);
  if (o.nodes) out["nodes"] = print_nodes(*o.nodes);
  if (o.exclusive != Exclusive::No) out["exclusive"] = "exclusive";
  if (o.signal) out["signal"] = print_signal(*o.signal);
  return out;
}

std::string default_name(const SubmitRequest& r, const JobOptions& o) {
  if (o.wrap) return "wrap";
  if (r.tool == Tool::Salloc) return o.no_shell ? "no-shell" : "interactive";
  return r.script_name.empty() ? "sbatch" : base_name(r.script_name);
}

// The partition that counts.
Result<std::string> partition_of(const SubmitContext& context, const std::string& list,
                                 std::vector<std::string>& warnings) {
  const auto names = split(list, ',');
  if (names.size() == 1) return list;
  for (const std::string_view name : names)
    if (name.empty() || !find_partition(context.config, name))
      return invalid(
          format("Invalid partition name specified: '{}' in --partition={}", name, list));
  std::string chosen = context.partition.empty() ? std::string(names.front()) : context.partition;
  warnings.push_back(
      format("a job waits in one partition here: '{}' is taken of --partition={}", chosen, list));
  return chosen;
}

LaunchSpec launch_of(const SubmitContext& c, const JobOptions& o) {
  LaunchSpec launch;
  launch.script = c.script_blob;
  launch.environment = c.environment_blob;
  if (c.request.tool == Tool::Sbatch) launch.arguments = c.request.arguments;
  launch.work_dir = absolute(c.request.work_dir, o.chdir);
  launch.std_in = o.input;
  launch.std_out = o.output;
  launch.std_err = o.error;
  launch.append = o.open_mode == OpenMode::Append ||
                  (o.open_mode == OpenMode::Default && c.config.append_output);
  launch.umask = c.request.umask;
  launch.limits = c.request.limits;
  if (o.signal) {
    launch.warn.signal = o.signal->signal;
    launch.warn.before = seconds(o.signal->seconds);
    launch.warn.shell_only = o.signal->batch_only;
  }
  return launch;
}

// The partition's default and its MaxTime stand in for a limit that nobody asked for, and not for
// one that was asked away: that waits with PartitionTimeLimit.
Duration limit_of(const JobOptions& o, const Partition* partition) {
  if (!o.time_limit) return kForever;
  const bool replaced =
      partition && (partition->default_time != kForever || partition->max_time != kForever);
  return *o.time_limit == kForever && replaced ? kNoLimit : *o.time_limit;
}

void describe(const SubmitContext& c, const JobOptions& o, WorkloadSpec& spec) {
  const SubmitRequest& r = c.request;
  spec.kind = r.tool == Tool::Sbatch ? WorkloadKind::batch : WorkloadKind::allocation;
  spec.dialect = "slurm";
  spec.name = o.job_name.empty() ? default_name(r, o) : o.job_name;
  spec.owner = c.who;
  spec.account = o.account;
  spec.qos = o.qos;
  spec.comment = o.comment;
  spec.submit_host = r.host;
  spec.command = r.tool != Tool::Sbatch ? join(r.arguments, " ") : o.wrap ? "" : r.script_name;
  if (spec.command == "sbatch") spec.command.clear();
  spec.mail_type = join(o.mail_types, ",");
  spec.mail_user = o.mail_user;
  spec.asked = asked(o);
  spec.begin = o.begin.value_or(Time{});
  spec.nice = o.nice.value_or(0);
  spec.submit_line = cut(r.line, kLongestLine);
  spec.client_stays = r.tool != Tool::Sbatch && r.stays;
  spec.requeue = r.tool == Tool::Sbatch && o.requeue.value_or(c.config.requeue_by_default);
  spec.cpus_per_task = o.cpus_per_task.value_or(0);
  spec.tasks_per_node = o.ntasks_per_node.value_or(0);
  spec.launch = launch_of(c, o);
  if (spec.launch.work_dir != r.work_dir) spec.asked["submit-dir"] = r.work_dir;
}

}  // namespace

Parsed<JobOptions> read_options(const SubmitRequest& request, const ClusterConfig& config,
                                Time now) {
  std::vector<Token> tokens;
  Parsed<Script> script;
  if (request.tool == Tool::Sbatch) {
    script = read_script(request.script, request.script_name);
    if (!script.value.components.empty()) tokens = script.value.components.front();
    if (script.value.components.size() > 1)
      script.error({request.script_name, 0, 0},
                   "heterogeneous jobs are not supported: submit one job per component");
  }
  tokens.insert(tokens.end(), request.tokens.begin(), request.tokens.end());
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const Token& a, const Token& b) { return a.origin < b.origin; });
  ParseContext context;
  context.now = now;
  context.zone = request.zone;
  context.max_array_size =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(config.max_array_size, 1, kMaxArraySize));
  Parsed<JobOptions> options = parse_tokens(request.tool, tokens, context);
  options.diagnostics.insert(options.diagnostics.begin(), script.diagnostics.begin(),
                             script.diagnostics.end());
  return options;
}

Result<Submission> translate(const SubmitContext& context, const JobOptions& options) {
  Submission out;
  WorkloadSpec& spec = out.spec;
  describe(context, options, spec);
  spec.warnings = context.request.warnings;
  spec.partition = TRY(partition_of(context, options.partition, spec.warnings));
  const Partition* partition = find_partition(context.config, spec.partition);
  spec.limit = limit_of(options, partition);
  Shape shape = TRY(translate_shape(context.config, partition, options));
  spec.tasks_given = shape.tasks_given;
  spec.warnings.insert(spec.warnings.end(), shape.warnings.begin(), shape.warnings.end());
  if (std::string said = launcher_warning(context.request.script, shape.group); !said.empty())
    spec.warnings.push_back(std::move(said));
  spec.groups = {std::move(shape.group)};
  std::vector<std::string> names;
  spec.dependencies = TRY(dependencies_of(options.dependency, context.find_job, names));
  if (!names.empty()) spec.asked[kDependencyNames] = join(names, ",");
  spec.end_if_never = options.kill_on_invalid_dependency;
  out.array = array_of(options);
  out.hold = options.hold;
  return out;
}

}  // namespace phalanx::slurm
