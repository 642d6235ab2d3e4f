// slurm.conf and gres.conf as the cluster's configuration: nodes with the devices that both files
// give them, partitions with the cluster's defaults filled in, timers, policy, and every global key
// as written for `scontrol show config`. Pure; the readers of the files have told all faults
// before.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/slurm/conf.h"
#include "dialect/slurm/conf_gres.h"
#include "model/config.h"

namespace phalanx::slurm {

// `inventories`: merge(conf, gres), one for each node of `conf`. Warnings say what these files ask
// for and this version does not do, where the readers cannot know it.
Parsed<ClusterConfig> cluster_config(const SlurmConf& conf,
                                     const std::vector<NodeInventory>& inventories);

// What people should know when `after` takes the place of `before` while work runs: one sentence
// each. An error: this cannot change at run time.
Result<std::vector<std::string>> change_notes(const ClusterConfig& before,
                                              const ClusterConfig& after);

}  // namespace phalanx::slurm
