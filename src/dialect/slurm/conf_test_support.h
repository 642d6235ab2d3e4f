// What the tests of the configuration readers share: diagnostics as text, and the files that they
// read.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/text.h"

namespace phalanx::slurm {

// "3:1: warning: …", one a line, the file left out.
inline std::string told(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (Diagnostic d : diagnostics) {
    if (!out.empty()) out += '\n';
    if (d.at.line != 0) out += format("{}:{}: ", d.at.line, d.at.column);
    d.at = {};
    out += to_string(d);
  }
  return out;
}

// A file of the fuzzer's corpus; some of them are whole configurations.
inline std::string corpus_file(const std::string& name) {
  std::ifstream in(std::string(PHALANX_SOURCE_DIR) + "/test/fuzz/conf/" + name, std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace phalanx::slurm
