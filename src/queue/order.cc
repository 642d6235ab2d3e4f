#include <algorithm>
#include <tuple>

#include "queue/queue.h"

namespace phalanx::queue {

bool before(const Turn& a, const Turn& b) {
  return std::tuple(-a.tier, -a.priority, a.nice, a.submitted, a.id) <
         std::tuple(-b.tier, -b.priority, b.nice, b.submitted, b.id);
}

std::int64_t priority(const Policy& policy, const Partition& partition, Time now,
                      Time eligible_since, const std::optional<std::int64_t>& by_hand,
                      std::int64_t nice) {
  if (by_hand) return *by_hand;
  std::int64_t age = 0;
  if (policy.weight_age > 0 && policy.max_age > Duration::zero() && now > eligible_since) {
    const std::int64_t waited = std::min(now - eligible_since, policy.max_age) / seconds(1);
    age = policy.weight_age * waited / std::max<std::int64_t>(1, policy.max_age / seconds(1));
  }
  const std::int64_t of_partition = policy.weight_partition * partition.priority_job_factor /
                                    std::max<std::int64_t>(1, policy.largest_job_factor);
  return std::max<std::int64_t>(1, 1 + age + of_partition - nice);
}

}  // namespace phalanx::queue
