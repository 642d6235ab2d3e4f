// One binary for everything: `phalanx VERB …`, or a link whose name is one of Slurm's.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/cli.h"
#include "main/verbs.h"
#include "sim/sim.h"

namespace phalanx {
namespace {

constexpr cli::Verb kShells[] = {
    {"up", up_verb, "a cluster on this machine, in the foreground"},
    {"controller", controller_verb, "the controller alone"},
    {"agent", agent_verb, "makes this machine a node of a cluster"},
    {"compact", compact_verb, "makes the journal short: a snapshot instead of old events"},
    {"token", token_verb, "a token for kubectl, curl or an agent"},
    {"sim", [](int argc, char** argv) { return sim::main_verb({argv + 1, argv + argc}); },
     "plays scenarios in virtual time"},
};

const cli::Verb* find_verb(std::string_view name) {
  for (const cli::Verb& verb : kShells)
    if (verb.name == name) return &verb;
  for (const cli::Verb& verb : cli::verbs())
    if (verb.name == name) return &verb;
  return nullptr;
}

std::string usage() {
  std::string text = "usage: phalanx COMMAND …\n\n";
  const auto add = [&](const cli::Verb& verb) {
    text += format("  {:<12} {}\n", verb.name, verb.help);
  };
  for (const cli::Verb& verb : kShells) add(verb);
  text += "\nas in Slurm, also by links of these names:\n";
  for (const cli::Verb& verb : cli::verbs())
    if (verb.slurm) add(verb);
  text += "\n";
  for (const cli::Verb& verb : cli::verbs())
    if (!verb.slurm) add(verb);
  return text;
}

int no_such_verb(std::string_view name) {
  std::vector<std::string_view> names;
  for (const cli::Verb& verb : kShells) names.push_back(verb.name);
  for (const cli::Verb& verb : cli::verbs()) names.push_back(verb.name);
  const auto near = nearest(name, names);
  const std::string text =
      near ? format("phalanx: there is no command {}; did you mean {}?\n", name, *near)
           : format("phalanx: there is no command {}; `phalanx --help` lists them\n", name);
  std::fputs(text.c_str(), stderr);
  return 2;
}

int run(int argc, char** argv) {
  const std::string_view path = argc > 0 ? argv[0] : "phalanx";
  const std::string_view called = path.substr(path.rfind('/') + 1);
  for (const cli::Verb& verb : cli::verbs())
    if (verb.slurm && verb.name == called) return verb.run(argc, argv);
  if (argc < 2) {
    std::fputs(usage().c_str(), stderr);
    return 2;
  }
  const std::string_view name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    std::fputs(usage().c_str(), stdout);
    return 0;
  }
  const cli::Verb* verb = find_verb(name);
  return verb ? verb->run(argc - 1, argv + 1) : no_such_verb(name);
}

}  // namespace
}  // namespace phalanx

int main(int argc, char** argv) { return phalanx::run(argc, argv); }
