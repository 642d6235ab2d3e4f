// What a scenario shows: the story (who starts, ends and waits, and why), a picture of the nodes
// over time, the ledger, and whether the expectations hold. Everything is told from committed
// events and from the planner's Outlook, in the words that users get.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/world.h"

namespace phalanx::sim {

class Story {
 public:
  // Both must outlive it.
  Story(const Scenario& scenario, const World& world);

  void committed(const State& after, const Event& event);
  void settled();
  void restarted();
  void refused(const std::string& what, const std::string& name, const std::string& why);

  // What belongs below the line ---- of the file.
  [[nodiscard]] std::string text() const;
  // Expectations that do not hold, as sentences.
  [[nodiscard]] std::vector<std::string> broken_expectations() const;

 private:
  struct Line {
    Time at{};
    std::string what, who, where, why;
    bool operator==(const Line&) const = default;
  };
  struct Bar {  // something is held, or a node cannot be used, for a while
    NodeId node;
    std::string name;
    std::int64_t gpus = 0;
    Time from{};
    std::optional<Time> to;
    WorkloadId id;  // none: the node cannot be used
  };
  struct Life {
    Time submitted{};
    std::optional<Time> started, ended;
    std::int64_t attempts = 0;
  };

  void on(const State& s, Time at, const Submitted& e);
  void on(const State& s, Time at, const Separated& e);
  void on(const State& s, Time at, const Placed& e);
  void on(const State& s, Time at, const Launched& e);
  void on(const State& s, Time at, const Ended& e);
  void on(const State& s, Time at, const Released& e);
  void on(const State& s, Time at, const Cancelled& e);
  void on(const State& s, Time at, const Revived& e);
  void on(const State& s, Time at, const Held& e);
  void on(const State& s, Time at, const Updated& e);
  void on(const State& s, Time at, const Promised& e);
  void on(const State& s, Time at, const Warned& e);
  void on(const State& s, Time at, const NodeJoined& e);
  void on(const State& s, Time at, const NodeChanged& e);
  void on(const State& s, Time at, const NodeSuspected& e);
  void on(const State& s, Time at, const NodeLost& e);
  void on(const State& s, Time at, const NodeReturned& e);
  void on(const State& s, Time at, const NodeDrained& e);
  void on(const State& s, Time at, const NodeUndrained& e);
  template <class Other>
  void on(const State&, Time, const Other&) {}

  void tell(Time at, std::string what, std::string who, std::string where = "",
            const std::string& why = "");
  void node_unusable(NodeId node, Time at, const std::string& mark);
  void node_usable(const State& s, NodeId node, Time at);
  [[nodiscard]] std::string label(WorkloadId id) const;
  [[nodiscard]] std::string shares(const State& s, const std::vector<NodeShare>& list) const;
  [[nodiscard]] std::string in_words(const std::string& text) const;
  [[nodiscard]] std::string story() const;
  [[nodiscard]] std::string gantt() const;
  [[nodiscard]] std::string cell(NodeId node, Time from, Time to) const;
  [[nodiscard]] std::string ledger() const;
  [[nodiscard]] std::string expectations() const;
  [[nodiscard]] std::int64_t measure(const Expectation& e) const;
  [[nodiscard]] bool holds(const Expectation& e) const;
  [[nodiscard]] Time horizon() const;

  const Scenario& scenario_;
  const World& world_;
  std::vector<Line> lines_;
  std::vector<Bar> bars_;
  std::map<WorkloadId, std::string> labels_;
  std::map<JobNumber, std::string> by_number_;
  std::map<WorkloadId, Life> lives_;
  std::map<WorkloadId, std::string> said_;  // the last reason told
  std::set<std::pair<WorkloadId, AttemptNumber>> prepares_told_;
  std::map<WorkloadId, Time> promised_;
  std::vector<NodeId> nodes_;  // in order of joining
  std::map<NodeId, std::string> node_names_;
};

}  // namespace phalanx::sim
