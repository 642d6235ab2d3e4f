// What goes wrong at random, all of it from one seed: late and repeated messages, cut connections,
// agents and a controller that die at any moment, nodes that refuse to prepare. calm() ends it, so
// that everything can come to an end. Deterministic; one caller.
#pragma once

#include "base/rng.h"
#include "base/time.h"

namespace phalanx::sim {

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : rng_(seed) {}
  void calm() { calm_ = true; }

  // Messages of one connection stay in order, as TCP keeps them; across connections they do not.
  Duration delay() { return calm_ || rng_.chance(2) ? Duration{} : below(seconds(3)); }
  bool repeats() { return one_in(8); }
  bool cuts_link() { return one_in(60); }
  Duration cut_for() { return below(seconds(40)); }

  bool kills_before_commit() { return one_in(150); }
  bool kills_after_effect() { return one_in(250); }
  Duration controller_down_for() { return below(seconds(20)); }
  Duration reconnects_after() { return calm_ ? Duration{} : below(seconds(10)); }

  bool restarts_agent() { return one_in(40); }
  bool kills_machine() { return one_in(250); }
  Duration machine_down_for() { return below(minutes(8)); }
  bool refuses_prepare() { return one_in(40); }
  bool prolog_hangs() { return one_in(80); }
  Duration prepares_for() { return calm_ ? Duration{} : below(seconds(5)); }

  // Units of work for one step of the planner: few, so that inputs come in between.
  std::int64_t planner_budget() { return calm_ ? 4'000 : rng_.between(1, 40); }

 private:
  bool one_in(std::uint64_t n) { return !calm_ && rng_.chance(n); }
  Duration below(Duration most) { return Duration(rng_.between(0, most.count())); }

  Rng rng_;
  bool calm_ = false;
};

}  // namespace phalanx::sim
