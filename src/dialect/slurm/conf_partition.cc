// PartitionName lines.
#include <array>

#include "base/text.h"
#include "dialect/slurm/conf_draft.h"
#include "dialect/slurm/conf_value.h"

namespace phalanx::slurm {
namespace {

constexpr std::int64_t kSharedByDefault =
    4;  // jobs on a resource for OverSubscribe=YES and FORCE alone
constexpr std::int64_t kMaxShared = 65'533;

// Limits of jobs count whole minutes; seconds round up.
Result<Duration> parse_minutes_up(std::string_view text) {
  const Duration d = TRY(parse_span(text, ValueKind::TimeLimit));
  return d == kForever ? d : Duration(std::chrono::ceil<minutes>(d));
}

Status set_state(PartitionConf& p, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, PartitionState>, 4> states = {{
      {"UP", PartitionState::Up},
      {"DOWN", PartitionState::Down},
      {"DRAIN", PartitionState::Drain},
      {"INACTIVE", PartitionState::Inactive},
  }};
  for (const auto& [name, state] : states) {
    if (!iequals(name, text)) continue;
    p.state = state;
    return {};
  }
  return invalid("expected UP, DOWN, DRAIN or INACTIVE");
}

Status set_oversubscribe(PartitionConf& p, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  if (iequals(word, "EXCLUSIVE") && colon == std::string_view::npos) {
    p.oversubscribe = OverSubscribe::No;
    p.oversubscribe_jobs = 1;
    if (p.exclusive == PartitionExclusive::No) p.exclusive = PartitionExclusive::Node;
    return {};
  }
  if (iequals(word, "NO") && colon == std::string_view::npos) {
    p.oversubscribe = OverSubscribe::No;
    p.oversubscribe_jobs = 1;
    return {};
  }
  if (!iequals(word, "YES") && !iequals(word, "FORCE"))
    return invalid("expected NO, EXCLUSIVE, YES[:jobs] or FORCE[:jobs]");
  std::int64_t jobs = kSharedByDefault;
  if (colon != std::string_view::npos) jobs = TRY(parse_number(text.substr(colon + 1)));
  if (jobs < 1 || jobs > kMaxShared)
    return invalid(format("the number of jobs is between 1 and {}", kMaxShared));
  p.oversubscribe = iequals(word, "YES") ? OverSubscribe::Yes : OverSubscribe::Force;
  p.oversubscribe_jobs = jobs;
  return {};
}

Status set_exclusive(PartitionConf& p, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, PartitionExclusive>, 4> words = {{
      {"NO", PartitionExclusive::No},
      {"NODE", PartitionExclusive::Node},
      {"USER", PartitionExclusive::User},
      {"TOPO", PartitionExclusive::Topo},
  }};
  for (const auto& [name, exclusive] : words) {
    if (!iequals(name, text)) continue;
    p.exclusive = exclusive;
    return {};
  }
  return invalid("expected NO, NODE, USER or TOPO");
}

template <PartitionExclusive Kind>
Status set_exclusive_kind(PartitionConf& p, std::string_view text) {
  if (TRY(parse_switch(text)))
    p.exclusive = Kind;
  else if (p.exclusive == Kind)
    p.exclusive = PartitionExclusive::No;
  return {};
}

// "ALL" is everybody, which is the empty list.
template <Words PartitionConf::* Member>
Status set_names(PartitionConf& p, std::string_view text) {
  p.*Member = iequals(text, "ALL") ? Words{} : parse_words(text);
  return {};
}

const Binding<PartitionConf> kPartition[] = {
    {"AllowAccounts", set_names<&PartitionConf::allow_accounts>},
    {"AllowGroups", set_names<&PartitionConf::allow_groups>},
    {"AllowQos", set_names<&PartitionConf::allow_qos>},
    {"DefCpuPerGPU", &PartitionConf::def_cpu_per_gpu},
    {"Default", &PartitionConf::is_default},
    {"DefaultTime",
     [](PartitionConf& p, std::string_view text) -> Status {
       p.default_time = TRY(parse_minutes_up(text));
       return {};
     }},
    {"DenyAccounts", &PartitionConf::deny_accounts},
    {"DenyQos", &PartitionConf::deny_qos},
    {"DisableRootJobs", &PartitionConf::disable_root_jobs},
    {"Exclusive", set_exclusive},
    {"ExclusiveTopo", set_exclusive_kind<PartitionExclusive::Topo>},
    {"ExclusiveUser", set_exclusive_kind<PartitionExclusive::User>},
    {"GraceTime", &PartitionConf::grace_time},
    {"Hidden", &PartitionConf::hidden},
    {"LLN", &PartitionConf::least_loaded_nodes},
    {"MaxCPUsPerNode", &PartitionConf::max_cpus_per_node},
    {"MaxCPUsPerSocket", &PartitionConf::max_cpus_per_socket},
    {"MaxNodes", &PartitionConf::max_nodes},
    {"MaxTime",
     [](PartitionConf& p, std::string_view text) -> Status {
       p.max_time = TRY(parse_minutes_up(text));
       return {};
     }},
    {"MinNodes", &PartitionConf::min_nodes},
    {"Nodes", &PartitionConf::nodes_text},
    {"OverSubscribe", set_oversubscribe},
    {"OverTimeLimit", &PartitionConf::over_time_limit},
    {"PartitionName", &PartitionConf::name},
    {"PreemptMode",
     [](PartitionConf& p, std::string_view text) -> Status {
       p.preempt = TRY(parse_preempt_mode(text));
       return {};
     }},
    {"Priority",
     [](PartitionConf& p, std::string_view text) -> Status {
       p.priority_tier = p.priority_job_factor = TRY(parse_number(text));
       return {};
     }},
    {"PriorityJobFactor", &PartitionConf::priority_job_factor},
    {"PriorityTier", &PartitionConf::priority_tier},
    {"QOS", &PartitionConf::qos},
    {"ReqResv", &PartitionConf::require_reservation},
    {"RootOnly", &PartitionConf::root_only},
    {"SelectTypeParameters",
     [](PartitionConf& p, std::string_view text) -> Status {
       p.select = TRY(parse_selection(text));
       return {};
     }},
    {"State", set_state},
    {"TRESBillingWeights",
     [](PartitionConf& p, std::string_view text) -> Status {
       p.billing = TRY(parse_tres_weights(text));
       return {};
     }},
};

Status store_partition(PartitionConf& partition, const ConfKey& key, std::string_view value) {
  if (key.kind == ValueKind::Megabytes) return store_memory(partition.memory, key.name, value);
  const Binding<PartitionConf>* binding = find_binding<PartitionConf>(kPartition, key.name);
  return binding == nullptr ? Status{} : store(partition, *binding, key.kind, value);
}

void check_partition(std::vector<Diagnostic>& to, const PartitionConf& p) {
  if (p.default_time && *p.default_time > p.max_time)
    warn(to, p.at,
         format("partition {}: DefaultTime is longer than MaxTime; MaxTime holds", p.name));
  if (p.max_time == Duration::zero())
    warn(to, p.at,
         format("partition {}: MaxTime=0 lets no job run; UNLIMITED sets no limit", p.name));
  if (p.max_nodes && *p.max_nodes < p.min_nodes)
    warn(to, p.at, format("partition {}: MaxNodes is less than MinNodes, so no job fits", p.name));
  if (!p.allow_accounts.empty() && !p.deny_accounts.empty())
    warn(to, p.at, format("partition {}: DenyAccounts has no effect beside AllowAccounts", p.name));
  if (!p.allow_qos.empty() && !p.deny_qos.empty())
    warn(to, p.at, format("partition {}: DenyQos has no effect beside AllowQos", p.name));
}

// One partition is the default: the one that said so last.
void add_partition(ConfDraft& draft, PartitionConf partition) {
  std::vector<Diagnostic>& to = draft.out.diagnostics;
  const auto [first, fresh] = draft.partition_at.emplace(partition.name, partition.at);
  if (!fresh) {
    warn(to, partition.at,
         format("partition {} is defined twice; only line {} is used", partition.name,
                first->second.line));
    return;
  }
  check_partition(to, partition);
  if (partition.default_time && *partition.default_time > partition.max_time)
    partition.default_time = partition.max_time;
  if (partition.is_default)
    for (PartitionConf& other : draft.out.value.partitions) {
      if (!other.is_default) continue;
      other.is_default = false;
      warn(to, partition.at,
           format("partitions {} and {} both say Default=YES; {} is the default", other.name,
                  partition.name, partition.name));
    }
  draft.out.value.partitions.push_back(std::move(partition));
}

}  // namespace

void read_partition(ConfDraft& draft, const ConfRecord& record) {
  PartitionConf partition = draft.partition_default;
  partition.at = record.pairs.front().at;
  std::set<std::string_view> seen;
  std::vector<Diagnostic>& to = draft.out.diagnostics;
  for (const ConfPair& pair : record.pairs) {
    const ConfKey* key = accept(to, ConfSection::Partition, pair);
    if (key == nullptr) continue;
    if (!seen.insert(key->name).second)
      warn(to, pair.at, format("{} is given twice on this line; the last one holds", key->name));
    if (const Status status = store_partition(partition, *key, pair.value); !status)
      bad_value(to, pair, status.error().message);
  }
  if (partition.name.empty()) return;
  if (!iequals(partition.name, "DEFAULT")) return add_partition(draft, std::move(partition));
  draft.partition_default = std::move(partition);
  draft.partition_default.name.clear();
}

}  // namespace phalanx::slurm
