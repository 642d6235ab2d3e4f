#include "cluster/merge_node.h"

#include <algorithm>

#include "base/text.h"
#include "place/place.h"

namespace phalanx::cluster {
namespace {

constexpr std::string_view kEmulatedFeature = "emulated";

bool same_device(const Device& a, const Device& b) {
  if (!a.uuid.empty() || !b.uuid.empty()) return a.uuid == b.uuid;
  return a.minor == b.minor && iequals(a.type, b.type);
}

// The configuration names one device file (File=/dev/nvidia3), and this is another: the rest of the
// machine's GPUs may be somebody else's.
bool other_file(const Device& configured, const Device& reported) {
  return configured.minor >= 0 && reported.minor >= 0 && configured.minor != reported.minor;
}

// At most as many as configured, each under its configured type: the reported device of the same
// type if there is one, else the next that no configured type claims.
std::vector<Device> bounded(const std::vector<Device>& configured,
                            const std::vector<Device>& reported) {
  std::vector<std::string> type_of(reported.size());
  std::vector<bool> used(reported.size(), false);
  std::vector<const Device*> unmatched;
  for (const Device& c : configured) {
    bool found = false;
    for (std::size_t i = 0; i < reported.size() && !found; ++i) {
      if (used[i] || (!c.type.empty() && !iequals(c.type, reported[i].type))) continue;
      if (other_file(c, reported[i])) continue;
      used[i] = found = true;
      type_of[i] = c.type.empty() ? reported[i].type : c.type;
    }
    if (!found) unmatched.push_back(&c);
  }
  for (const Device* c : unmatched) {
    for (std::size_t i = 0; i < reported.size(); ++i) {
      if (used[i] || other_file(*c, reported[i])) continue;
      used[i] = true;
      type_of[i] = c->type;
      break;
    }
  }
  std::vector<Device> out;
  for (std::size_t i = 0; i < reported.size(); ++i) {
    if (!used[i]) continue;
    out.push_back(reported[i]);
    out.back().type = type_of[i];
  }
  return out;
}

// What is there in name only can be told from the real thing, and asked for or avoided: GPUs of a
// type that the configuration names look real otherwise.
void mark_emulated(NodeSpec& spec) {
  const bool some = spec.emulated || std::any_of(spec.devices.begin(), spec.devices.end(),
                                                 [](const Device& d) { return d.emulated; });
  const auto it = std::find(spec.features.begin(), spec.features.end(), kEmulatedFeature);
  if (some && it == spec.features.end()) spec.features.emplace_back(kEmulatedFeature);
}

}  // namespace

NodeSpec merged(const NodeSpec* configured, const NodeSpec& reported) {
  constexpr std::int64_t kMostCpus = 1'000'000;
  NodeSpec spec = reported;
  spec.cpus = std::clamp<std::int64_t>(reported.cpus, 0, kMostCpus);
  spec.memory = std::max<std::int64_t>(reported.memory, 0);
  if (spec.devices.size() > place::kMaxDevices) spec.devices.resize(place::kMaxDevices);
  mark_emulated(spec);
  if (!configured) return spec;
  const NodeSpec& c = *configured;
  spec.cpus = std::min(c.cpus, spec.cpus);
  if (c.memory > 0) spec.memory = std::min(c.memory, spec.memory);
  spec.devices = bounded(c.devices, spec.devices);
  spec.weight = c.weight;
  if (!c.features.empty()) spec.features = c.features;
  mark_emulated(spec);
  if (spec.address.empty()) spec.address = c.address;
  if (spec.agent_url.empty()) spec.agent_url = c.agent_url;
  return spec;
}

std::string shortfall(const NodeSpec* configured, const NodeSpec& reported) {
  if (!configured) return "";
  std::string text;
  const auto compare = [&](const char* what, std::int64_t has, std::int64_t wanted) {
    if (has < wanted) text += format("{}{} {}/{}", text.empty() ? "" : ", ", what, has, wanted);
  };
  compare("gpus", static_cast<std::int64_t>(reported.devices.size()),
          static_cast<std::int64_t>(configured->devices.size()));
  compare("cpus", reported.cpus, configured->cpus);
  constexpr std::int64_t kMib = std::int64_t{1} << 20;
  compare("MiB", reported.memory / kMib, configured->memory / kMib);
  return text;
}

std::vector<Device> same_devices(const std::vector<Device>& before,
                                 const std::vector<Device>& reported) {
  std::vector<Device> out = before;
  std::vector<bool> seen(before.size(), false);
  for (const Device& device : reported) {
    const auto it = std::find_if(before.begin(), before.end(),
                                 [&](const Device& b) { return same_device(b, device); });
    if (it == before.end()) {
      if (out.size() < place::kMaxDevices) out.push_back(device);
      continue;
    }
    const auto i = static_cast<std::size_t>(it - before.begin());
    seen[i] = true;
    out[i] = device;
    out[i].type = it->type;  // the name it is known by here
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] || out[i].health == DeviceHealth::failed) continue;
    out[i].health = DeviceHealth::failed;
    out[i].health_reason = "the agent does not find it any more";
  }
  return out;
}

}  // namespace phalanx::cluster
