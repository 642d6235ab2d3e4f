// scontrol's verbs that change something: hold, release, requeue, update.
#include <algorithm>

#include "base/text.h"
#include "dialect/slurm/hostlist.h"
#include "dialect/slurm/query.h"

namespace phalanx::slurm {
namespace {

bool is(std::string_view word, std::string_view whole, std::size_t least) {
  return word.size() >= least && istarts_with(whole, word);
}

Said refused(const std::string& message) { return {"", message + "\n", 1}; }

// "why for job 5", as Slurm words it.
Said report(const Said& so_far, const std::vector<std::string>& subjects,
            std::span<const Reply> replies) {
  Said said = so_far;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (!replies[i].error) continue;
    const bool unknown = replies[i].error->code == Error::Code::NotFound;
    said.err += format("{} for {}\n",
                       unknown && subjects[i].starts_with("job") ? "Invalid job id specified"
                                                                 : replies[i].error->message,
                       subjects[i]);
    said.code = 1;
  }
  return said;
}

struct Changes {
  Answer answer;
  std::vector<std::string> subjects;

  void add(std::string subject, InputKind input) {
    answer.inputs.push_back(std::move(input));
    subjects.push_back(std::move(subject));
  }
  Answer done() {
    answer.finish = [all = subjects](const Said& said, std::span<const Reply> replies) {
      return report(said, all, replies);
    };
    return std::move(answer);
  }
};

// The jobs of "5 6_1,7" or "name=train"; an error is in `said`.
std::vector<std::pair<std::string, Target>> targets(const View& view,
                                                    std::span<const std::string> words,
                                                    Said& said) {
  std::vector<std::pair<std::string, Target>> out;
  for (const std::string& word : words) {
    if (istarts_with(word, "name=") || istarts_with(word, "jobname=")) {
      const std::string wanted = word.substr(word.find('=') + 1);
      for (const JobRow& row : job_rows(view, {}).rows)
        if (row.spec().name == wanted && row.spec().owner.uid == view.who.uid)
          out.emplace_back("job " + row.id(), to_target(*parse_job_name(row.id())));
      continue;
    }
    const std::size_t equals = word.find('=');
    for (const std::string& piece :
         split_list(equals == std::string::npos ? word : word.substr(equals + 1))) {
      const auto name = parse_job_name(piece);
      if (!name) {
        said = refused(format("Invalid job id specified for job {}", printable(piece)));
        return out;
      }
      out.emplace_back("job " + piece, to_target(*name));
    }
  }
  if (out.empty() && said.code == 0) said = refused("give at least one job");
  return out;
}

template <class Make>
Answer each_job(const View& view, std::span<const std::string> words, const Make& make) {
  Changes changes;
  for (auto& [subject, target] : targets(view, words, changes.answer.said))
    changes.add(subject, make(target));
  if (changes.answer.said.code != 0) return {changes.answer.said, {}, {}};
  return changes.done();
}

// Of what the target names, that which has left State: each with its own name, so that they are
// decided one by one.
std::vector<Requeue> gone_of(const View& view, const Target& target, bool hold) {
  std::vector<Requeue> out;
  PastFilter wanted;
  wanted.numbers = {target.number};
  wanted.from = view.now - view.state.config.timers.min_job_age;
  for (Workload& w : view.past(wanted)) {
    const bool named = target.indexes.empty() ||
                       std::ranges::find(target.indexes, w.array_index) != target.indexes.end();
    const bool of_array = w.array_number == target.number;
    if (view.state.workloads.contains(w.id) || !named) continue;
    if (!of_array && !target.indexes.empty()) continue;
    Target one;
    one.number = target.number;
    if (of_array) one.indexes = {w.array_index};
    out.push_back({one, hold, std::make_shared<const Workload>(std::move(w))});
  }
  return out;
}

Answer requeue(const View& view, std::span<const std::string> words, bool hold) {
  Changes changes;
  for (auto& [subject, target] : targets(view, words, changes.answer.said)) {
    std::vector<Requeue> gone = gone_of(view, target, hold);
    const bool all_gone = target.indexes.empty() ? !view.state.by_number.contains(target.number)
                                                 : gone.size() == target.indexes.size();
    if (gone.empty() || !all_gone) changes.add(subject, Requeue{target, hold, nullptr});
    for (Requeue& one : gone) changes.add(subject, std::move(one));
  }
  if (changes.answer.said.code != 0) return {changes.answer.said, {}, {}};
  return changes.done();
}

// --- update
// ----------------------------------------------------------------------------------------------

struct Assignment {
  std::string key, value;  // key in lower case
  char sign = 0;           // "TimeLimit+=30", "TimeLimit=+30"
};

Result<std::vector<Assignment>> assignments(std::span<const std::string> words) {
  std::vector<Assignment> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      // "update job 5 TimeLimit=…" and "update node n1 State=…"
      const bool entity = is(word, "jobid", 3) || is(word, "nodename", 4);
      if (!entity || i + 1 >= words.size())
        return invalid(format("Update of this parameter is not supported: {}\nRequest aborted",
                              printable(word)));
      out.push_back({is(word, "jobid", 3) ? "jobid" : "nodename", words[++i]});
      continue;
    }
    Assignment a{to_lower(word.substr(0, equals)), word.substr(equals + 1)};
    if (!a.key.empty() && (a.key.back() == '+' || a.key.back() == '-')) {
      a.sign = a.key.back();
      a.key.pop_back();
    } else if (a.value.starts_with('+') || (a.value.starts_with('-') && a.key != "nice")) {
      a.sign = a.value[0];
      a.value.erase(0, 1);
    }
    out.push_back(std::move(a));
  }
  return out;
}

