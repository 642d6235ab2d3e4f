#include "dialect/slurm/grammar.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool digit(char c) { return c >= '0' && c <= '9'; }
std::string quoted(std::string_view text) { return printable(text.substr(0, 60)); }

// The leading digits of `text`, taken off it; nothing if there are none or too many.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && digit(text[n])) ++n;
  const auto number = parse_uint(text.substr(0, n));
  text.remove_prefix(n);
  return number;
}

// Multiplies without overflow; nothing if the product does not fit in 62 bits.
std::optional<std::uint64_t> times(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kLimit = 1ULL << 62;
  if (b != 0 && a > kLimit / b) return std::nullopt;
  return a * b;
}

constexpr std::pair<std::string_view, int> kSignals[] = {
    {"HUP", 1},     {"INT", 2},   {"QUIT", 3},   {"ILL", 4},   {"TRAP", 5},  {"ABRT", 6},
    {"BUS", 7},     {"FPE", 8},   {"KILL", 9},   {"USR1", 10}, {"SEGV", 11}, {"USR2", 12},
    {"PIPE", 13},   {"ALRM", 14}, {"TERM", 15},  {"CHLD", 17}, {"CONT", 18}, {"STOP", 19},
    {"TSTP", 20},   {"TTIN", 21}, {"TTOU", 22},  {"URG", 23},  {"XCPU", 24}, {"XFSZ", 25},
    {"VTALRM", 26}, {"PROF", 27}, {"WINCH", 28}, {"IO", 29},   {"PWR", 30},  {"SYS", 31}};
constexpr int kMaxSignal = 64;

constexpr StateName kStates[] = {
    {"PENDING", "PD"},      {"RUNNING", "R"},    {"SUSPENDED", "S"},    {"COMPLETED", "CD"},
    {"CANCELLED", "CA"},    {"FAILED", "F"},     {"TIMEOUT", "TO"},     {"NODE_FAIL", "NF"},
    {"PREEMPTED", "PR"},    {"BOOT_FAIL", "BF"}, {"DEADLINE", "DL"},    {"OUT_OF_MEMORY", "OOM"},
    {"COMPLETING", "CG"},   {"STAGE_OUT", "SO"}, {"CONFIGURING", "CF"}, {"EXPEDITING", "EX"},
    {"RESIZING", "RS"},     {"REQUEUED", "RQ"},  {"REQUEUE_FED", "RF"}, {"REQUEUE_HOLD", "RH"},
    {"SPECIAL_EXIT", "SE"}, {"STOPPED", "ST"},   {"REVOKED", "RV"},     {"RESV_DEL_HOLD", "RD"},
    {"SIGNALING", "SI"}};

constexpr std::string_view kMailTypes[] = {
    "NONE",          "BEGIN",          "END",        "FAIL",       "REQUEUE",
    "ALL",           "INVALID_DEPEND", "STAGE_OUT",  "TIME_LIMIT", "TIME_LIMIT_90",
    "TIME_LIMIT_80", "TIME_LIMIT_50",  "ARRAY_TASKS"};

std::string without_slashes(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '/', '_');  // a name must not leave the directory (B164)
  return out == "." || out == ".." ? "_" : out;
}

