#include "cli/step_launch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "dialect/slurm/slurm.h"

namespace phalanx::cli {
namespace {

constexpr mode_t kFileMode = 0666;

// One of --output, --error, --input.
struct Plan {
  enum class Kind { stream, none, one_rank, here, there, with_output };
  Kind kind = Kind::stream;
  std::uint32_t rank = 0;
  std::string pattern;
};

// Whether each task or node has a file of its own: %t, %n, %N.
bool differs_by_task(std::string_view pattern) {
  if (pattern.find('\\') != std::string_view::npos) return false;
  for (std::size_t i = pattern.find('%'); i != std::string_view::npos; i = pattern.find('%', i)) {
    ++i;
    while (i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9') ++i;
    if (i < pattern.size() && (pattern[i] == 't' || pattern[i] == 'n' || pattern[i] == 'N'))
      return true;
    if (i < pattern.size()) ++i;
  }
  return false;
}

Plan plan_of(const std::string& text, std::uint32_t tasks) {
  if (text.empty() || iequals(text, "all")) return {};
  if (iequals(text, "none")) return {Plan::Kind::none, 0, {}};
  const auto rank = parse_uint(text);
  if (rank && *rank < tasks) return {Plan::Kind::one_rank, static_cast<std::uint32_t>(*rank), {}};
  return {differs_by_task(text) ? Plan::Kind::there : Plan::Kind::here, 0, text};
}

slurm::PatternValues values_of(const slurm::StepReply& step) {
  slurm::PatternValues values;
  values.job_name = step.job_name;
  values.user = step.user;
  values.step = format("{}", step.step);
  values.job_id = step.job;
  values.array_job_id = step.array_job;
  values.array_index = step.array_index;
  values.restarts = step.restarts;
  if (!step.nodes.empty()) values.node_name = step.nodes.front().name;
  return values;
}

Result<int> open_here(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, kFileMode);
  if (descriptor < 0) return invalid(format("Could not open {}: {}", path, std::strerror(errno)));
  return descriptor;
}

std::string absolute(const std::string& base, const std::string& path) {
  return path.starts_with('/') ? path : base + "/" + path;
}

class Builder {
 public:
  Builder(const slurm::JobOptions& options, const slurm::StepReply& step)
      : options_(options),
        step_(step),
        work_dir_(options.chdir.empty() ? current_directory()
                                        : absolute(current_directory(), options.chdir)),
        append_(options.open_mode == slurm::OpenMode::Append),
        in_(plan_of(options.input, step.tasks)),
        out_(plan_of(options.output, step.tasks)),
        err_(plan_of(options.error, step.tasks)) {
    const bool output_given = out_.kind != Plan::Kind::stream;
    if (options.error.empty() && output_given) err_.kind = Plan::Kind::with_output;
  }

  Status open_files(StepSetup& setup) const {
    const int mode = O_WRONLY | O_CREAT | (append_ ? O_APPEND : O_TRUNC);
    const slurm::PatternValues values = values_of(step_);
    if (out_.kind == Plan::Kind::here)
      setup.targets.out = TRY(open_here(slurm::expand_pattern(out_.pattern, values), mode));
    if (err_.kind == Plan::Kind::here)
      setup.targets.err = TRY(open_here(slurm::expand_pattern(err_.pattern, values), mode));
    if (in_.kind == Plan::Kind::here)
      setup.input = TRY(open_here(slurm::expand_pattern(in_.pattern, values), O_RDONLY));
    if (in_.kind == Plan::Kind::none || in_.kind == Plan::Kind::there) setup.input = -1;
    return {};
  }

  [[nodiscard]] StepLaunch launch(std::size_t node, bool terminal) const {
    StepLaunch out;
    out.argv = options_.arguments;
    out.work_dir = work_dir_;
    out.environment = slurm::step_base_environment(environment(), options_.export_env);
    out.umask = current_umask();
    out.limits = soft_limits();
    for (const std::uint32_t rank : step_.nodes[node].ranks) {
      out.streams.push_back(streams(node, rank, terminal));
      if (!terminal || rank != 0) continue;
      const auto [rows, columns] = Terminal::size(0);
      out.terminal = StepWindow{rank, rows, columns};
    }
    return out;
  }

 private:
  [[nodiscard]] StepStreams streams(std::size_t node, std::uint32_t rank, bool terminal) const {
    if (terminal) {
      const StepStream one{rank == 0 ? StepStreamKind::stream : StepStreamKind::none, {}, false};
      return {one, one, one};
    }
    return {stream(in_, node, rank), stream(out_, node, rank), stream(err_, node, rank)};
  }

  [[nodiscard]] StepStream stream(const Plan& plan, std::size_t node, std::uint32_t rank) const {
    switch (plan.kind) {
      case Plan::Kind::stream:
      case Plan::Kind::here:
        return {StepStreamKind::stream, {}, false};
      case Plan::Kind::none:
        return {StepStreamKind::none, {}, false};
      case Plan::Kind::one_rank:
        return {rank == plan.rank ? StepStreamKind::stream : StepStreamKind::none, {}, false};
      case Plan::Kind::with_output:
        return {StepStreamKind::with_output, {}, false};
      case Plan::Kind::there:
        break;
    }
    slurm::PatternValues values = values_of(step_);
    values.node_name = step_.nodes[node].name;
    values.node_index = static_cast<std::uint32_t>(node);
    values.task = rank;
    return {StepStreamKind::file, absolute(work_dir_, slurm::expand_pattern(plan.pattern, values)),
            append_};
  }

  const slurm::JobOptions& options_;
  const slurm::StepReply& step_;
  std::string work_dir_;
  bool append_;
  Plan in_, out_, err_;
};

}  // namespace

Result<StepSetup> make_step(const Session& session, const slurm::JobOptions& options,
                            slurm::StepReply step) {
  StepSetup setup;
  setup.terminal = options.step.pty;
  if (setup.terminal && ::isatty(STDIN_FILENO) == 0) {
    session.error("Not using a pseudo-terminal, disregarding --pty option");
    setup.terminal = false;
  }
  setup.quiet = options.quiet > 0;
  setup.kill_on_bad_exit =
      options.step.kill_on_bad_exit.value_or(step.kill_on_bad_exit ? 1 : 0) != 0;
  setup.wait_seconds = options.step.wait_seconds.value_or(step.wait_seconds);
  if (options.step.label && !setup.terminal)
    setup.targets.label_width = static_cast<int>(format("{}", step.tasks - 1).size());
  const Builder builder(options, step);
  TRY(builder.open_files(setup));
  for (std::size_t node = 0; node < step.nodes.size(); ++node)
    setup.launches.push_back(builder.launch(node, setup.terminal));
  setup.step = std::move(step);
  return setup;
}

}  // namespace phalanx::cli
