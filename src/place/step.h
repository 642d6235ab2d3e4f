// A step inside an allocation: which of the job's nodes, CPUs and devices its tasks get, beside
// what running steps hold. Pure; reads the rows it is given.
//
// A step holds what it gets against other steps, unless it asks to overlap. Without an amount of
// its own it gets all CPUs and devices that the job has on its nodes; with --exact, or CPUs per
// task, only those it asks for. Memory that is not asked for is the job's, shared. Tasks fill the
// nodes in the order of the allocation, at least one on each, as Slurm's block distribution does;
// or go round them, as its cyclic one. A step of the whole job has the job's tasks on each node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/input.h"

namespace phalanx::place {

struct StepFit {
  std::vector<StepShare> shares;  // empty: not yet
  std::string waiting;            // what holds its resources, in words
};

// `w` is running. An error: it can never fit into this allocation, and why.
Result<StepFit> fit_step(const Workload& w, const std::map<NodeId, Node>& nodes,
                         const StepRequest& request);

}  // namespace phalanx::place
