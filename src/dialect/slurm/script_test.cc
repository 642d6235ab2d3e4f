#include "dialect/slurm/script.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

// The words of all components, " / " between components.
std::string words(std::string_view text) {
  std::string out;
  const auto script = read_script(text, "job.sh");
  for (const auto& component : script.value.components) {
    if (&component != &script.value.components.front()) out += " /";
    for (const Token& token : component) out += (out.empty() ? "" : " ") + token.text;
  }
  return out;
}
std::string directive(std::string_view line) {
  return words(format("#!/bin/bash\n#SBATCH {}\n", line));
}

std::string first_message(std::string_view text) {
  const auto script = read_script(text, "job.sh");
  return script.diagnostics.empty() ? "" : to_string(script.diagnostics.front());
}

TEST(Script, RefusesInSlurmsOrder) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "Batch script is empty!"},
      {" \n\t\r\n", "Batch script contains only whitespace!"},
      {"# licence\n#!/bin/bash\n", "This does not look like a batch script"},  // S016, S033
      {"#SBATCH -N1\n", "This does not look like a batch script"},             // S080
      {"z#!/bin/bash\n", "This does not look like a batch script"},            // S081
      {"sbatch() {\n cat <<EOF\n#SBATCH -N1\nEOF\n}\r\n",
       "This does not look like a batch script"},  // S050
      {std::string("#!/bin/sh\r\n\0", 12), "NUL byte"},
      {"#!/bin/sh\r\n", "Batch script contains DOS line breaks (\\r\\n)"},  // slurm 1.4.20
      {"\xef\xbb\xbf#!/bin/sh\n", "byte order mark"},
  };
  for (const auto& [text, message] : cases) {
    const auto script = read_script(text, "job.sh");
    ASSERT_NE(script.first_error(), nullptr) << text;
    EXPECT_NE(script.first_error()->message.find(message), std::string::npos)
        << script.first_error()->message;
    EXPECT_TRUE(script.value.components.at(0).empty());
  }
}

TEST(Script, ReadsDirectivesUpToTheFirstCommand) {
  EXPECT_EQ(words("#!/bin/bash\n\n# about\n#SBATCH -N2\n\n##SBATCH -n9\n#SBATCH -n4\nsrun "
                  "x\n#SBATCH -t1\n"),
            "-N2 -n4");  // S010, B038, S051
  EXPECT_EQ(words("#!/bin/bash\n#SBATCH--time=5\n"), "--time=5");
  EXPECT_EQ(words("#!/bin/bash\n#!/bin/zsh\n#$ -N x\n#SBATCH -N1"), "-N1");  // S122, S125, S039
  const auto script = read_script("#!/bin/sh\n#SBATCH -N1  -n2\ntrue\n", "job.sh");
  EXPECT_EQ(script.value.first_command_line, 3);
  EXPECT_EQ(script.value.components[0][1], (Token{"-n2", Origin::Script, "job.sh", 2, 14}));
}

TEST(Script, SplitsADirectiveIntoWords) {
  const std::pair<const char*, const char*> cases[] = {
      {"--nodes=2 # it's here", "--nodes=2"},                  // S001
      {"-J getMax \t\t##set job name", "-J getMax"},           // S047
      {"-J \"transformer-xl_pyt\"", "-J transformer-xl_pyt"},  // S017
      {"--gres='gpu:4'", "--gres=gpu:4"},                      // S131
      {"--job-name=\"Big simulation\"", "--job-name=Big simulation"},
      {"--job-name=\xe2\x80\x9dtest\xe2\x80\x9d\t\t",
       "--job-name=\xe2\x80\x9dtest\xe2\x80\x9d"},  // S075
      {"--comment=a\\ b", "--comment=a b"},
      {"--output=C:\\logs\\x", "--output=C:logsx"},  // S112
      {"-N1 \\", "-N1"},                             // S078
      {"-C gpu&hbm80g", "-C gpu&hbm80g"},            // S123
      {"--image=a#b", "--image=a"},
      {"--comment='a # b'", "--comment=a # b"},
      {"--comment=''", "--comment="},
      {"-N 1   -n  2", "-N 1 -n 2"},
      {"\xe2\x80\x93-nodes=1", "\xe2\x80\x93-nodes=1"},  // S073
  };
  for (const auto& [line, expected] : cases) EXPECT_EQ(directive(line), expected) << line;
}

TEST(Script, SeparatesComponents) {
  EXPECT_EQ(words("#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob -n9\n#SBATCH -n2\n#SBATCH "
                  "PackJob\n#SBATCH -n3\n"),
            "-n1 / -n2 / -n3");
}

TEST(Script, RefusesBadQuotesAndColons) {
  EXPECT_EQ(first_message("#!/bin/sh\n#SBATCH --comment=\"open\n"),
            "job.sh:2:19: error: Unmatched \" in a directive; close the quote");
  EXPECT_FALSE(read_script("#!/bin/sh\n#SBATCH : -N1\n", "job.sh").ok());
}

TEST(Script, WarnsOfWhatAUserWouldMiss) {
  const std::pair<const char*, const char*> cases[] = {
      {"# SBATCH --time=1", "has a blank after the #"},
      {"  #SBATCH --time=1", "is indented"},
      {"#SBTACH --time=1", "is misspelt"},
      {"#sbatch --time=1", "is misspelt"},
      {"#SLURM -N1", "old spelling"},
      {"#PBS -l nodes=1", "1 directive of another scheduler is not used"},
      {"#SBATCH --image=a#b", "'#' inside a word"},
      {"#SBATCH --nodes=$N", "'$' is not expanded"},
      {"srun x\n#SBATCH -N1\n#SBATCH -N2",
       "2 #SBATCH lines after the first command (line 2) are not used"},  // S140
  };
  for (const auto& [line, message] : cases) {
    const auto script = read_script(format("#!/bin/sh\n{}\n", line), "job.sh");
    EXPECT_TRUE(script.ok()) << line;
    ASSERT_EQ(script.diagnostics.size(), 1u) << line;
    EXPECT_NE(script.diagnostics[0].message.find(message), std::string::npos)
        << script.diagnostics[0].message;
  }
  for (const char* line :
       {"##SBATCH --time=1", "### -c, --cpus-per-task" /* S057 */,
        "# about sbatch - see the manual", "# BATCH size 7", "#SBATCH -N1", "# --nodes=1"})
    EXPECT_EQ(first_message(format("#!/bin/sh\n{}\n", line)), "") << line;
}

}  // namespace
}  // namespace phalanx::slurm
