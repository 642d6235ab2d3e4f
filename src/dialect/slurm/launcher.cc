// The most expensive mistake in a training script: `srun` starts one launcher for each task, and
// each launcher starts a process for every GPU of the node.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/translate.h"

namespace phalanx::slurm {
namespace {

// The script's lines with continuations joined.
std::vector<std::string> logical_lines(const std::string& script) {
  std::vector<std::string> out;
  std::string current;
  for (const std::string_view line : split(script, '\n')) {
    std::string_view text = trim(line);
    const bool goes_on = !text.empty() && text.back() == '\\';
    if (goes_on) text.remove_suffix(1);
    current += text;
    current += ' ';
    if (goes_on) continue;
    if (current.front() != '#') out.push_back(current);
    current.clear();
  }
  return out;
}

// The number behind "--option=4" or "--option 4", dashes and underscores alike.
std::optional<std::int64_t> number_of(const std::vector<std::string_view>& words,
                                      std::string_view option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word(words[i]);
    const std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    if (name != option) continue;
    if (equals != std::string::npos) return parse_int(word.substr(equals + 1));
    if (i + 1 < words.size()) return parse_int(words[i + 1]);
  }
  return std::nullopt;
}

bool starts_launcher(const std::vector<std::string_view>& words) {
  return std::any_of(words.begin(), words.end(), [](std::string_view word) {
    return word == "torchrun" || word.ends_with("/torchrun") || word == "torch.distributed.run" ||
           word == "torch.distributed.launch";
  });
}

}  // namespace

std::string launcher_warning(const std::string& script, const TaskGroup& group) {
  for (const std::string& line : logical_lines(script)) {
    const auto words = split_blanks(line);
    const auto srun = std::find(words.begin(), words.end(), "srun");
    if (srun == words.end()) continue;
    const std::vector<std::string_view> command(srun, words.end());
    const auto processes = number_of(command, "--nproc-per-node");
    if (!processes || !starts_launcher(command)) continue;
    std::int64_t tasks = group.tasks;
    if (const auto own = number_of(command, "--ntasks-per-node"))
      tasks = *own * group.nodes_min;
    else if (const auto in_all = number_of(command, "--ntasks"))
      tasks = *in_all;
    else if (const auto short_form = number_of(command, "-n"))
      tasks = *short_form;
    if (tasks <= group.nodes_min || *processes < 2) continue;
    std::int64_t gpus = gpus_asked(group);
    return format(
        "srun starts {} launchers, and each of them starts {} processes: {} processes for {} GPUs. "
        "Did you mean --ntasks-per-node=1?",
        tasks, *processes, tasks * *processes, gpus);
  }
  return {};
}

}  // namespace phalanx::slurm
