// Watches how much room the journal's file system has left. With too little, new work is refused
// ("try again") and completions are still recorded; with next to none, and when an append has
// failed for want of room, the journal's reserve is given up for them. When there is room again
// the reserve is set aside anew and work is taken again.
//
// Loop thread. What it is given must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server/core.h"

namespace phalanx::server {

class DiskGuard {
 public:
  // How it sees and moves the journal's room; a test gives its own.
  struct Disk {
    std::function<Result<store::Space>()> space;
    std::function<Status()> release, refill;
  };
  static Disk disk_of(store::SqliteJournal& journal);

  // `low_below`: bytes free; absent: as store::is_low has it.
  DiskGuard(net::Loop& loop, Core& core, Disk disk,
            std::optional<std::uint64_t> low_below = std::nullopt);

  void look();  // now; it also looks by itself
  [[nodiscard]] const store::Space& space() const { return space_; }  // as last seen
  [[nodiscard]] bool low() const { return low_; }

 private:
  void watch();

  net::Loop& loop_;
  Core& core_;
  Disk disk_;
  std::optional<std::uint64_t> low_below_;
  store::Space space_;
  bool low_ = false;
  net::Timer timer_;
};

}  // namespace phalanx::server