// What one symbol stands for; nothing if it is not a symbol.
std::optional<std::string> pattern_symbol(char symbol, std::size_t width, const PatternValues& v) {
  const auto number = [&](std::uint64_t n) { return format("{:0{}}", n, width); };
  const std::uint64_t index = v.array_index ? *v.array_index : 4'294'967'294;
  switch (symbol) {
    case '%':
      return "%";
    case 'A':
      return number(v.array_job_id != 0 ? v.array_job_id : v.job_id);
    case 'a':
      return number(index);
    case 'b':
      return number(index % 10);
    case 'J':
      return v.step == "batch" ? number(v.job_id) : number(v.job_id) + "." + v.step;
    case 'j':
      return number(v.job_id);
    case 'N':
      return v.node_name;
    case 'n':
      return number(v.node_index);
    case 'r':
      return number(v.restarts);
    case 'S':
      return v.sluid;
    case 's':
      return v.step;
    case 't':
      return number(v.task);
    case 'u':
      return v.user;
    case 'x':
      return without_slashes(v.job_name);
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::int64_t> parse_mbytes(std::string_view text) {
  const Error bad = invalid(
      format("\"{}\" is not an amount of memory; write a whole number of K, M, G or T, as in 32G",
             quoted(text)));
  std::string_view rest = text;
  const auto number = take_number(rest);
  if (!number || rest.size() > 2) return bad;
  if (rest.size() == 2 && lower(rest[1]) != 'b') return bad;
  const char unit = rest.empty() ? 'm' : lower(rest[0]);
  std::optional<std::uint64_t> mbytes;
  if (unit == 'k') mbytes = *number / 1024 + (*number % 1024 != 0 ? 1 : 0);
  if (unit == 'm') mbytes = number;
  if (unit == 'g') mbytes = times(*number, 1024);
  if (unit == 't') mbytes = times(*number, 1024 * 1024);
  if (!mbytes || *mbytes > (1ULL << 40)) return bad;  // a million terabytes
  return static_cast<std::int64_t>(*mbytes);
}

std::string print_mbytes(std::int64_t mbytes) {
  constexpr std::string_view kUnits = "MGTP";
  std::size_t unit = 0;
  while (mbytes != 0 && mbytes % 1024 == 0 && unit + 2 < kUnits.size()) {
    mbytes /= 1024;
    ++unit;
  }
  return mbytes == 0 ? "0" : format("{}{}", mbytes, kUnits[unit]);
}

Result<std::uint64_t> parse_count(std::string_view text) {
  const Error bad = invalid(format(
      "\"{}\" is not a count; write a whole number, with k, m, g, t or p if large", quoted(text)));
  std::string_view rest = text;
  const auto number = take_number(rest);
  if (!number || *number > (1ULL << 62)) return bad;
  if (rest.empty()) return *number;
  const std::size_t power = std::string_view("kmgtp").find(lower(rest[0]));
  if (power == std::string_view::npos) return bad;
  const std::string_view tail = rest.substr(1);
  if (!tail.empty() && !iequals(tail, "b") && !iequals(tail, "ib")) return bad;
  std::optional<std::uint64_t> count = number;
  for (std::size_t i = 0; i <= power && count; ++i)
    count = times(*count, iequals(tail, "b") ? 1000 : 1024);
  if (!count) return bad;
  return *count;
}

Result<std::uint32_t> parse_positive(std::string_view text, std::string_view option) {
  const auto number = parse_uint(text);
  if (!number || *number == 0 || *number > 0x7fff'ffff)
    return invalid(format("Invalid numeric value \"{}\" for --{}; write a whole number from 1",
                          quoted(text), option));
  return static_cast<std::uint32_t>(*number);
}

Result<NodeCount> parse_nodes(std::string_view text) {
  const auto one = [](std::string_view part) -> std::optional<std::uint32_t> {
    std::string_view rest = part;
    auto number = take_number(rest);
    if (number && (rest == "k" || rest == "K"))
      number = times(*number, 1024);
    else if (!rest.empty())
      return std::nullopt;
    if (!number || *number == 0 || *number > 1'000'000) return std::nullopt;
    return static_cast<std::uint32_t>(*number);
  };
  const std::size_t dash = text.find('-');
  const auto min = one(text.substr(0, dash));
  const auto max = dash == std::string_view::npos ? min : one(text.substr(dash + 1));
  if (!min || !max)
    return invalid(format("\"{}\" is not a valid node count; write a number from 1, or min-max",
                          quoted(text)));
  if (*max < *min)
    return invalid(format("Maximum node count {} is less than minimum node count {}; write min-max",
                          *max, *min));
  return NodeCount{*min, *max};
}

std::string print_nodes(const NodeCount& nodes) {
  return nodes.min == nodes.max ? format("{}", nodes.min) : format("{}-{}", nodes.min, nodes.max);
}

Result<int> parse_signal_name(std::string_view text) {
  const Error bad = invalid(
      format("\"{}\" is not a signal; write a name such as USR1 or a number", quoted(text)));
  if (const auto number = parse_uint(text)) {
    if (*number < 1 || *number > kMaxSignal) return bad;
    return static_cast<int>(*number);
  }
  const std::string_view name = istarts_with(text, "SIG") ? text.substr(3) : text;
  for (const auto& [known, number] : kSignals)
    if (iequals(name, known)) return number;
  return bad;
}

std::string print_signal_name(int signal) {
  for (const auto& [name, number] : kSignals)
    if (number == signal) return std::string(name);
  return format("{}", signal);
}

Result<SignalSpec> parse_signal(std::string_view text) {
  SignalSpec spec;
  std::string_view rest = text;
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    for (const char c : rest.substr(0, colon)) {
      if (lower(c) != 'b' && lower(c) != 'r')
        return invalid(
            format("\"{}\" is not a signal request; write [R][B]:USR1@60", quoted(text)));
      (lower(c) == 'b' ? spec.batch_only : spec.reservation) = true;
    }
    rest.remove_prefix(colon + 1);
  }
  const std::size_t at = rest.find('@');
  spec.signal = TRY(parse_signal_name(rest.substr(0, at)));
  if (at == std::string_view::npos) return spec;
  const auto before = parse_uint(rest.substr(at + 1));
  if (!before || *before > 65'535)
    return invalid(format("\"{}\": the seconds after @ go from 0 to 65535", quoted(text)));
  spec.seconds = static_cast<std::uint32_t>(*before);
  return spec;
}

std::string print_signal(const SignalSpec& spec) {
  std::string out;
  if (spec.reservation) out += 'R';
  if (spec.batch_only) out += 'B';
  if (!out.empty()) out += ':';
  return out + format("{}@{}", print_signal_name(spec.signal), spec.seconds);
}

std::string print_exit_code(ExitCode exit) { return format("{}:{}", exit.code, exit.signal); }

std::string print_runs(std::span<const std::uint32_t> numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[i]) ++end;
    if (!out.empty()) out += ',';
    out += end - i > 1 ? format("{}(x{})", numbers[i], end - i) : format("{}", numbers[i]);
    i = end;
  }
  return out;
}

Result<std::vector<std::uint32_t>> parse_runs(std::string_view text, std::size_t limit) {
  std::vector<std::uint32_t> out;
  if (text.empty()) return out;
  for (const std::string_view part : split(text, ',')) {
    const Error bad =
        invalid(format("\"{}\" is not a list of counts such as 2(x3),1", quoted(part)));
    std::string_view rest = part;
    const auto number = take_number(rest);
    std::optional<std::uint64_t> repeat = 1;
    if (!rest.empty()) {
      if (!rest.starts_with("(x") || rest.back() != ')') return bad;
      repeat = parse_uint(rest.substr(2, rest.size() - 3));
    }
    if (!number || *number > std::numeric_limits<std::uint32_t>::max() || !repeat || *repeat == 0)
      return bad;
    if (*repeat > limit - out.size())
      return invalid(format("more than {} counts in one list", limit));
    out.insert(out.end(), *repeat, static_cast<std::uint32_t>(*number));
  }
  return out;
}

Result<std::vector<std::string>> parse_mail_types(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view part : split(text, ',')) {
    const auto known = std::find_if(std::begin(kMailTypes), std::end(kMailTypes),
                                    [&](std::string_view name) { return iequals(name, part); });
    if (known == std::end(kMailTypes))
      return invalid(format(
          "\"{}\" is not a mail type; write BEGIN, END, FAIL, REQUEUE, ALL or NONE", quoted(part)));
    if (*known == "NONE") return std::vector<std::string>();
    if (std::find(out.begin(), out.end(), *known) == out.end()) out.emplace_back(*known);
  }
  return out;
}

std::span<const StateName> job_state_names() { return kStates; }

std::optional<StateName> find_job_state(std::string_view text) {
  for (const StateName& state : kStates)
    if (iequals(text, state.name) || iequals(text, state.compact)) return state;
  return std::nullopt;
}

std::string expand_pattern(std::string_view pattern, const PatternValues& values) {
  constexpr std::size_t kMaxWidth = 10;
  std::string out;
  if (pattern.find('\\') != std::string_view::npos) {
    std::copy_if(pattern.begin(), pattern.end(), std::back_inserter(out),
                 [](char c) { return c != '\\'; });
    return out;
  }
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::size_t symbol = i + 1;
    std::size_t width = 0;
    while (symbol < pattern.size() && digit(pattern[symbol])) {
      width = std::min(width * 10 + static_cast<std::size_t>(pattern[symbol] - '0'), kMaxWidth);
      ++symbol;
    }
    std::optional<std::string> text;
    if (pattern[i] == '%' && symbol < pattern.size())
      text = pattern_symbol(pattern[symbol], std::max<std::size_t>(width, 1), values);
    if (text) {
      out += *text;
      i = symbol;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

}  // namespace phalanx::slurm
