// Every key that Slurm 22.05 to 26.05 documents for slurm.conf, gres.conf, cgroup.conf and
// topology.conf, and older ones that are still found in the field. The tables are the single place
// that says what Phalanx does with a key; the readers (conf.h, conf_gres.h, conf_cgroup.h,
// conf_topology.h), their warnings and the documentation all follow from them. A key that Slurm
// never had is an error, with a suggestion.
//
// Constant data, no ownership, thread-safe. Names are matched without regard to case.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace phalanx::slurm {

// Which record a key belongs to. In slurm.conf a record is opened by its first key: NodeName=…,
// NodeSet=….
enum class ConfSection {
  Global,
  Node,
  Partition,
  NodeSet,
  DownNodes,
  Frontend,
  Switch,
  Block,
  Gres,
  Cgroup
};

// The form of a value, so that one reader serves all keys of one kind.
enum class ValueKind {
  Text,       // one word or quoted text
  List,       // words separated by commas
  Path,       // file, folder or program
  Hosts,      // a host list: "n[1-4],x7"
  YesNo,      // YES or NO
  ZeroOne,    // 0 or 1; YES and NO are understood too
  Number,     // a count; UNLIMITED where Slurm allows it
  Seconds,    // a number of seconds, or UNLIMITED
  Minutes,    // a number of minutes, or UNLIMITED
  TimeLimit,  // "minutes", "h:m:s", "d-h", "d-h:m:s", UNLIMITED
  Megabytes,  // an amount of memory in MB
  Parameters  // "a=1,b,c=2": options inside a value
};

enum class KeyHandling {
  Acted,    // it changes the ClusterConfig that results, or is checked (conf_effect_test.cc)
  Kept,     // accepted silently: it has no meaning here, `note` says why
  NotYet,   // accepted with a warning, unless it asks for what happens anyway
  Removed,  // Slurm itself dropped it: accepted with a warning, `note` says what took its place
};

struct ConfKey {
  std::string_view name;
  ValueKind kind = ValueKind::Text;
  KeyHandling handling = KeyHandling::NotYet;
  std::string_view note{};
  std::string_view since{};    // first Slurm version, where later than 22.05
  std::string_view removed{};  // first Slurm version without it
  std::string_view same_as{};  // an old or second spelling: the key that it stands for
};

std::span<const ConfKey> conf_keys(ConfSection section);
std::string_view section_title(ConfSection section);  // "NodeName line", "gres.conf"

// The key of that name in the section, or null. The entry of a second spelling is returned as it
// is.
const ConfKey* find_key(ConfSection section, std::string_view name);
// The name that a second spelling stands for; otherwise the name as the table writes it.
std::string_view canonical(const ConfKey& key);
// The section that a record's first key opens: NodeName, PartitionName, NodeSet, DownNodes,
// FrontendName.
std::optional<ConfSection> section_opened_by(std::string_view name);

// "KillWiat is not a key of slurm.conf; did you mean KillWait?", or where the key would belong.
std::string unknown_key_message(ConfSection section, std::string_view name);

// The value asks for what happens here anyway, as PreemptType=preempt/none does: no warning.
bool asks_for_nothing(ConfSection section, std::string_view key, std::string_view value);

// Options inside SchedulerParameters, SlurmctldParameters and SlurmdParameters, by the name before
// '='.
KeyHandling parameter_handling(std::string_view key, std::string_view option);

// The tables, one function a file.
std::span<const ConfKey> global_keys();
std::span<const ConfKey> node_keys();
std::span<const ConfKey> partition_keys();

}  // namespace phalanx::slurm
