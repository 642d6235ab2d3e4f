#include "sim/swarm.h"

#include <vector>

#include "base/rng.h"
#include "base/text.h"

namespace phalanx::sim {
namespace {

class Author {
 public:
  Author(std::uint64_t seed, int work) : rng_(seed), seed_(seed), work_(work) {}

  std::string write() {
    text_ = format("# Swarm, seed {}.\n\n", seed_);
    policy();
    nodes();
    partitions();
    workloads();
    happenings();
    text_ += format("\nplay       until=2h show=story chaos={}\n", seed_ % 1'000'000'000);
    return text_;
  }

 private:
  std::int64_t some(std::int64_t low, std::int64_t high) { return rng_.between(low, high); }
  bool rarely(std::uint64_t one_in) { return rng_.chance(one_in); }
  std::string maybe(std::uint64_t one_in, std::string text) {
    return rarely(one_in) ? std::move(text) : "-";
  }

  void policy() {
    text_ +=
        format("policy     promises={} backfill={} weight-age={} confirm-loss={}\n\n", some(0, 4),
               rarely(6) ? "no" : "yes", rarely(3) ? some(1, 1000) : 0, rarely(2) ? "yes" : "no");
  }

  void nodes() {
    nodes_ = static_cast<int>(some(2, 6));
    text_ += "nodes      gpus  cpus  mem  features  weight  prepare  cleanup\n";
    for (int i = 1; i <= nodes_; ++i) {
      const std::int64_t gpus = some(0, 8);
      const std::string typed = rarely(3) ? format("h100:{}", gpus) : format("{}", gpus);
      text_ += format("n{}  {}  {}  {}G  {}  {}  {}  {}\n", i, typed, some(2, 32), some(16, 128),
                      rarely(2) ? "fast" : "slow", some(1, 3), maybe(3, format("{}s", some(0, 9))),
                      maybe(3, format("{}s", some(0, 9))));
    }
  }

  void partitions() {
    text_ += "\npartitions nodes  tier  max-time  max-nodes  default\n";
    text_ += format("main  n[1-{}]  1  -  -  yes\n", nodes_);
    text_ += format("quick  n[1-{}]  {}  {}  {}  no\n", some(1, nodes_), some(1, 3),
                    maybe(2, "20m"), maybe(3, "2"));
  }

  std::string dependency(int i) {
    if (i == 1 || !rarely(4)) return "-";
    if (rarely(5)) return "singleton";
    const char* kinds[] = {"after", "afterok", "afternotok", "afterany"};
    return format("{}:w{}", kinds[rng_.below(4)], some(1, i - 1));
  }

  std::string exit() {
    const char* kinds[] = {"-", "-", "-", "1", "oom", "signal:11", "cannot-start"};
    return kinds[rng_.below(7)];
  }

  // Most of it fits somewhere; what does not is refused or waits, and is given up in the end.
  void workloads() {
    text_ +=
        "\nworkloads  submit  user  tasks  nodes  gpus/task  cpus/task  mem/task  limit  runs  exit"
        "  term  prio  array  after  partition  exclusive  constraint  requeue  kind  hold\n";
    for (int i = 1; i <= work_; ++i) {
      const std::int64_t nodes = rarely(3) ? some(2, std::min(nodes_, 3)) : 1;
      const std::int64_t limit = some(1, 40);
      text_ +=
          format("w{}  {}s  {}  {}  {}  {}  {}  {}G  {}m  {}s", i, some(0, rarely(2) ? 600 : 4'000),
                 rarely(2) ? "anna" : "bert", some(nodes, nodes + 2),
                 rarely(2) ? format("{}", nodes) : format("1-{}", nodes), some(0, 2), some(1, 3),
                 some(0, 4), limit, some(1, limit * 70));
      text_ += format("  {}  {}  {}  {}  {}  {}  {}  {}  {}  {}  {}\n", exit(),
                      rarely(6) ? "ignores" : maybe(3, "10s"), maybe(6, format("{}", some(1, 99))),
                      rarely(5) ? format("0-{}%{}", some(1, 5), some(1, 3)) : "-", dependency(i),
                      rarely(3) ? "quick" : "-", maybe(12, "yes"), maybe(8, "fast"), maybe(3, "no"),
                      maybe(6, "allocation"), maybe(15, "yes"));
    }
  }

  void happenings() {
    text_ += "\nat         what\n";
    const char* to_nodes[] = {"lose node",     "return node",  "drain",          "resume",
                              "restart agent", "hang prepare", "refuse prepare", "serve prepare"};
    const char* to_work[] = {"cancel", "hold", "release", "requeue", "limit", "prio"};
    for (int i = 0; i < work_; ++i) {
      const std::int64_t at = some(60, 6'000);
      if (rarely(2)) {
        text_ += format("{}s  {} n{}\n", at, to_nodes[rng_.below(8)], some(1, nodes_));
        continue;
      }
      const std::string verb = to_work[rng_.below(6)];
      text_ += format("{}s  {} w{}{}\n", at, verb, some(1, work_),
                      verb == "limit"  ? format(" {}m", some(1, 60))
                      : verb == "prio" ? format(" {}", some(1, 99))
                                       : "");
    }
    if (rarely(2)) text_ += format("{}s  kill controller for {}s\n", some(60, 6'000), some(0, 60));
  }

  Rng rng_;
  std::uint64_t seed_;
  int work_;
  int nodes_ = 0;
  std::string text_;
};

}  // namespace

std::string random_scenario(std::uint64_t seed, int work) { return Author(seed, work).write(); }

}  // namespace phalanx::sim
