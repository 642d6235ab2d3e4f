// Option words on their way from where they were written to the parser: the client reads them from
// the script, the environment and the command line, and sends them; the controller parses them
// again with the same code.
#pragma once

#include <boost/describe.hpp>
#include <string>

namespace phalanx::slurm {

// In ascending order of precedence.
enum class Origin { Script, Environment, CommandLine };
BOOST_DESCRIBE_ENUM(Origin, Script, Environment, CommandLine)

struct Token {
  std::string text;
  Origin origin = Origin::CommandLine;
  std::string source;  // the script's name or the variable's; empty for the command line
  int line = 0;        // from 1 in a script
  int column = 0;      // from 1, in bytes
  bool operator==(const Token&) const = default;
};
BOOST_DESCRIBE_STRUCT(Token, (), (text, origin, source, line, column))

}  // namespace phalanx::slurm
