#include "dialect/slurm/options_set.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"

namespace phalanx::slurm::set {
namespace {

std::string quoted(std::string_view text) { return printable(text.substr(0, 60)); }

// Writes the value into the member, or names the option in the error.
template <class T, class Member>
Status take(Result<T> value, Member& member, std::string_view option) {
  if (!value.ok())
    return invalid(format("Invalid --{} specification: {}", option, value.error().message));
  member = std::move(*value);
  return {};
}

template <class Member>
Status take_positive(Setting& s, Member& member, std::string_view option) {
  const Result<std::uint32_t> number = parse_positive(s.value, option);
  if (!number.ok()) return number.error();
  member = *number;
  return {};
}

Status check_hosts(std::string_view value, std::string_view option) {
  if (value.find('/') != std::string_view::npos) return {};  // a file's name
  const auto hosts = expand_hosts(value);
  if (!hosts.ok()) return invalid(format("--{}: {}", option, hosts.error().message));
  if (hosts->empty())
    return invalid(format("--{} names no host; write a list such as n[1-4]", option));
  return {};
}

Status number_from_zero(Setting& s, std::optional<std::uint32_t>& member, std::string_view option) {
  const auto number = parse_uint(s.value);
  if (!number || *number > 0x7fff'ffff)
    return invalid(format("Invalid numeric value \"{}\" for --{}; write a whole number",
                          quoted(s.value), option));
  member = static_cast<std::uint32_t>(*number);
  return {};
}

Status unknown_value(Setting& s, std::string_view option, std::string_view choices) {
  return invalid(
      format("Invalid --{} specification: \"{}\"; write {}", option, quoted(s.value), choices));
}

}  // namespace

Status time(Setting& s) { return take(parse_time_limit(s.value), s.options.time_limit, "time"); }
Status nodes(Setting& s) { return take(parse_nodes(s.value), s.options.nodes, "nodes"); }

Status nodelist(Setting& s) {
  TRY(check_hosts(s.value, "nodelist"));
  s.options.nodelist = std::string(s.value);
  return {};
}

Status exclude(Setting& s) {
  s.options.exclude.clear();
  if (s.value.empty()) return {};
  TRY(check_hosts(s.value, "exclude"));
  s.options.exclude = std::string(s.value);
  return {};
}

Status constraint(Setting& s) {
  s.options.constraint.clear();
  if (s.value.empty()) return {};
  const auto parsed = parse_constraint(s.value);
  if (!parsed.ok()) return invalid(format("--constraint: {}", parsed.error().message));
  s.options.constraint = std::string(s.value);
  return {};
}

Status ntasks(Setting& s) { return take_positive(s, s.options.ntasks, "ntasks"); }
Status ntasks_per_node(Setting& s) {
  return take_positive(s, s.options.ntasks_per_node, "ntasks-per-node");
}
Status cpus_per_task(Setting& s) {
  return take_positive(s, s.options.cpus_per_task, "cpus-per-task");
}
Status mem(Setting& s) { return take(parse_mbytes(s.value), s.options.mem, "mem"); }
Status mem_per_cpu(Setting& s) {
  return take(parse_mbytes(s.value), s.options.mem_per_cpu, "mem-per-cpu");
}
Status mem_per_gpu(Setting& s) {
  return take(parse_mbytes(s.value), s.options.mem_per_gpu, "mem-per-gpu");
}
Status gres(Setting& s) { return take(parse_gres(s.value), s.options.gres, "gres"); }
Status gpus(Setting& s) { return take(parse_gpus(s.value), s.options.gpus, "gpus"); }
Status gpus_per_node(Setting& s) {
  return take(parse_gpus(s.value), s.options.gpus_per_node, "gpus-per-node");
}
Status gpus_per_task(Setting& s) {
  return take(parse_gpus(s.value), s.options.gpus_per_task, "gpus-per-task");
}

Status exclusive(Setting& s) {
  const std::pair<std::string_view, Exclusive> values[] = {{"", Exclusive::Node},
                                                           {"user", Exclusive::User},
                                                           {"mcs", Exclusive::Mcs},
                                                           {"topo", Exclusive::Topo}};
  for (const auto& [word, value] : values) {
    if (!iequals(s.value, word)) continue;
    s.options.exclusive = value;
    s.options.step.overlap = false;
    return {};
  }
  return unknown_value(s, "exclusive", "--exclusive alone, or =user, =mcs, =topo");
}

Status overlap(Setting& s) {
  if (!s.value.empty() && !iequals(s.value, "force"))
    return unknown_value(s, "overlap", "--overlap alone");
  s.options.step.overlap = true;
  s.options.exclusive = Exclusive::No;
  return {};
}

Status array(Setting& s) {
  return take(parse_array(s.value, s.context.max_array_size), s.options.array, "array");
}
Status dependency(Setting& s) {
  return take(parse_dependencies(s.value), s.options.dependency, "dependency");
}
Status begin(Setting& s) {
  return take(parse_moment(s.value, s.context.now, s.context.zone), s.options.begin, "begin");
}
Status nice(Setting& s) {
  constexpr std::int64_t kUnlessSaid = 100, kMost = 2'147'483'645;  // as sbatch(1) has them
  const std::optional<std::int64_t> number =
      s.value.empty() ? std::optional(kUnlessSaid) : parse_int(s.value);
  if (!number || std::abs(*number) > kMost)
    return invalid(format("Invalid --nice value \"{}\"; write a whole number from -{} to {}",
                          quoted(s.value), kMost, kMost));
  s.options.nice = number;
  return {};
}
// "help" alone is for the client, which answers it.
Status hint(Setting& s) {
  constexpr std::string_view kHints[] = {"compute_bound", "memory_bound", "multithread",
                                         "nomultithread"};
  const bool help = iequals(s.value, "help");
  for (const std::string_view word : split(s.value, ','))
    if (!help && std::ranges::none_of(kHints, [&](auto known) { return iequals(word, known); }))
      return invalid(
          format("unrecognized --hint argument \"{}\", see --hint=help", quoted(s.value)));
  s.options.hint = to_lower(s.value);
  return {};
}
Status signal(Setting& s) { return take(parse_signal(s.value), s.options.signal, "signal"); }

Status kill_on_invalid_dependency(Setting& s) {
  const bool yes = iequals(s.value, "yes");
  if (!yes && !iequals(s.value, "no")) return unknown_value(s, "kill-on-invalid-dep", "yes or no");
  s.options.kill_on_invalid_dependency = yes;
  return {};
}

Status requeue_mode(Setting& s) {
  s.options.requeue = true;
  if (s.value.empty()) return {};
  if (!iequals(s.value, "expedite"))
    return unknown_value(s, "requeue", "--requeue alone, or =expedite");
  s.warning = "the job is requeued in its ordinary turn";
  return {};
}

Status export_env(Setting& s) {
  return take(parse_export(s.value), s.options.export_env, "export");
}

Status open_mode(Setting& s) {
  const std::pair<std::string_view, OpenMode> values[] = {{"append", OpenMode::Append},
                                                          {"truncate", OpenMode::Truncate}};
  for (const auto& [word, value] : values) {
    if (s.value.empty() || !istarts_with(word, s.value)) continue;
    s.options.open_mode = value;
    return {};
  }
  return unknown_value(s, "open-mode", "append or truncate");
}

Status mail_types(Setting& s) {
  return take(parse_mail_types(s.value), s.options.mail_types, "mail-type");
}

Status job_id(Setting& s) {
  std::string_view rest = s.value;
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const auto job = parse_uint(rest.substr(0, digits));
  rest.remove_prefix(digits);
  const bool part =
      rest.empty() || ((rest[0] == '_' || rest[0] == '+') && parse_uint(rest.substr(1)));
  if (!job || *job == 0 || *job > 0xffff'ffff || !part)
    return unknown_value(s, "jobid", "a job's number, as in 123 or 123_4");
  s.options.step.job_id = std::string(s.value);
  return {};
}

Status wait_seconds(Setting& s) { return number_from_zero(s, s.options.step.wait_seconds, "wait"); }
Status relative(Setting& s) { return number_from_zero(s, s.options.step.relative, "relative"); }

Status kill_on_bad_exit(Setting& s) {
  if (!s.value.empty())
    return number_from_zero(s, s.options.step.kill_on_bad_exit, "kill-on-bad-exit");
  s.options.step.kill_on_bad_exit = 1;
  return {};
}

Status cpu_bind(Setting& s) {
  s.options.step.cpu_bind = std::string(s.value);
  for (const std::string_view word : split(s.value, ',')) {
    const bool none = iequals(word, "none") || iequals(word, "no");
    if (!none && !iequals(word, "quiet") && !iequals(word, "verbose") && !word.empty())
      s.warning = "tasks may use all CPUs of their step";
  }
  return {};
}

// "none" and the nearest GPUs are what a task sees anyway; a map would give it others.
Status gpu_bind(Setting& s) {
  std::string_view kind = s.value;
  if (istarts_with(kind, "verbose,")) kind.remove_prefix(8);
  if (iequals(kind, "none")) return {};
  if (!iequals(kind, "closest") && !iequals(kind, "verbose"))
    return invalid(format(
        "--gpu-bind={} is not supported: it would give tasks other GPUs; use --gpus-per-task",
        quoted(s.value)));
  s.warning = "tasks see all GPUs of their step on the node";
  return {};
}

Status distribution(Setting& s) {
  static constexpr std::string_view kWords[] = {"block",     "cyclic", "plane",  "fcyclic",
                                                "arbitrary", "pack",   "nopack", "*"};
  for (const std::string_view level : split(s.value, ',')) {
    for (const std::string_view part : split(level, ':')) {
      const std::string_view word = part.substr(0, part.find('='));
      if (std::none_of(std::begin(kWords), std::end(kWords),
                       [&](std::string_view w) { return iequals(w, word); }))
        return unknown_value(s, "distribution", "block, cyclic, plane=N, pack or nopack");
      if (iequals(word, "arbitrary"))
        return invalid(
            "--distribution=arbitrary is not supported: tasks would run on other nodes than the "
            "host file says");
    }
  }
  // The first word is the spread over nodes; the others are about CPUs, which are not bound.
  for (const char* word : {"block", "cyclic", "*"})
    if (iequals(s.value, word)) {
      s.options.step.distribution = word[0] == '*' ? "" : word;
      return {};
    }
  const std::string_view nodes = s.value.substr(0, s.value.find_first_of(":,"));
  s.options.step.distribution = iequals(nodes, "cyclic") ? "cyclic" : "block";
  s.warning = format("tasks go over the nodes as with --distribution={}, and CPUs are not bound",
                     s.options.step.distribution);
  return {};
}

Status mpi(Setting& s) {
  if (!iequals(s.value, "none") && !iequals(s.value, "openmpi"))
    return invalid(
        format("--mpi={} is not supported: ranks would not find each other; use --mpi=none, or "
               "mpirun in the "
               "job",
               quoted(s.value)));
  s.options.step.mpi = to_lower(s.value);
  return {};
}

Status pty(Setting& s) {
  s.options.step.pty = true;
  if (!s.value.empty()) s.warning = "the terminal is that of task 0";
  return {};
}

}  // namespace phalanx::slurm::set
