#include "dialect/slurm/node_row.h"

#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/job_row.h"

namespace phalanx::slurm {
namespace {

const NodeUse kNothing;

// "62.50G", "375G", "500M": two decimals, rounded down, none if exact.
std::string rounded_mbytes(std::int64_t mb) {
  constexpr std::int64_t kGiB = 1024;
  if (mb < kGiB) return format("{}M", mb);
  std::string_view unit = "G";
  std::int64_t per = kGiB;
  if (mb >= kGiB * kGiB) {
    per *= kGiB;
    unit = "T";
  }
  if (mb % per == 0) return format("{}{}", mb / per, unit);
  return format("{}.{:02}{}", mb / per, mb % per * 100 / per, unit);
}

struct GresOfType {
  std::string type;
  std::vector<std::uint32_t> all, taken;
};

std::vector<GresOfType> by_type(const Node& node, const NodeUse& use) {
  std::vector<GresOfType> out;
  for (std::uint32_t i = 0; i < node.spec.devices.size(); ++i) {
    const std::string& type = node.spec.devices[i].type;
    auto it =
        std::find_if(out.begin(), out.end(), [&](const GresOfType& g) { return g.type == type; });
    if (it == out.end()) it = out.insert(out.end(), GresOfType{type, {}, {}});
    it->all.push_back(i);
    if (i < use.device_owner.size() && use.device_owner[i]) it->taken.push_back(i);
  }
  return out;
}

std::string gres_name(const std::string& type) {
  return type.empty() || type == "gpu" ? "gpu" : "gpu:" + type;
}

}  // namespace

NodeRow::NodeRow(const View& view, const Node& node) : view_(&view), node_(&node), use_(&kNothing) {
  if (const auto it = view.state.use.find(node.id); it != view.state.use.end()) use_ = &it->second;
}

NodeRow::Base NodeRow::base() const {
  if (node_->health == NodeHealth::absent || node_->health == NodeHealth::lost) return Base::down;
  if (use_->holders.empty()) return Base::idle;
  const bool leaving = std::all_of(use_->holders.begin(), use_->holders.end(), [&](WorkloadId id) {
    const Workload* w = find_workload(view_->state, id);
    return !w || w->phase == Phase::ended || w->phase == Phase::pending || w->stop_since != Time{};
  });
  if (leaving) return Base::completing;
  return cpus_taken() >= cpus() ? Base::allocated : Base::mixed;
}

bool NodeRow::silent() const {
  return node_->health == NodeHealth::suspected || base() == Base::down;
}

bool NodeRow::usable() const { return node_->health == NodeHealth::up && !node_->drained; }
bool NodeRow::busy() const { return !use_->holders.empty(); }

std::string NodeRow::state() const {
  // An operator's "down" is a drained node that is lost: nobody waits for a word from it.
  if (base() == Base::down) return node_->drained ? "down" : "down*";
  const std::string mark = silent() ? "*" : "";
  if (node_->drained) return (busy() ? "draining" : "drained") + mark;
  switch (base()) {
    case Base::completing:
      return "completing" + mark;
    case Base::allocated:
      return "allocated" + mark;
    case Base::mixed:
      return "mixed" + mark;
    default:
      return "idle" + mark;
  }
}

std::string NodeRow::compact() const {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {{"draining", "drng"},
                                                                      {"drained", "drain"},
                                                                      {"completing", "comp"},
                                                                      {"allocated", "alloc"},
                                                                      {"mixed", "mix"}};
  std::string long_name = state();
  for (const auto& [name, compact] : kShort)
    if (long_name.starts_with(name)) return std::string(compact) + long_name.substr(name.size());
  return long_name;
}

std::string NodeRow::flagged() const {
  std::string out;
  switch (base()) {
    case Base::down:
      out = "DOWN";
      break;
    case Base::idle:
      out = "IDLE";
      break;
    case Base::allocated:
      out = "ALLOCATED";
      break;
    case Base::mixed:
      out = "MIXED";
      break;
    case Base::completing:
      out = "IDLE+COMPLETING";
      break;
  }
  if (node_->drained && base() != Base::down) out += "+DRAIN";
  if (silent() && !(base() == Base::down && node_->drained)) out += "+NOT_RESPONDING";
  return out;
}

int NodeRow::rank() const {
  if (base() == Base::down) return 0;
  int rank = static_cast<int>(base()) * 10;
  if (silent()) rank += 100;
  if (node_->drained) rank += 200;
  return rank;
}

bool NodeRow::is(std::string_view name) const {
  std::string own = state();
  std::string short_own = compact();
  for (std::string* text : {&own, &short_own}) std::erase(*text, '*');
  const std::string word = to_lower(name);
  if (word == own || word == short_own) return true;
  if (word == "drain" || word == "drng") return node_->drained;
  if (word == "no_respond") return silent();
  if (word == "fail" || word == "maint" || word == "resv" || word == "reserved") return false;
  return word == "alloc" && own == "allocated";
}

std::int64_t NodeRow::cpus_taken() const { return std::min(use_->cpus.ceil(), cpus()); }
std::int64_t NodeRow::memory_mb() const { return node_->spec.memory >> 20; }
std::int64_t NodeRow::memory_taken_mb() const { return to_mbytes(use_->memory); }

std::int64_t NodeRow::gpus_taken() const {
  return std::count_if(use_->device_owner.begin(), use_->device_owner.end(),
                       [](WorkloadId id) { return static_cast<bool>(id); });
}

WorkloadId NodeRow::holder(DeviceIndex device) const {
  return device < use_->device_owner.size() ? use_->device_owner[device] : WorkloadId{};
}

std::string NodeRow::gres() const {
  std::string out;
  for (const GresOfType& g : by_type(*node_, *use_))
    out += format("{}{}:{}", out.empty() ? "" : ",", gres_name(g.type), g.all.size());
  return out;
}

std::string NodeRow::gres_used() const {
  std::string out;
  for (const GresOfType& g : by_type(*node_, *use_)) {
    const std::string indexes = g.taken.empty() ? "N/A" : print_array({fold_indexes(g.taken), 0});
    out += format("{}{}:{}(IDX:{})", out.empty() ? "" : ",", gres_name(g.type), g.taken.size(),
                  indexes);
  }
  return out;
}

const Heartbeat* NodeRow::vitals() const {
  if (!view_->vitals) return nullptr;
  const auto it = view_->vitals->find(node_->spec.name);
  return it == view_->vitals->end() ? nullptr : &it->second;
}

std::string NodeRow::load() const {
  const Heartbeat* v = vitals();
  return v ? format("{}.{:02}", v->load_milli / 1000, v->load_milli % 1000 / 10) : "N/A";
}

std::string NodeRow::free_mb() const {
  const Heartbeat* v = vitals();
  return v ? format("{}", v->free_memory >> 20) : "N/A";
}

bool NodeRow::emulated() const {
  return node_->spec.emulated || std::any_of(node_->spec.devices.begin(), node_->spec.devices.end(),
                                             [](const Device& device) { return device.emulated; });
}

std::string NodeRow::features() const { return join(node_->spec.features, ","); }
std::string NodeRow::reason() const { return printable(node_->reason); }

std::string configured_tres(std::int64_t cpus, std::int64_t memory_mb, std::int64_t nodes,
                            std::int64_t gpus) {
  std::string out = format("cpu={},mem={}", cpus, rounded_mbytes(memory_mb));
  if (nodes > 0) out += format(",node={}", nodes);
  out += format(",billing={}", cpus);
  if (gpus > 0) out += format(",gres/gpu={}", gpus);
  return out;
}

std::string partition_state(phalanx::PartitionState state) {
  switch (state) {
    case phalanx::PartitionState::up:
      return "up";
    case phalanx::PartitionState::down:
      return "down";
    case phalanx::PartitionState::drain:
      return "drain";
    case phalanx::PartitionState::inactive:
      return "inact";
  }
  return "";
}

}  // namespace phalanx::slurm
