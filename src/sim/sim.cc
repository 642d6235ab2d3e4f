#include "sim/sim.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "sim/player.h"
#include "sim/swarm.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kUsage =
    "usage: phalanx sim play [--rewrite] FILE…\n"
    "       phalanx sim swarm [--seed N] [--seeds K] [--work M]\n";
constexpr int kWork = 12;

int usage() {
  std::fputs(std::string(kUsage).c_str(), stderr);
  return 2;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool play_one(const std::string& path, bool rewrite) {
  const auto text = read_file(path);
  if (!text) {
    std::fprintf(stderr, "phalanx sim: cannot read %s\n", path.c_str());
    return false;
  }
  const auto replayed = play_file(*text, path);
  if (!replayed.ok()) {
    std::fprintf(stderr, "%s\n", replayed.error().message.c_str());
    return false;
  }
  const Halves halves = split_scenario(replayed->text);
  std::fputs(std::string(halves.below).c_str(), stdout);
  for (const std::string& problem : replayed->problems)
    std::fprintf(stderr, "%s: %s\n", path.c_str(), problem.c_str());
  if (rewrite) {
    std::ofstream out(path, std::ios::binary);
    out << replayed->text;
    return out.good() && replayed->problems.empty();
  }
  const bool told_before = !split_scenario(*text).below.empty();
  if (told_before && *text != replayed->text)
    std::fprintf(stderr, "%s: the story differs from the file; --rewrite accepts it\n",
                 path.c_str());
  return replayed->problems.empty() && (!told_before || *text == replayed->text);
}

int play_verb(std::vector<std::string> files) {
  const bool rewrite = !files.empty() && files.front() == "--rewrite";
  if (rewrite) files.erase(files.begin());
  if (files.empty()) return usage();
  bool good = true;
  for (const std::string& file : files) good = play_one(file, rewrite) && good;
  return good ? 0 : 1;
}

int swarm_verb(const std::vector<std::string>& args) {
  std::uint64_t seed = 1, seeds = 100, work = kWork;
  for (std::size_t i = 0; i < args.size(); i += 2) {
    const auto value = i + 1 < args.size() ? parse_uint(args[i + 1]) : std::nullopt;
    if (!value) return usage();
    if (args[i] == "--seed")
      seed = *value;
    else if (args[i] == "--seeds")
      seeds = *value;
    else if (args[i] == "--work" && *value > 0 && *value <= 1'000)
      work = *value;
    else
      return usage();
  }
  std::size_t scripts = 0, promises = 0;
  int restarts = 0;
  for (std::uint64_t s = seed; s < seed + seeds; ++s) {
    const Flight flight = fly(s, static_cast<int>(work));
    scripts += flight.scripts_begun;
    promises += flight.promises_kept;
    restarts += flight.restarts;
    if (flight.problems.empty()) continue;
    std::fputs(format("seed {}:\n", s).c_str(), stderr);
    for (const std::string& problem : flight.problems)
      std::fprintf(stderr, "  %s\n", problem.c_str());
    std::fputs(flight.scenario.c_str(), stdout);
    return 1;
  }
  std::fputs(format("{} seeds from {}: everything held; {} scripts ran, {} promises were kept, the "
                    "controller died {} times\n",
                    seeds, seed, scripts, promises, restarts)
                 .c_str(),
             stdout);
  return 0;
}

Result<Scenario> read_scenario(std::string_view above, const std::string& file) {
  Parsed<Scenario> parsed = parse_scenario(above, file);
  std::string complaints;
  for (const Diagnostic& d : parsed.diagnostics)
    complaints += (complaints.empty() ? "" : "\n") + to_string(d);
  if (!parsed.ok()) return invalid(std::move(complaints));
  return std::move(parsed.value);
}

}  // namespace

Result<Replayed> play_file(std::string_view text, const std::string& file) {
  const Halves halves = split_scenario(text);
  const Scenario scenario = TRY(read_scenario(halves.above, file));
  Played played = play(scenario);
  return Replayed{format("{}\n\n----\n{}", trim(halves.above), played.text),
                  std::move(played.problems)};
}

Flight fly(std::uint64_t seed, int work) {
  Flight flight;
  flight.scenario = random_scenario(seed, work);
  auto scenario = read_scenario(flight.scenario, format("seed-{}", seed));
  if (!scenario.ok()) {
    flight.problems.push_back(scenario.error().message);
    return flight;
  }
  Played played = play(*scenario);
  flight.problems = std::move(played.problems);
  flight.journal = std::move(played.journal);
  flight.promises_kept = played.promises_kept;
  flight.scripts_begun = played.scripts_begun;
  flight.restarts = played.restarts;
  return flight;
}

int main_verb(const std::vector<std::string>& args) {
  if (args.empty()) return usage();
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args.front() == "play") return play_verb(rest);
  if (args.front() == "swarm") return swarm_verb(rest);
  return usage();
}

}  // namespace phalanx::sim
