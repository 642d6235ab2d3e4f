#include "cluster/access.h"

#include <algorithm>

#include "base/text.h"

namespace phalanx::cluster {
namespace {

bool lists(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// In one of the groups by number, or by the name of the primary one.
bool in_groups(const Partition& partition, const Identity& owner) {
  return lists(partition.allow_groups, owner.group) ||
         std::any_of(
             partition.allow_gids.begin(), partition.allow_gids.end(), [&](std::uint32_t gid) {
               return gid == owner.gid || std::find(owner.groups.begin(), owner.groups.end(),
                                                    gid) != owner.groups.end();
             });
}

bool is_same_person(const Identity& who, std::uint32_t uid) {
  return who.uid == uid && uid != Identity{}.uid;
}

}  // namespace

bool is_operator(const ClusterConfig& config, const Identity& who) {
  if (who.kind == IdentityKind::system || who.operator_) return true;
  return who.kind == IdentityKind::unix_user && (who.uid == 0 || lists(config.operators, who.user));
}

Status may_speak_for_cluster(const Identity& who) {
  if (who.kind == IdentityKind::system || who.kind == IdentityKind::certificate) return {};
  return denied("only the cluster's own daemons may say this");
}

Status may_administer(const ClusterConfig& config, const Identity& who, std::string_view what) {
  if (is_operator(config, who)) return {};
  return denied(format("Access/permission denied: only operators may {}", what));
}

Status may_change(const ClusterConfig& config, const Identity& who, const WorkloadSpec& spec) {
  if (is_operator(config, who) || is_same_person(who, spec.owner.uid)) return {};
  return denied(format("Access/permission denied: this belongs to {}", spec.owner.user));
}

Status may_change(const ClusterConfig& config, const Identity& who, const Object& object) {
  if (is_operator(config, who) || is_same_person(who, object.owner)) return {};
  return denied(format("{} belongs to somebody else", to_string(object.key)));
}

Status may_submit(const ClusterConfig& config, const Identity& who, const WorkloadSpec& spec,
                  const Partition& partition) {
  const Identity& owner = spec.owner;
  if (Status status = may_change(config, who, spec); !status.ok())
    return denied("Access/permission denied: only operators may submit for somebody else");
  if (owner.uid == 0 && !partition.allow_root_jobs)
    return denied(
        format("root's own work is not allowed in partition {} (DisableRootJobs)", partition.name));
  const bool privileged = is_operator(config, owner) || is_operator(config, who);
  if (partition.root_only && !privileged)
    return denied(format("partition {} is for root and operators (RootOnly)", partition.name));
  const bool refused_account =
      (!partition.allow_accounts.empty() && !lists(partition.allow_accounts, spec.account)) ||
      lists(partition.deny_accounts, spec.account);
  if (refused_account)
    return denied(
        format("Invalid account or account/partition combination specified: account '{}' may not "
               "use partition {}",
               spec.account, partition.name));
  if (!partition.allow_groups.empty() && !privileged && !in_groups(partition, owner))
    return denied(
        format("partition {} allows only members of other groups (AllowGroups)", partition.name));
  const bool refused_qos =
      (!partition.allow_qos.empty() && !lists(partition.allow_qos, spec.qos)) ||
      lists(partition.deny_qos, spec.qos);
  if (refused_qos)
    return denied(format("Invalid qos specification: '{}' may not be used in partition {}",
                         spec.qos, partition.name));
  return {};
}

}  // namespace phalanx::cluster
