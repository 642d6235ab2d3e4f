// The common form of Slurm's configuration files: text and its includes to records of key=value
// pairs.
//
// A record is one logical line. '#' begins a comment (not inside quotes, not after '\'); a line
// that ends in
// '\' goes on in the next; blanks around '=' are allowed; a value with blanks stands in double
// quotes. `include FILE` is replaced by the records of that file: a relative name is looked for
// beside the file that the caller opened first, and %c stands for the cluster name. Files are read
// by the caller's function, so this is pure. Total: any bytes give records and diagnostics.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/result.h"

namespace phalanx::slurm {

struct ConfPair {
  std::string key;    // as written
  std::string value;  // without quotes; may be empty
  Position at;        // of the key
};

struct ConfRecord {
  std::vector<ConfPair> pairs;  // at least one
};

// The text of the file with that name, or why it cannot be had.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

struct ConfSource {
  std::string path;  // "/etc/slurm/slurm.conf": for positions and for relative includes
  std::string text;
};

// Without `read`, an include is an error.
Parsed<std::vector<ConfRecord>> read_records(const ConfSource& source, const ReadFile& read = {});

// "a=1,b,c=2": the options of a value, in order; the part after '=' may be empty.
struct ConfOption {
  std::string name, value;
  auto operator<=>(const ConfOption&) const = default;
};
std::vector<ConfOption> split_options(std::string_view value);

}  // namespace phalanx::slurm
