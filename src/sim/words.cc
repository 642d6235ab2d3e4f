#include "sim/words.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:ddZ";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool has_shape(std::string_view text) {
  return text.size() >= kShape.size() &&
         std::equal(kShape.begin(), kShape.end(), text.begin(),
                    [](char s, char c) { return s == 'd' ? is_digit(c) : s == c; });
}

int number(std::string_view text) { return static_cast<int>(parse_int(text).value_or(0)); }

Time read(std::string_view t) {
  const std::chrono::year_month_day date{
      std::chrono::year(number(t.substr(0, 4))),
      std::chrono::month(static_cast<unsigned>(number(t.substr(5, 2)))),
      std::chrono::day(static_cast<unsigned>(number(t.substr(8, 2))))};
  const std::chrono::sys_days day(date);
  return Time(day.time_since_epoch()) + hours(number(t.substr(11, 2))) +
         minutes(number(t.substr(14, 2))) + seconds(number(t.substr(17, 2)));
}

}  // namespace

std::string relative_times(const std::string& text, Time zero) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    if (!has_shape(rest)) {
      out += text[at++];
      continue;
    }
    out += to_string(read(rest.substr(0, kShape.size())) - zero);
    at += kShape.size();
  }
  return out;
}

std::string name_jobs(const std::string& text, const std::map<JobNumber, std::string>& names) {
  const auto words = split(text, ' ');
  const auto name_of = [&](std::string_view word) -> std::optional<std::string> {
    const auto digits = static_cast<std::size_t>(
        std::find_if_not(word.begin(), word.end(), is_digit) - word.begin());
    const auto number = parse_int(word.substr(0, digits));
    const auto it = number ? names.find(static_cast<JobNumber>(*number)) : names.end();
    if (it == names.end()) return std::nullopt;
    return it->second + std::string(word.substr(digits));
  };
  std::string out;
  bool among_jobs = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool announces = words[i] == "job" || words[i] == "jobs";
    if (announces && i + 1 < words.size() && name_of(words[i + 1])) {
      among_jobs = true;
      continue;
    }
    const auto name = among_jobs ? name_of(words[i]) : std::nullopt;
    if (!name && words[i] != "and") among_jobs = false;
    if (i > 0 && !out.empty()) out += ' ';
    out += name ? *name : std::string(words[i]);
  }
  return out;
}

std::string pad(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace phalanx::sim
