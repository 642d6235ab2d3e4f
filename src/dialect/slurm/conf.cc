#include "dialect/slurm/conf.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "dialect/slurm/conf_draft.h"
#include "dialect/slurm/conf_value.h"
#include "dialect/slurm/grammar.h"

namespace phalanx::slurm {
namespace {

Result<ControllerHost> parse_controller(std::string_view text) {
  const std::size_t open = text.find('(');
  ControllerHost host{std::string(text.substr(0, open)), std::string(text.substr(0, open))};
  if (open != std::string_view::npos) {
    if (!text.ends_with(')')) return invalid("expected host or host(address)");
    host.addr = std::string(text.substr(open + 1, text.size() - open - 2));
  }
  if (host.name.empty() || host.addr.empty()) return invalid("expected host or host(address)");
  return host;
}

Status add_controller(SlurmConf& conf, std::string_view text) {
  conf.controllers.push_back(TRY(parse_controller(text)));
  return {};
}

Status set_scheduler(SlurmConf& conf, std::string_view text) {
  if (!iequals(text, "sched/backfill") && !iequals(text, "sched/builtin"))
    return invalid("expected sched/backfill or sched/builtin");
  conf.backfill = iequals(text, "sched/backfill");
  return {};
}

Status set_select_type(SlurmConf& conf, std::string_view text) {
  if (iequals(text, "select/linear")) {
    conf.whole_nodes = true;
    return {};
  }
  for (std::string_view known : {"select/cons_tres", "select/cons_res", "select/cray_aries"})
    if (iequals(text, known)) {
      conf.whole_nodes = false;
      return {};
    }
  return invalid("expected select/cons_tres or select/linear");
}

Status set_selection(SlurmConf& conf, std::string_view text) {
  conf.select = TRY(parse_selection(text));
  return {};
}

Status set_preempt_mode(SlurmConf& conf, std::string_view text) {
  conf.preempt = TRY(parse_preempt_mode(text));
  return {};
}

Status set_preempt_type(SlurmConf& conf, std::string_view text) {
  if (iequals(text, "preempt/none"))
    conf.preempt_type = PreemptType::None;
  else if (iequals(text, "preempt/partition_prio"))
    conf.preempt_type = PreemptType::PartitionPriority;
  else if (iequals(text, "preempt/qos"))
    conf.preempt_type = PreemptType::Qos;
  else
    return invalid("expected preempt/none, preempt/partition_prio or preempt/qos");
  return {};
}

Status set_enforce_limits(SlurmConf& conf, std::string_view text) {
  if (iequals(text, "ALL"))
    conf.enforce_part_limits = EnforceLimits::All;
  else if (iequals(text, "ANY"))
    conf.enforce_part_limits = EnforceLimits::Any;
  else  // older files say YES for ALL
    conf.enforce_part_limits = TRY(parse_switch(text)) ? EnforceLimits::All : EnforceLimits::No;
  return {};
}

Status set_scron(SlurmConf& conf, std::string_view text) {
  conf.scron = std::ranges::any_of(parse_words(text),
                                   [](const std::string& w) { return iequals(w, "enable"); });
  return {};
}

Status accept_text(SlurmConf&, std::string_view) { return {}; }

const Binding<SlurmConf> kConf[] = {
    {"AccountingStorageEnforce", &SlurmConf::accounting_enforce},
    {"AccountingStorageTRES", &SlurmConf::accounting_tres},
    {"ClusterName", &SlurmConf::cluster_name},
    {"DefCpuPerGPU", &SlurmConf::def_cpu_per_gpu},
    {"DisableRootJobs", &SlurmConf::disable_root_jobs},
    {"EnforcePartLimits", set_enforce_limits},
    {"FirstJobId", &SlurmConf::first_job_id},
    {"GresTypes", &SlurmConf::gres_types},
    {"InteractiveStepOptions", &SlurmConf::interactive_step_options},
    {"JobFileAppend", &SlurmConf::job_file_append},
    {"JobRequeue", &SlurmConf::job_requeue},
    {"KillOnBadExit", &SlurmConf::kill_on_bad_exit},
    {"LaunchParameters", &SlurmConf::launch_parameters},
    {"Licenses", &SlurmConf::licenses},
    {"MailDomain", &SlurmConf::mail_domain},
    {"MailProg", &SlurmConf::mail_prog},
    {"MaxArraySize", &SlurmConf::max_array_size},
    {"MaxBatchRequeue", &SlurmConf::max_batch_requeue},
    {"MaxJobCount", &SlurmConf::max_job_count},
    {"MaxJobId", &SlurmConf::max_job_id},
    {"MaxStepCount", &SlurmConf::max_step_count},
    {"MaxTasksPerNode", &SlurmConf::max_tasks_per_node},
    {"MpiDefault", &SlurmConf::mpi_default},
    {"MpiParams", &SlurmConf::mpi_params},
    {"PreemptMode", set_preempt_mode},
    {"PreemptParameters", &SlurmConf::preempt_parameters},
    {"PreemptType", set_preempt_type},
    {"PrivateData", &SlurmConf::private_data},
    {"PropagateResourceLimits", &SlurmConf::propagate_limits},
    {"PropagateResourceLimitsExcept", &SlurmConf::propagate_limits_except},
    {"RequeueExit", &SlurmConf::requeue_exit},
    {"RequeueExitHold", &SlurmConf::requeue_exit_hold},
    {"ReturnToService", &SlurmConf::return_to_service},
    {"SchedulerParameters", accept_text},
    {"SchedulerType", set_scheduler},
    {"ScronParameters", set_scron},
    {"SelectType", set_select_type},
    {"SelectTypeParameters", set_selection},
    {"SlurmctldAddr", &SlurmConf::controller_addr},
    {"SlurmctldHost", add_controller},
    {"SlurmctldParameters", accept_text},
    {"SlurmdParameters", accept_text},
    {"TmpFS", &SlurmConf::tmp_fs},
    {"TopologyPlugin", &SlurmConf::topology_plugin},
};

const Binding<Timers> kTimers[] = {
    {"BatchStartTimeout", &Timers::batch_start_timeout},
    {"CompleteWait", &Timers::complete_wait},
    {"InactiveLimit", &Timers::inactive_limit},
    {"KillWait", &Timers::kill_wait},
    {"MinJobAge", &Timers::min_job_age},
    {"OverTimeLimit", &Timers::over_time_limit},
    {"PreemptExemptTime",
     [](Timers& t, std::string_view text) -> Status {
       const Duration d = TRY(parse_span(text, ValueKind::TimeLimit));
       t.preempt_exempt_time = text == "-1" ? Duration::zero() : d;
       return {};
     }},
    {"ResvOverRun", &Timers::resv_over_run},
    {"SlurmctldTimeout", &Timers::slurmctld_timeout},
    {"SlurmdTimeout", &Timers::slurmd_timeout},
    {"UnkillableStepTimeout", &Timers::unkillable_step_timeout},
    {"WaitTime", &Timers::wait_time},
};

const Binding<PriorityConf> kPriority[] = {
    {"PriorityCalcPeriod", &PriorityConf::calc_period},
    {"PriorityDecayHalfLife", &PriorityConf::decay_half_life},
    {"PriorityFavorSmall", &PriorityConf::favor_small},
    {"PriorityFlags", &PriorityConf::flags},
    {"PriorityMaxAge", &PriorityConf::max_age},
    {"PriorityType",
     [](PriorityConf& p, std::string_view text) -> Status {
       p.multifactor = iequals(text, "priority/multifactor");
       if (p.multifactor || iequals(text, "priority/basic")) return {};
       return invalid("expected priority/multifactor or priority/basic");
     }},
    {"PriorityUsageResetPeriod", &PriorityConf::usage_reset_period},
    {"PriorityWeightAge", &PriorityConf::age},
    {"PriorityWeightAssoc", &PriorityConf::assoc},
    {"PriorityWeightFairshare", &PriorityConf::fairshare},
    {"PriorityWeightJobSize", &PriorityConf::job_size},
    {"PriorityWeightPartition", &PriorityConf::partition},
    {"PriorityWeightQOS", &PriorityConf::qos},
    {"PriorityWeightTRES",
     [](PriorityConf& p, std::string_view text) -> Status {
       p.tres = TRY(parse_tres_weights(text));
       return {};
     }},
};

const Binding<ScriptConf> kScripts[] = {
    {"Epilog", &ScriptConf::epilog},
    {"EpilogSlurmctld", &ScriptConf::epilog_slurmctld},
    {"EpilogTimeout", &ScriptConf::epilog_timeout},
    {"Prolog", &ScriptConf::prolog},
    {"PrologEpilogTimeout",
     [](ScriptConf& s, std::string_view text) -> Status {
       s.prolog_timeout = s.epilog_timeout = TRY(parse_span(text, ValueKind::Seconds));
       return {};
     }},
    {"PrologFlags", &ScriptConf::prolog_flags},
    {"PrologSlurmctld", &ScriptConf::prolog_slurmctld},
    {"PrologTimeout", &ScriptConf::prolog_timeout},
    {"RebootProgram", &ScriptConf::reboot_program},
    {"SrunEpilog", &ScriptConf::srun_epilog},
    {"SrunProlog", &ScriptConf::srun_prolog},
    {"TaskEpilog", &ScriptConf::task_epilog},
    {"TaskProlog", &ScriptConf::task_prolog},
};

// A key's value goes into the first struct that has a place for it.
template <class T>
bool store_in(T& into, std::span<const Binding<T>> table, const ConfKey& key,
              std::string_view value, Status& status) {
  const Binding<T>* binding = find_binding(table, key.name);
  if (binding == nullptr) return false;
  status = store(into, *binding, key.kind, value);
  return true;
}

Status store_old_host(ConfDraft& draft, std::string_view key, std::string_view value) {
  if (key == "ControlMachine") draft.primary.name = std::string(value);
  if (key == "ControlAddr") draft.primary.addr = std::string(value);
  if (key == "BackupController") draft.backup.name = std::string(value);
  if (key == "BackupAddr") draft.backup.addr = std::string(value);
  return {};
}

Status store_global(ConfDraft& draft, const ConfKey& key, std::string_view value) {
  SlurmConf& conf = draft.out.value;
  Status status;
  if (store_in<SlurmConf>(conf, kConf, key, value, status)) return status;
  if (store_in<Timers>(conf.timers, kTimers, key, value, status)) return status;
  if (store_in<PriorityConf>(conf.priority, kPriority, key, value, status)) return status;
  if (store_in<ScriptConf>(conf.scripts, kScripts, key, value, status)) return status;
  if (key.kind == ValueKind::Megabytes) return store_memory(conf.memory, key.name, value);
  return store_old_host(draft, key.name, value);
}

bool may_repeat(std::string_view key) {
  for (std::string_view name :
       {"SlurmctldHost", "Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld", "PowerAction"})
    if (key == name) return true;
  return false;
}

// Options inside a value that Phalanx does not act upon, all in one warning.
void warn_of_options(std::vector<Diagnostic>& to, const ConfKey& key, const ConfPair& pair) {
  if (key.name != "SchedulerParameters" && key.name != "SlurmctldParameters" &&
      key.name != "SlurmdParameters")
    return;
  Words ignored;
  for (const ConfOption& o : split_options(pair.value))
    if (parameter_handling(key.name, o.name) == KeyHandling::NotYet) ignored.push_back(o.name);
  if (!ignored.empty())
    warn(to, pair.at, format("{}: Phalanx does not act upon {}", key.name, join(ignored, ", ")));
}

void warn_of_values(std::vector<Diagnostic>& to, const ConfKey& key, const ConfPair& pair) {
  warn_of_options(to, key, pair);
  if (key.name == "SelectType" &&
      (iequals(pair.value, "select/cons_res") || iequals(pair.value, "select/cray_aries")))
    warn(to, pair.at, format("SelectType={} is treated as select/cons_tres", pair.value));
}

void read_global(ConfDraft& draft, const ConfPair& pair) {
  std::vector<Diagnostic>& to = draft.out.diagnostics;
  const ConfKey* key = find_key(ConfSection::Global, pair.key);
  if (key != nullptr) {
    draft.out.value.raw.push_back({std::string(canonical(*key)), pair.value, pair.at});
    if (!draft.seen.insert(std::string(canonical(*key))).second && !may_repeat(key->name))
      warn(to, pair.at, format("{} is given more than once; the last one holds", key->name));
  }
  key = accept(to, ConfSection::Global, pair);
  if (key == nullptr) return;
  if (const Status status = store_global(draft, *key, pair.value); !status)
    bad_value(to, pair, status.error().message);
  else
    warn_of_values(to, *key, pair);
}

void read_record(ConfDraft& draft, const ConfRecord& record) {
  for (std::size_t i = 0; i < record.pairs.size(); ++i) {
    const std::optional<ConfSection> section = section_opened_by(record.pairs[i].key);
    if (!section) {
      read_global(draft, record.pairs[i]);
      if (iequals(record.pairs[i].key, "PowerAction")) return;  // what follows describes it
      continue;
    }
    const ConfRecord rest{
        {std::next(record.pairs.begin(), static_cast<std::ptrdiff_t>(i)), record.pairs.end()}};
    switch (*section) {
      case ConfSection::Node:
        return read_node(draft, rest);
      case ConfSection::Partition:
        return read_partition(draft, rest);
      case ConfSection::NodeSet:
        return read_node_set(draft, rest);
      case ConfSection::DownNodes:
        return read_down_nodes(draft, rest);
      default:  // front ends: nothing is read, everything is checked
        for (const ConfPair& pair : rest.pairs)
          accept(draft.out.diagnostics, ConfSection::Frontend, pair);
        return;
    }
  }
}

// ControlMachine and its kin are used only where no SlurmctldHost is given.
void join_old_hosts(ConfDraft& draft) {
  std::vector<ControllerHost>& hosts = draft.out.value.controllers;
  if (!hosts.empty()) return;
  for (ControllerHost host : {draft.primary, draft.backup}) {
    if (host.name.empty()) continue;
    if (host.addr.empty()) host.addr = host.name;
    hosts.push_back(std::move(host));
  }
}

void warn_of_backups(ConfDraft& draft) {
  const SlurmConf& conf = draft.out.value;
  for (std::size_t i = 1; i < conf.controllers.size(); ++i) {
    Position at;
    for (const ConfPair& pair : conf.raw)
      if (pair.key == "SlurmctldHost" || pair.key == "BackupController") at = pair.at;
    warn(draft.out.diagnostics, at,
         format("there are no backup controllers; {} is not used", conf.controllers[i].name));
  }
}

void check_globals(ConfDraft& draft, const std::string& file) {
  SlurmConf& conf = draft.out.value;
  const Position at{file, 0, 0};
  const auto given = [&](const char* key) { return draft.seen.contains(key); };
  if (conf.cluster_name.empty() && !given("ClusterName"))
    draft.out.error(at, "no ClusterName is given; add a line such as ClusterName=mycluster");
  if (conf.controllers.empty() && !given("SlurmctldHost"))
    draft.out.error(at, "no SlurmctldHost is given; add a line such as SlurmctldHost=head01");
  if (conf.first_job_id < 1 || conf.first_job_id > conf.max_job_id || conf.max_job_id > 0x3ff'ffff)
    draft.out.error(
        at, "FirstJobId must be at least 1 and at most MaxJobId, which is at most 67108863");
  if (conf.max_array_size > kMaxArraySize)
    draft.out.error(at, format("MaxArraySize is at most {}", kMaxArraySize));
  warn_of_backups(draft);
  if (conf.whole_nodes) conf.select.unit = SelectUnit::Node;
  if (conf.whole_nodes && !given("SelectTypeParameters")) conf.select.memory = false;
}

}  // namespace

const ConfKey* accept(std::vector<Diagnostic>& to, ConfSection section, const ConfPair& pair) {
  const ConfKey* key = find_key(section, pair.key);
  if (key == nullptr) {
    to.push_back({Diagnostic::Severity::Error, pair.at, unknown_key_message(section, pair.key)});
    return nullptr;
  }
  const std::string note = key->note.empty() ? "" : format("; {}", key->note);
  if (!key->same_as.empty()) key = find_key(section, key->same_as);
  switch (key->handling) {
    case KeyHandling::Kept:
      return pair.value.empty() ? nullptr : key;
    case KeyHandling::NotYet:
      if (!asks_for_nothing(section, key->name, pair.value))
        warn(to, pair.at, format("Phalanx does not act upon {}{}", key->name, note));
      return pair.value.empty() ? nullptr : key;
    case KeyHandling::Removed:
      warn(to, pair.at,
           format("{} was removed in Slurm {} and has no effect{}", key->name, key->removed, note));
      return nullptr;
    case KeyHandling::Acted:
      break;
  }
  if (!pair.value.empty() || key->name == "Nodes") return key;
  for (std::string_view required : {"ClusterName", "SlurmctldHost", "NodeName", "PartitionName",
                                    "NodeSet", "DownNodes", "SwitchName", "BlockName", "Name"})
    if (key->name == required) {
      to.push_back(
          {Diagnostic::Severity::Error, pair.at, format("{} has no value; give one", pair.key)});
      return nullptr;
    }
  warn(to, pair.at, format("{} has no value; its default holds", pair.key));
  return nullptr;
}

void bad_value(std::vector<Diagnostic>& to, const ConfPair& pair, std::string_view why) {
  to.push_back({Diagnostic::Severity::Error, pair.at,
                format("{}={}: {}", pair.key, pair.value.substr(0, 80), why)});
}

void warn(std::vector<Diagnostic>& to, Position at, std::string message) {
  to.push_back({Diagnostic::Severity::Warning, std::move(at), std::move(message)});
}

// The same warning for many lines is told once, for the first.
void fold(std::vector<Diagnostic>& diagnostics) {
  std::map<std::pair<std::string, std::string>, std::pair<std::size_t, std::size_t>> first;
  std::vector<Diagnostic> out;
  for (Diagnostic& d : diagnostics) {
    if (d.severity == Diagnostic::Severity::Warning) {
      const auto [it, fresh] =
          first.try_emplace({d.at.file, d.message}, std::pair{out.size(), std::size_t{0}});
      if (!fresh) {
        ++it->second.second;
        continue;
      }
    }
    out.push_back(std::move(d));
  }
  for (const auto& [text, seen] : first)
    if (const auto& [index, more] = seen; more > 0)
      out[index].message += format(" (and so in {} more {})", more, more == 1 ? "place" : "places");
  diagnostics = std::move(out);
}

void finish_messages(std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& d : diagnostics) d.message = printable(d.message);
  fold(diagnostics);
}

Parsed<SlurmConf> read_conf(const ConfSource& source, const ReadFile& read) {
  ConfDraft draft;
  Parsed<std::vector<ConfRecord>> records = read_records(source, read);
  draft.out.diagnostics = std::move(records.diagnostics);
  for (const ConfRecord& record : records.value) read_record(draft, record);
  join_old_hosts(draft);
  check_globals(draft, source.path);
  resolve(draft);
  finish_messages(draft.out.diagnostics);
  return std::move(draft.out);
}

}  // namespace phalanx::slurm
