#include "dialect/slurm/conf_cgroup.h"

#include "dialect/slurm/conf_draft.h"
#include "dialect/slurm/conf_value.h"

namespace phalanx::slurm {
namespace {

template <Quantity CgroupConf::* Member>
Status set_percent(CgroupConf& conf, std::string_view text) {
  Result<Quantity> percent = Quantity::parse(text);
  if (!percent || percent.value() < Quantity())
    return invalid("expected a percentage such as 100 or 101.5");
  conf.*Member = percent.value();
  return {};
}

const Binding<CgroupConf> kCgroup[] = {
    {"AllowedRAMSpace", set_percent<&CgroupConf::allowed_ram_percent>},
    {"AllowedSwapSpace", set_percent<&CgroupConf::allowed_swap_percent>},
    {"ConstrainCores", &CgroupConf::constrain_cores},
    {"ConstrainDevices", &CgroupConf::constrain_devices},
    {"ConstrainRAMSpace", &CgroupConf::constrain_ram},
    {"ConstrainSwapSpace", &CgroupConf::constrain_swap},
    {"MaxRAMPercent", set_percent<&CgroupConf::max_ram_percent>},
    {"MaxSwapPercent", set_percent<&CgroupConf::max_swap_percent>},
    {"MinRAMSpace", &CgroupConf::min_ram_mb},
    {"SignalChildrenProcesses", &CgroupConf::signal_children},
};

}  // namespace

Parsed<CgroupConf> read_cgroup_conf(const ConfSource& source, const ReadFile& read) {
  Parsed<CgroupConf> out;
  Parsed<std::vector<ConfRecord>> records = read_records(source, read);
  out.diagnostics = std::move(records.diagnostics);
  for (const ConfRecord& record : records.value)
    for (const ConfPair& pair : record.pairs) {
      const ConfKey* key = accept(out.diagnostics, ConfSection::Cgroup, pair);
      if (key == nullptr) continue;
      const Binding<CgroupConf>* binding = find_binding<CgroupConf>(kCgroup, key->name);
      if (binding == nullptr) continue;
      if (const Status status = store(out.value, *binding, key->kind, pair.value); !status)
        bad_value(out.diagnostics, pair, status.error().message);
    }
  finish_messages(out.diagnostics);
  return out;
}

}  // namespace phalanx::slurm
