// One unit of this node as the agent sees it: the link to its supervisor, attached again when it
// breaks, and what is known so far. A unit is over when it is empty, or when its supervisor died
// and what it left was killed; only then may it be released, which deletes its folder.
//
// One thread; callbacks come from the loop, never from within a call.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/spawn_client.h"
#include "agent/unit_link.h"
#include "net/net.h"

namespace phalanx::agent {

class Unit {
 public:
  using Handler = std::function<void(const UnitEvent&)>;

  Unit(net::Loop& loop, SpawnClient& spawn, std::string spawn_dir, std::string name,
       Handler handler);

  // From now on the handler hears everything from the unit's start on; again, after another call.
  void attach();
  void signal(int signal, spawn::Scope scope);
  void kill();
  void release(std::function<void()> done);

  [[nodiscard]] bool over() const { return empty_ || (lost_ && killed_); }
  [[nodiscard]] UnitLink& link() { return *link_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  void heard(const UnitEvent& event);
  void forget();

  net::Loop& loop_;
  SpawnClient& spawn_;
  std::string spawn_dir_, name_;
  Handler handler_;
  std::unique_ptr<UnitLink> link_;
  net::Timer again_;
  bool empty_ = false, lost_ = false, killed_ = false, killing_ = false;
  std::function<void()> released_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();  // callbacks that phalanx-spawn owes us
};

}  // namespace phalanx::agent
