#include "server/slurm_api.h"

#include "base/text.h"

namespace phalanx::server {

Result<Target> parse_target(const std::string& text) {
  const auto parts = split(text, '_');
  const auto number = parse_uint(parts.front());
  if (!number || *number == 0 || *number > 0xffffffffU || parts.size() > 2)
    return invalid(format("Invalid job id specified: '{}'", printable(text)));
  Target target;
  target.number = static_cast<JobNumber>(*number);
  if (parts.size() == 2) {
    const auto index = parse_uint(parts.back());
    if (!index || *index > 0xffffffffU)
      return invalid(format("Invalid job id specified: '{}'", printable(text)));
    target.indexes.push_back(static_cast<std::uint32_t>(*index));
  }
  return target;
}

const Workload* find_target(const State& state, const Target& target) {
  if (target.indexes.empty()) return find_job(state, target.number);
  return find_element(state, target.number, target.indexes.front());
}

void slurm_routes(Router& router, Door& door) {
  slurm_submit_routes(router, door);
  slurm_wait_routes(router, door);
  slurm_step_routes(router, door);
  slurm_query_routes(router, door);
}

}  // namespace phalanx::server
