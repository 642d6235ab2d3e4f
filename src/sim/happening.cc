// The sentences of the table `at`: one line each, words and meaning.
#include <boost/describe.hpp>

#include <algorithm>

#include "base/text.h"
#include "sim/scenario.h"
#include "sim/value.h"

namespace phalanx::sim {
namespace {

// What may follow the subject.
enum class More { nothing, duration, number, reason, state, while_down };

struct Sentence {
  std::string_view words;  // before the subject
  Verb verb;
  bool subject;
  More more;
};
constexpr Sentence kSentences[] = {
    {"lose node", Verb::lose_node, true, More::nothing},
    {"return node", Verb::return_node, true, More::nothing},
    {"cut link", Verb::cut_link, true, More::nothing},
    {"mend link", Verb::mend_link, true, More::nothing},
    {"slow link", Verb::slow_link, true, More::duration},
    {"restart agent", Verb::restart_agent, true, More::nothing},
    {"break gpu", Verb::break_gpu, true, More::number},
    {"mend gpu", Verb::mend_gpu, true, More::number},
    {"refuse prepare", Verb::refuse_prepare, true, More::nothing},
    {"hang prepare", Verb::hang_prepare, true, More::nothing},
    {"serve prepare", Verb::serve_prepare, true, More::nothing},
    {"drain", Verb::drain_node, true, More::reason},
    {"resume", Verb::resume_node, true, More::nothing},
    {"down", Verb::down_node, true, More::reason},
    {"kill controller", Verb::kill_controller, false, More::while_down},
    {"partition", Verb::set_partition, true, More::state},
    {"cancel", Verb::cancel, true, More::nothing},
    {"hold", Verb::hold, true, More::nothing},
    {"release", Verb::release, true, More::nothing},
    {"requeue", Verb::requeue, true, More::nothing},
    {"limit", Verb::set_limit, true, More::duration},
    {"prio", Verb::set_priority, true, More::number},
};

const Sentence* find_sentence(const std::vector<Cell>& row, std::size_t& used) {
  for (const Sentence& s : kSentences) {
    const auto words = split_blanks(s.words);
    if (row.size() < words.size() + 1) continue;
    const bool same = std::equal(words.begin(), words.end(), row.begin() + 1,
                                 [](std::string_view w, const Cell& c) { return w == c.text; });
    if (!same) continue;
    used = words.size() + 1;
    return &s;
  }
  return nullptr;
}

Error unknown(const std::vector<Cell>& row) {
  std::string said;
  for (std::size_t i = 1; i < std::min<std::size_t>(row.size(), 3); ++i)
    said += (said.empty() ? "" : " ") + row[i].text;
  std::vector<std::string_view> all;
  for (const Sentence& s : kSentences) all.push_back(s.words);
  const auto near = nearest(said, all);
  return invalid(format("nothing is called '{}'{}", said,
                        near ? format("; did you mean '{}'?", *near) : std::string()));
}

Status read_more(Happening& h, More more, const std::vector<std::string>& rest) {
  const std::string all = join(rest, " ");
  switch (more) {
    case More::nothing:
      return rest.empty() ? Status() : invalid(format("'{}' is too much here", all));
    case More::duration:
      h.duration = TRY(parse_duration(all));
      return {};
    case More::number:
      h.number = TRY(parse_count(all));
      return {};
    case More::reason:
      h.text = all.empty() ? "maintenance" : all;
      return {};
    case More::state:
      if (!boost::describe::enum_from_string(all.c_str(), h.state))
        return invalid(format("'{}' is no state of a partition: up, down, drain or inactive", all));
      return {};
    case More::while_down:
      if (rest.empty()) return {};
      if (rest.size() != 2 || rest[0] != "for")
        return invalid("write 'kill controller' or 'kill controller for 30s'");
      h.duration = TRY(parse_duration(rest[1]));
      return {};
  }
  return {};
}

}  // namespace

Result<Happening> parse_happening(const std::vector<Cell>& row) {
  Happening h;
  h.where = row.front().at;
  h.at = TRY(parse_duration(row.front().text));
  std::size_t used = 0;
  const Sentence* sentence = find_sentence(row, used);
  if (!sentence) return unknown(row);
  h.verb = sentence->verb;
  if (sentence->subject) {
    if (used >= row.size()) return invalid(format("'{}' of what?", sentence->words));
    h.subject = row[used++].text;
  }
  std::vector<std::string> rest;
  for (; used < row.size(); ++used) rest.push_back(row[used].text);
  if (rest.size() >= 2 && rest[rest.size() - 2] == "by") {
    h.by = rest.back();
    rest.resize(rest.size() - 2);
  }
  TRY(read_more(h, sentence->more, rest));
  return h;
}

}  // namespace phalanx::sim
