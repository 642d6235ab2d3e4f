// The columns of squeue. Internal to dialect/slurm.
#pragma once

#include <span>
#include <string>

#include "dialect/slurm/query.h"

namespace phalanx::slurm {

struct QueueField {
  char letter;             // 0: has only a name
  std::string_view names;  // -O, in plain form, separated by blanks
  std::string_view header;
  std::string (*text)(const JobRow& row, const Moments& moments);
};
const QueueField* queue_field(const Column& column);
std::span<const QueueField> queue_fields();

}  // namespace phalanx::slurm
