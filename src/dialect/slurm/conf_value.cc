#include "dialect/slurm/conf_value.h"

#include <algorithm>
#include <array>
#include <limits>

#include "dialect/slurm/grammar.h"

namespace phalanx::slurm {
namespace {

constexpr std::int64_t kMaxSpan = 100LL * 366 * 86'400;  // a century, in seconds

bool unlimited(std::string_view s) {
  return iequals(s, "UNLIMITED") || iequals(s, "INFINITE") || s == "-1";
}

std::string quoted(std::string_view s) { return format("'{}'", s.substr(0, 80)); }

// 1, 1024, 1024²… for a suffix of K, M, G, T, P; nothing for another one.
std::optional<std::int64_t> binary_suffix(char c) {
  constexpr std::string_view letters = "KMGTP";
  const char upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  const std::size_t at = letters.find(upper);
  if (at == std::string_view::npos) return std::nullopt;
  return std::int64_t{1} << (10 * (at + 1));
}

// ".25", "-1.5", "2": in millionths.
std::optional<std::int64_t> parse_micro(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view part = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  if (whole.empty() && part.empty()) return std::nullopt;
  if (whole.size() > 9 || part.size() > 6) return std::nullopt;
  std::string digits = std::string(whole) + std::string(part) + std::string(6 - part.size(), '0');
  const auto n = parse_uint(digits);
  if (!n) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(*n) : static_cast<std::int64_t>(*n);
}

}  // namespace

Result<bool> parse_switch(std::string_view text) {
  for (std::string_view yes : {"YES", "TRUE", "1", "UP"})
    if (iequals(text, yes)) return true;
  for (std::string_view no : {"NO", "FALSE", "0", "DOWN"})
    if (iequals(text, no)) return false;
  return invalid(format("expected YES or NO, found {}", quoted(text)));
}

Result<std::int64_t> parse_number(std::string_view text) {
  const auto n = parse_int(text);
  if (!n || *n < 0) return invalid(format("expected a number, found {}", quoted(text)));
  return *n;
}

Result<std::optional<std::int64_t>> parse_limit(std::string_view text) {
  if (unlimited(text)) return std::optional<std::int64_t>{};
  return std::optional<std::int64_t>(TRY(parse_number(text)));
}

Result<std::int64_t> parse_megabytes(std::string_view text) {
  if (unlimited(text)) return std::int64_t{0};
  const auto n = parse_int(text);
  if (!n || *n < 0 || *n > std::numeric_limits<std::int64_t>::max() / (1 << 20))
    return invalid(format("expected a number of megabytes, found {}", quoted(text)));
  return *n;
}

Result<Duration> parse_span(std::string_view text, ValueKind kind) {
  if (unlimited(text)) return kForever;
  if (kind == ValueKind::TimeLimit) return parse_time(text);
  const std::int64_t unit = kind == ValueKind::Minutes ? 60 : 1;
  const auto n = parse_int(text);
  if (!n || *n < 0 || *n > kMaxSpan / unit)
    return invalid(format("expected a number of {}, found {}",
                          kind == ValueKind::Minutes ? "minutes" : "seconds", quoted(text)));
  return Duration(seconds(*n * unit));
}

Status store_memory(MemoryLimits& into, std::string_view key, std::string_view text) {
  const std::int64_t mb = TRY(parse_megabytes(text));
  if (key.starts_with("Def")) into.def_per_cpu_mb = into.def_per_gpu_mb = into.def_per_node_mb = {};
  if (key.starts_with("Max")) into.max_per_cpu_mb = into.max_per_node_mb = {};
  if (key == "DefMemPerCPU") into.def_per_cpu_mb = mb;
  if (key == "DefMemPerGPU") into.def_per_gpu_mb = mb;
  if (key == "DefMemPerNode") into.def_per_node_mb = mb;
  if (key == "MaxMemPerCPU") into.max_per_cpu_mb = mb;
  if (key == "MaxMemPerNode") into.max_per_node_mb = mb;
  return {};
}

Words parse_words(std::string_view text) {
  Words words;
  for (std::string_view part : split(text, ','))
    if (const std::string_view word = trim(part); !word.empty()) words.emplace_back(word);
  return words;
}

Result<Preemption> parse_preempt_mode(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, PreemptMode>, 4> modes = {{
      {"OFF", PreemptMode::Off},
      {"CANCEL", PreemptMode::Cancel},
      {"REQUEUE", PreemptMode::Requeue},
      {"SUSPEND", PreemptMode::Suspend},
  }};
  Preemption p;
  for (const std::string& word : parse_words(text)) {
    const auto mode =
        std::ranges::find_if(modes, [&](const auto& m) { return iequals(m.first, word); });
    if (mode != modes.end())
      p.mode = mode->second;
    else if (iequals(word, "GANG"))
      p.gang = true;
    else if (iequals(word, "WITHIN"))
      p.within = true;
    else
      return invalid(
          format("expected OFF, CANCEL, REQUEUE, SUSPEND, GANG or WITHIN, found {}", quoted(word)));
  }
  return p;
}

Result<Selection> parse_selection(std::string_view text) {
  struct Unit {
    std::string_view word;
    SelectUnit unit;
    bool memory;
  };
  constexpr Unit units[] = {
      {"CR_CPU", SelectUnit::Cpu, false},       {"CR_CPU_Memory", SelectUnit::Cpu, true},
      {"CR_Core", SelectUnit::Core, false},     {"CR_Core_Memory", SelectUnit::Core, true},
      {"CR_Socket", SelectUnit::Socket, false}, {"CR_Socket_Memory", SelectUnit::Socket, true},
      {"CR_Board", SelectUnit::Board, false},   {"CR_Board_Memory", SelectUnit::Board, true},
      {"CR_Memory", SelectUnit::Core, true},
  };
  constexpr std::pair<std::string_view, bool Selection::*> flags[] = {
      {"CR_ONE_TASK_PER_CORE", &Selection::one_task_per_core},
      {"CR_CORE_DEFAULT_DIST_BLOCK", &Selection::block_distribution},
      {"CR_LLN", &Selection::least_loaded_nodes},
      {"CR_Pack_Nodes", &Selection::pack_nodes},
  };
  // About sharing a GPU in one job, or about Cray: they change nothing here.
  constexpr std::string_view kept[] = {"ENFORCE_BINDING_GRES",
                                       "LL_SHARED_GRES",
                                       "MULTIPLE_SHARING_GRES_PJ",
                                       "ONE_TASK_PER_SHARING_GRES",
                                       "NHC_ABSOLUTELY_NO",
                                       "NHC_NO",
                                       "NHC_NO_STEPS",
                                       "OTHER_CONS_RES",
                                       "OTHER_CONS_TRES",
                                       "NONE"};
  Selection s;
  for (const std::string& word : parse_words(text)) {
    const auto named = [&](const auto& row) { return iequals(row.first, word); };
    const auto unit =
        std::ranges::find_if(units, [&](const Unit& u) { return iequals(u.word, word); });
    const auto flag = std::ranges::find_if(flags, named);
    if (unit != std::end(units)) {
      s.unit = unit->unit;
      s.memory = unit->memory;
    } else if (flag != std::end(flags)) {
      s.*(flag->second) = true;
    } else if (std::ranges::none_of(kept, [&](std::string_view k) { return iequals(k, word); })) {
      std::vector<std::string_view> known;
      for (const Unit& u : units) known.push_back(u.word);
      for (const auto& f : flags) known.push_back(f.first);
      const auto near = nearest(word, known);
      return invalid(format("{} is no such parameter; did you mean {}?", quoted(word),
                            near.value_or("CR_Core_Memory")));
    }
  }
  return s;
}

namespace {

Result<NodeGres> parse_one_gres(std::string_view text) {
  const std::string_view whole = text;
  // "(S:0-1)" names sockets; gres.conf's Cores say it better.
  text = text.substr(0, text.find('('));
  std::vector<std::string_view> parts = split(text, ':');
  NodeGres gres;
  gres.name = to_lower(parts.front());
  if (gres.name.empty())
    return invalid(format("expected name[:type]:count, found {}", quoted(whole)));
  parts.erase(parts.begin());
  if (!parts.empty())
    if (const auto count = parse_count(parts.back())) {
      gres.count = *count;
      parts.pop_back();
    }
  for (std::string_view part : parts) {
    if (iequals(part, "no_consume"))
      gres.no_consume = true;
    else if (gres.type.empty() && !part.empty())
      gres.type = std::string(part);
    else
      return invalid(format("expected name[:type]:count, found {}", quoted(whole)));
  }
  return gres;
}

}  // namespace

Result<std::vector<NodeGres>> parse_node_gres(std::string_view text) {
  std::vector<NodeGres> all;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    const std::string_view one = trim(text.substr(begin, i - begin));
    if (!one.empty() && !iequals(one, "(null)")) all.push_back(TRY(parse_one_gres(one)));
    begin = i + 1;
  }
  return all;
}

Result<std::vector<TresWeight>> parse_tres_weights(std::string_view text) {
  std::vector<TresWeight> weights;
  for (const ConfOption& option : split_options(text)) {
    std::string_view value = option.value;
    TresWeight w{.tres = to_lower(option.name)};
    if (!value.empty())
      if (const auto suffix = binary_suffix(value.back())) {
        const bool in_megabytes = w.tres == "mem" || w.tres.starts_with("bb/");
        w.per = in_megabytes ? *suffix >> 20 : *suffix;
        value.remove_suffix(1);
      }
    const auto micro = parse_micro(value);
    if (!micro || w.per == 0)
      return invalid(format("expected a weight for {} such as 1.0 or .25G, found {}",
                            quoted(option.name), quoted(option.value)));
    w.weight_micro = *micro;
    weights.push_back(std::move(w));
  }
  return weights;
}

}  // namespace phalanx::slurm
