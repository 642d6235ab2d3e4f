// What the agent must still know after a restart, one file for each attempt, written before
// anything of it is started. The directory belongs to the agent alone: orders hold users'
// environments. Errors: a record that cannot be written is a Result; one that cannot be read is
// left out, with a line on stderr.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/wire.h"

namespace phalanx::agent {

struct AttemptRecord {
  Fence fence;
  LaunchOrder order;
  bool went = false;
  std::optional<Time> went_at;  // CLOCK_BOOTTIME
  bool operator==(const AttemptRecord&) const = default;
};
BOOST_DESCRIBE_STRUCT(AttemptRecord, (), (fence, order, went, went_at))

class AttemptRecords {
 public:
  explicit AttemptRecords(std::string directory);  // created if missing

  Status write(const std::string& room, const AttemptRecord& record) const;
  void remove(const std::string& room) const;
  [[nodiscard]] std::vector<AttemptRecord> read_all() const;

 private:
  std::string directory_;
};

// The name of an attempt's room: "job_4711_a3". For folders, control groups and units.
std::string room_name(const Fence& fence, const std::string& label);
// Its unit for a step: "job_4711_a3.0", "job_4711_a3.batch".
std::string unit_name(const std::string& room, StepNumber step);
// The step of a unit's name; nothing if it is not one of the room.
std::optional<StepNumber> step_of_unit(const std::string& room, std::string_view unit);

}  // namespace phalanx::agent
