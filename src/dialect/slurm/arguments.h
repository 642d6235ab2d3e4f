// Options of the query tools, read as getopt_long does: unique prefixes of long names, glued and
// separate values, options and other words in any order, "--" ends the options. Internal to
// dialect/slurm; sbatch, srun and salloc have options.h.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/slurm/view.h"

namespace phalanx::slurm {

struct Flag {
  std::string_view name;
  char letter = 0;  // 0: none
  enum class Value { none, required, optional } value = Value::none;
  // What Phalanx does with it: acts, ignores it (it could change nothing here), or cannot do it.
  enum class Handling { acted, ignored, refused } handling = Handling::acted;
};

struct Arguments {
  std::map<std::string, std::vector<std::string>, std::less<>> given;  // by long name, in order
  std::vector<std::string> words;
  Said error;  // code 0: none

  [[nodiscard]] bool has(std::string_view name) const { return given.contains(name); }
  [[nodiscard]] std::size_t count(std::string_view name) const;
  // The last one counts.
  [[nodiscard]] std::string value(std::string_view name, std::string_view otherwise = {}) const;
  // All values of a repeatable list option, split at commas; empty pieces are dropped.
  [[nodiscard]] std::vector<std::string> list(std::string_view name) const;
};

// Where `cluster` is named, --clusters, or without it `clusters` (SLURM_CLUSTERS), may name no
// other: a command meant for another cluster's job must not reach this one's.
Arguments read_arguments(std::string_view tool, std::span<const Flag> flags,
                         std::span<const std::string> args, std::string_view cluster = {},
                         const std::string& clusters = {});

// "squeue: error: …", exit code 1.
Said failed(std::string_view tool, std::string_view message);
// Pieces between commas that are not inside brackets: "1,5_[1-3,7]" has two.
std::vector<std::string> split_list(std::string_view text);

}  // namespace phalanx::slurm
