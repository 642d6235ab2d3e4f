#include "server/disk_guard.h"

#include <cstdio>

#include "base/text.h"

namespace phalanx::server {
namespace {

constexpr Duration kLook = seconds(1);
// Several of the biggest commits: below this the next append may find no room.
constexpr std::uint64_t kNextToNone = std::uint64_t{32} << 20;

}  // namespace

DiskGuard::Disk DiskGuard::disk_of(store::SqliteJournal& journal) {
  return {[&journal] { return journal.space(); }, [&journal] { return journal.release_reserve(); },
          [&journal] { return journal.refill_reserve(); }};
}

DiskGuard::DiskGuard(net::Loop& loop, Core& core, Disk disk, std::optional<std::uint64_t> low_below)
    : loop_(loop), core_(core), disk_(std::move(disk)), low_below_(low_below) {
  watch();
}

void DiskGuard::watch() {
  look();
  timer_ = loop_.after(kLook, [this] { watch(); });
}

// Where it cannot be measured nobody is refused: the appends will tell.
void DiskGuard::look() {
  const Result<store::Space> space = disk_.space();
  space_ = space.ok() ? *space : store::Space{};
  const bool low = space.ok() && is_low(*space, low_below_);
  if (low && space->bytes_free < kNextToNone && space->reserve_bytes > 0) {
    std::fprintf(stderr, "phalanx: the disk is full: the journal's reserve is given up\n");
    (void)disk_.release();
  }
  if (!low && space.ok() && space->reserve_bytes == 0) (void)disk_.refill();
  if (low == low_) return;
  low_ = low;
  const std::string text = low ? format(
                                     "{} MB ({} %) are free beside the journal: new work is "
                                     "refused until there is more room",
                                     space_.bytes_free / 1'000'000, space_.percent_free)
                               : "there is room again: new work is taken";
  std::fprintf(stderr, "phalanx: %s\n", text.c_str());
  core_.refuse_work(low ? "the controller's disk is nearly full" : "");
}

}  // namespace phalanx::server
