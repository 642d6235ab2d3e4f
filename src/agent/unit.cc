#include "agent/unit.h"

namespace phalanx::agent {
namespace {

constexpr Duration kAttachAgain = milliseconds(100);

}  // namespace

Unit::Unit(net::Loop& loop, SpawnClient& spawn, std::string spawn_dir, std::string name,
           Handler handler)
    : loop_(loop),
      spawn_(spawn),
      spawn_dir_(std::move(spawn_dir)),
      name_(std::move(name)),
      handler_(std::move(handler)) {}

void Unit::attach() {
  link_ = std::make_unique<UnitLink>(loop_.native(), spawn_dir_, name_,
                                     [this](const UnitEvent& event) { heard(event); });
  link_->attach();
}

void Unit::heard(const UnitEvent& event) {
  if (std::holds_alternative<Disconnected>(event)) {
    again_ = loop_.after(kAttachAgain, [this] { attach(); });
    return;
  }
  if (std::holds_alternative<spawn::Replayed>(event) && released_) link_->release();
  if (std::holds_alternative<spawn::UnitEmpty>(event)) empty_ = true;
  if (std::holds_alternative<SupervisorLost>(event)) {
    lost_ = true;
    if (released_) return forget();
    if (killing_) kill();
  }
  if (const auto* reply = std::get_if<spawn::ReleaseReply>(&event)) {
    if (reply->error == 0 && released_) std::exchange(released_, nullptr)();
    return;
  }
  handler_(event);
}

void Unit::signal(int signal, spawn::Scope scope) {
  if (!over() && !lost_) link_->signal(spawn::kAllTasks, signal, scope);
}

void Unit::kill() {
  killing_ = true;
  if (over()) return;
  if (!lost_) return link_->kill();
  spawn_.kill_lost(name_, [this, alive = std::weak_ptr(alive_)](const Status& status) {
    if (!alive.expired() && status.ok()) killed_ = true;
  });
}

void Unit::forget() {
  spawn_.forget(name_, [this, alive = std::weak_ptr(alive_)](const Status&) {
    if (!alive.expired() && released_) std::exchange(released_, nullptr)();
  });
}

void Unit::release(std::function<void()> done) {
  released_ = std::move(done);
  lost_ ? forget() : link_->release();
}

}  // namespace phalanx::agent
