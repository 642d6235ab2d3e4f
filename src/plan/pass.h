// One look at the whole queue: who starts now, who is promised what, why everyone else waits.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plan/explain.h"
#include "plan/plan.h"

namespace phalanx::plan {

class Pass {
 public:
  // Sorts the queue. `state` must outlive the pass, nodes and configuration unchanged; workloads
  // may come and go.
  Pass(const State& state, Time now);

  // Looks at work until the budget is used up or the queue is at its end; adds proposals. True at
  // the end.
  bool go_on(std::int64_t budget, std::vector<Proposal>& proposals);

  std::shared_ptr<const Outlook> finish();
  [[nodiscard]] Time wakeup() const { return wakeup_; }

 private:
  struct Item {
    queue::Turn turn;
    WorkloadId id;
  };
  std::int64_t consider(const Item& item, std::vector<Proposal>& proposals);
  std::int64_t start_elements(const Candidate& c, std::vector<Proposal>& proposals);
  [[nodiscard]] bool array_full(const Candidate& c) const;
  bool start(const Candidate& c, std::optional<std::uint32_t> index,
             std::vector<Proposal>& proposals);
  std::int64_t block(const Candidate& c, const Item& item, std::vector<Proposal>& proposals);
  std::optional<Time> promise(const Candidate& c, std::vector<Proposal>& proposals);
  void withdraw(const Candidate& c, std::vector<Proposal>& proposals) const;
  void wait(const Item& item, Reason reason);

  const State& state_;
  Time now_;
  place::Timeline timeline_;
  EmptyBoards empty_;
  std::vector<Item> queue_;
  std::vector<Proposal> withdrawn_;  // promises of those who may not start at all now
  std::size_t cursor_ = 0;
  std::int64_t promises_left_ = 0;
  std::map<WorkloadId, std::uint32_t> started_;    // by array: elements started in this pass
  std::map<std::string, WorkloadId> head_;         // by partition: the first blocked workload
  std::map<std::string, std::uint32_t> position_;  // by partition
  std::map<std::string, Reason>
      blocked_classes_;  // identical requests that did not fit in this pass
  std::shared_ptr<Outlook> outlook_ = std::make_shared<Outlook>();
  Time wakeup_ = kNever;
};

}  // namespace phalanx::plan
