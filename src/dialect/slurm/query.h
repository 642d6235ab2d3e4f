// The query tools, one function each, and what several of them share. Internal to dialect/slurm:
// the way in is answer() in view.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialect/slurm/arguments.h"
#include "dialect/slurm/columns.h"
#include "dialect/slurm/job_row.h"
#include "dialect/slurm/view.h"

namespace phalanx::slurm {

Answer squeue(const View& view, const Ask& ask);
Answer sinfo(const View& view, const Ask& ask);
Answer scontrol(const View& view, const Ask& ask);
Answer sacct(const View& view, const Ask& ask);
Answer scancel(const View& view, const Ask& ask);
Answer why(const View& view, const Ask& ask);
Answer top(const View& view, const Ask& ask);
Answer ledger(const View& view, const Ask& ask);

// How a tool prints moments: ISO local time, or as SLURM_TIME_FORMAT says ("%s", "%H:%M").
struct Moments {
  Zone zone;
  std::string style;  // empty: ISO
  // `unknown` where there is none.
  [[nodiscard]] std::string print(Time t, std::string_view unknown) const;
};
Moments moments_of(const Ask& ask);
// Why the row waits, in words, with the expected start as the asker reads times.
std::string waiting_for(const JobRow& row, const Moments& moments);
// "Mon Nov 30 08:06:16 2026", as -l puts it on top.
std::string date_line(Time t, const Zone& zone);

// "PENDING,R,all" as long names; `bad` gets the word that is no state.
std::vector<std::string> parse_states(const std::vector<std::string>& words, std::string& bad);
bool is_in(const std::vector<std::string>& list, std::string_view text);
// By name or by number.
bool lists_user(const std::vector<std::string>& users, const Identity& owner);
// Names of the environment's variable where the option is not given.
std::vector<std::string> list_or_environment(const Arguments& arguments, const Ask& ask,
                                             std::string_view option, const std::string& variable);
std::string environment_of(const Ask& ask, const std::string& variable);
std::string or_null(const std::string& text);  // "(null)" for the empty one

// One line of `layout`, cell by cell.
template <class Row, class Text>
std::string line_of(const Layout& layout, const Row& row, const Text& text) {
  std::string line = layout.prefix;
  for (const Column& column : layout.columns) line += cell(column, text(column, row));
  return line + "\n";
}

// scontrol's show (scontrol_show.cc, scontrol_nodes.cc); `what` is "job", `names` what follows it.
struct Show {
  const View& view;
  Moments moments;
  std::vector<std::string> names;
  bool one_line = false, details = false;
};
Said show_jobs(const Show& show);
Said show_steps(const Show& show);
Said show_nodes(const Show& show);
Said show_partitions(const Show& show);
Said show_config(const Show& show);
// A record of several lines as it is, or with -o on one.
std::string record(const Show& show, std::string text);
// scontrol's verbs that change something (scontrol_change.cc).
Answer change(const View& view, const std::vector<std::string>& words);

}  // namespace phalanx::slurm