Error unsupported(const Assignment& a) {
  return invalid(format("Update of this parameter is not supported: {}={}\nRequest aborted",
                        printable(a.key), printable(a.value)));
}

// The limit in force of what `target` names, for "+30".
std::optional<Duration> limit_now(const View& view, const std::string& job) {
  const auto name = parse_job_name(job);
  if (!name) return std::nullopt;
  std::vector<JobName> unknown;
  const JobRows rows = find_jobs(view, {*name}, false, unknown);
  if (rows.rows.empty()) return std::nullopt;
  return rows.rows.front().limit();
}

Result<Duration> new_limit(const View& view, const std::string& job, const Assignment& a) {
  const Duration amount = TRY(parse_time_limit(a.value));
  if (a.sign == 0) return amount;
  const auto now = limit_now(view, job);
  if (!now || *now == kForever) return amount;  // the core says what is wrong with the job
  return a.sign == '+' ? *now + amount : *now - amount;
}

Result<Update> job_update(const View& view, const std::string& job,
                          std::span<const Assignment> list) {
  Update update;
  for (const Assignment& a : list) {
    if (is(a.key, "timelimit", 5)) {
      update.limit = TRY(new_limit(view, job, a));
    } else if (is(a.key, "priority", 3)) {
      const auto n = parse_uint(a.value);
      if (!n || *n > 0xfffffffe) return invalid("Priority is a whole number from 0");
      update.priority = static_cast<std::int64_t>(*n);
    } else if (is(a.key, "nice", 4)) {
      const auto n = a.value.empty() ? std::optional<std::int64_t>(100) : parse_int(a.value);
      if (!n) return invalid("Nice is a whole number");
      update.nice = n;
    } else {
      return unsupported(a);
    }
  }
  return update;
}

Result<Drain> node_update(std::span<const Assignment> list) {
  Drain drain;
  bool state_given = false;
  for (const Assignment& a : list) {
    const std::string value = to_lower(a.value);
    if (is(a.key, "reason", 3)) {
      drain.reason = a.value;
    } else if (is(a.key, "state", 3)) {
      state_given = true;
      if (value == "resume" || value == "undrain" || value == "idle")
        drain.drain = false;
      else if (value == "down")
        drain.down = true;
      else if (value != "drain" && value != "fail")  // as in Slurm, what runs there goes on
        return invalid(
            format("Invalid input: State={}\nValid states are: DRAIN FAIL DOWN RESUME UNDRAIN",
                   printable(a.value)));
    } else {
      return unsupported(a);
    }
  }
  if (!state_given) return invalid("give State=DRAIN, RESUME, DOWN or UNDRAIN");
  return drain;
}

Answer update(const View& view, std::span<const std::string> words) {
  auto list = assignments(words);
  if (!list.ok()) return {refused(list.error().message), {}, {}};
  if (list->empty()) return {refused("give JobId=… or NodeName=… and what to change"), {}, {}};
  const Assignment subject = list->front();
  const std::span<const Assignment> rest(list->begin() + 1, list->end());
  Changes changes;
  if (is(subject.key, "jobid", 3)) {
    for (const std::string& job : split_list(subject.value)) {
      const auto name = parse_job_name(job);
      auto what = job_update(view, job, rest);
      if (!name || !what.ok())
        return {refused(name ? what.error().message : "Invalid job id specified for job " + job),
                {},
                {}};
      what->target = to_target(*name);
      changes.add("job " + job, *what);
    }
    return changes.done();
  }
  if (!is(subject.key, "nodename", 4)) return {refused(unsupported(subject).message), {}, {}};
  auto what = node_update(rest);
  const auto nodes = expand_hosts(subject.value);
  if (!what.ok() || !nodes.ok())
    return {refused((what.ok() ? nodes.error() : what.error()).message), {}, {}};
  for (const std::string& node : *nodes) {
    what->node = node;
    changes.add("node " + node, *what);
  }
  return changes.done();
}

}  // namespace

Answer change(const View& view, const std::vector<std::string>& words) {
  const std::string& verb = words[0];
  const std::span<const std::string> rest(words.begin() + 1, words.end());
  if (is(verb, "hold", 4) || is(verb, "uhold", 5))
    return each_job(view, rest, [](const Target& t) { return Hold{t, true}; });
  if (is(verb, "release", 3))
    return each_job(view, rest, [](const Target& t) { return Hold{t, false}; });
  if (verb.size() > 7 && is(verb, "requeuehold", 8)) {
    // "State=SpecialExit" may come before the jobs; it only marks them.
    const bool mark = !rest.empty() && istarts_with(rest[0], "state=");
    return requeue(view, mark ? rest.subspan(1) : rest, true);
  }
  if (is(verb, "requeue", 3)) return requeue(view, rest, false);
  if (is(verb, "update", 3)) return update(view, rest);
  for (const std::string_view later :
       {"suspend", "resume", "create", "delete", "reboot", "top", "write", "shutdown", "notify"})
    if (is(verb, later, 3))
      return {failed("scontrol", format("{} is not available yet", later)), {}, {}};
  return {{"", format("invalid keyword: {}\n", printable(verb)), 1}, {}, {}};
}

}  // namespace phalanx::slurm
