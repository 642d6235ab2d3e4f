#include "dialect/slurm/query.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"

namespace phalanx::slurm {
namespace {

using Tool = Answer (*)(const View&, const Ask&);
constexpr std::pair<std::string_view, Tool> kTools[] = {
    {"squeue", squeue},   {"sinfo", sinfo}, {"scontrol", scontrol}, {"sacct", sacct},
    {"scancel", scancel}, {"why", why},     {"top", top},           {"ledger", ledger},
};

constexpr std::string_view kVariables[] = {
    "SQUEUE_FORMAT",    "SQUEUE_FORMAT2",    "SQUEUE_STATES",     "SQUEUE_SORT",
    "SQUEUE_PARTITION", "SQUEUE_USERS",      "SQUEUE_NAMES",      "SQUEUE_ARRAY",
    "SQUEUE_ACCOUNT",   "SINFO_FORMAT",      "SINFO_PARTITION",   "SACCT_FORMAT",
    "SCANCEL_USER",     "SCANCEL_PARTITION", "SLURM_TIME_FORMAT", "SLURM_CLUSTERS"};

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};

std::string_view month_name(const CivilTime& c) {
  return kMonths.at(static_cast<std::size_t>(c.month - 1));
}

std::string_view day_name(Time t, const Zone& zone) {
  const CivilTime c = to_civil(t, zone);
  const std::int64_t local = unix_seconds(from_civil({c.year, c.month, c.day}, Zone{}));
  return kDays.at(static_cast<std::size_t>(local / 86400 % 7));  // 1970 began on a Thursday
}

// One conversion of strftime; nothing for those that are not known here.
std::optional<std::string> moment_part(char symbol, Time t, const Zone& zone) {
  const CivilTime c = to_civil(t, zone);
  switch (symbol) {
    case 'Y':
      return std::to_string(c.year);
    case 'y':
      return format("{:02}", c.year % 100);
    case 'm':
      return format("{:02}", c.month);
    case 'd':
      return format("{:02}", c.day);
    case 'e':
      return format("{:2}", c.day);
    case 'b':
      return std::string(month_name(c));
    case 'a':
      return std::string(day_name(t, zone));
    case 'H':
      return format("{:02}", c.hour);
    case 'M':
      return format("{:02}", c.minute);
    case 'S':
      return format("{:02}", c.second);
    case 'T':
      return format("{:02}:{:02}:{:02}", c.hour, c.minute, c.second);
    case 'R':
      return format("{:02}:{:02}", c.hour, c.minute);
    case 'F':
      return format("{}-{:02}-{:02}", c.year, c.month, c.day);
    case 'D':
      return format("{:02}/{:02}/{:02}", c.month, c.day, c.year % 100);
    case 's':
      return std::to_string(unix_seconds(t));
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

}  // namespace

Answer answer(const View& view, const Ask& ask) {
  for (const auto& [name, run] : kTools)
    if (name == ask.tool) return run(view, ask);
  return {failed("phalanx", format("there is no command {}", printable(ask.tool))), {}, {}};
}

std::span<const std::string_view> variables_of_interest() { return kVariables; }

std::string Moments::print(Time t, std::string_view unknown) const {
  if (t == Time{} || t == kNever) return std::string(unknown);
  if (style.empty()) return print_moment(t, zone);
  std::string out;
  for (std::size_t i = 0; i < style.size(); ++i) {
    const auto part =
        style[i] == '%' && i + 1 < style.size() ? moment_part(style[i + 1], t, zone) : std::nullopt;
    if (part) {
      out += *part;
      ++i;
    } else {
      out += style[i];
    }
  }
  return out;
}

Moments moments_of(const Ask& ask) {
  const std::string style = environment_of(ask, "SLURM_TIME_FORMAT");
  return {ask.zone, style.find('%') == std::string::npos ? "" : style};
}

std::string waiting_for(const JobRow& row, const Moments& moments) {
  const Reason reason = row.why();
  const std::string other = other_name(row.view().state, reason.other, row.spec());
  // The sentence ends in the date where there is something to say of it, in UTC.
  Reason undated = reason;
  undated.earliest.reset();
  std::string text = sentence(undated, other);
  if (!reason.earliest || *reason.earliest == kNever || text == sentence(reason, other))
    return text;
  return format("{}; expected to start at {}", text, moments.print(*reason.earliest, "some time"));
}

std::string date_line(Time t, const Zone& zone) {
  const CivilTime c = to_civil(t, zone);
  return format("{} {} {:2} {:02}:{:02}:{:02} {}\n", day_name(t, zone), month_name(c), c.day,
                c.hour, c.minute, c.second, c.year);
}

std::vector<std::string> parse_states(const std::vector<std::string>& words, std::string& bad) {
  std::vector<std::string> states;
  for (const std::string& word : words) {
    if (iequals(word, "all")) {
      for (const StateName& state : job_state_names()) states.emplace_back(state.name);
      continue;
    }
    const auto state = find_job_state(word);
    if (state)
      states.emplace_back(state->name);
    else if (bad.empty())
      bad = word;
  }
  return states;
}

bool is_in(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool lists_user(const std::vector<std::string>& users, const Identity& owner) {
  return is_in(users, owner.user) || is_in(users, std::to_string(owner.uid));
}

std::string environment_of(const Ask& ask, const std::string& variable) {
  const auto it = ask.environment.find(variable);
  return it == ask.environment.end() ? "" : it->second;
}

std::vector<std::string> list_or_environment(const Arguments& arguments, const Ask& ask,
                                             std::string_view option, const std::string& variable) {
  if (arguments.has(option)) return arguments.list(option);
  return split_list(environment_of(ask, variable));
}

std::string or_null(const std::string& text) { return text.empty() ? "(null)" : text; }

std::string record(const Show& show, std::string text) {
  if (!show.one_line) return text + "\n\n";
  for (std::size_t at = 0; (at = text.find("\n   ", at)) != std::string::npos;)
    text.replace(at, 4, " ");
  return text + "\n";
}

// --- without a controller
// -----------------------------------------------------------------------------------

namespace {

bool is_prefix(std::string_view word, std::string_view whole, std::size_t least) {
  return word.size() >= least && istarts_with(whole, word);
}

Said host_lists(std::string_view what, const std::vector<std::string>& lists,
                const std::string& default_hosts) {
  const std::string text = lists.empty() ? default_hosts : join(lists, ",");
  const auto names = expand_hosts(text);
  if (!names.ok()) return failed("scontrol", "Invalid hostlist: " + names.error().message);
  if (names->empty()) return {"", "scontrol: error: host list is empty\n", 0};
  if (what == "hostlist") return {fold_hosts(*names) + "\n", "", 0};
  if (what == "hostlistsorted") return {fold_hosts_sorted(*names) + "\n", "", 0};
  std::string out;
  for (const std::string& name : *names) out += name + "\n";
  return {out, "", 0};
}

}  // namespace

std::optional<Said> answer_offline(const std::string& tool, const std::vector<std::string>& args,
                                   const std::string& default_hosts) {
  std::vector<std::string> words;
  for (const std::string& arg : args) {
    if (is_prefix(arg, "--version", 4) || arg == "-V")
      return Said{std::string(kVersionLine), "", 0};
    if (!arg.starts_with('-')) words.push_back(arg);
  }
  if (tool != "scontrol" || words.empty()) return std::nullopt;
  if (is_prefix(words[0], "version", 3)) return Said{std::string(kVersionLine), "", 0};
  if (words.size() < 2 || !is_prefix(words[0], "show", 2)) return std::nullopt;
  std::string what = words[1];
  std::vector<std::string> lists(words.begin() + 2, words.end());
  if (const std::size_t equals = what.find('='); equals != std::string::npos) {
    if (equals + 1 < what.size()) lists.insert(lists.begin(), what.substr(equals + 1));
    what.resize(equals);
  }
  what = to_lower(what);
  if (what == "hostlist" || what == "hostlistsorted") return host_lists(what, lists, default_hosts);
  if (is_prefix(what, "hostnames", 5)) return host_lists("hostnames", lists, default_hosts);
  return std::nullopt;
}

}  // namespace phalanx::slurm
