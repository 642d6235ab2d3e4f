#include "dialect/slurm/conf_lines.h"

#include <gtest/gtest.h>

#include <map>

#include "base/text.h"

namespace phalanx::slurm {
namespace {

// "key=value key=value | key=value": one record after the other.
std::string shown(const Parsed<std::vector<ConfRecord>>& parsed) {
  std::string out;
  for (const ConfRecord& record : parsed.value) {
    if (!out.empty()) out += " | ";
    std::string line;
    for (const ConfPair& p : record.pairs)
      line += format("{}{}=[{}]", line.empty() ? "" : " ", p.key, p.value);
    out += line;
  }
  for (const Diagnostic& d : parsed.diagnostics) out += " ! " + to_string(d);
  return out;
}

struct Case {
  const char* text;
  const char* records;
};

TEST(ConfLines, ReadsTheForms) {
  const Case cases[] = {
      {"", ""},
      {"# only a comment\n\n  \t\n", ""},
      {"KillWait=30", "KillWait=[30]"},  // C14: no newline at the end of the file
      {"KillWait=30\r\nWaitTime=0\r\n", "KillWait=[30] | WaitTime=[0]"},
      {"\tKillWait = \t30  ", "KillWait=[30]"},
      {"KillWait=30 # why\nMailProg=a\\#b", "KillWait=[30] | MailProg=[a#b]"},
      {"Reason=\"bad fan #3\"", "Reason=[bad fan #3]"},
      {"NodeName=n1 CPUs=4\tState=UNKNOWN", "NodeName=[n1] CPUs=[4] State=[UNKNOWN]"},
      {"NodeName=n1 \\\n  CPUs=4 \\  \n  Weight=2", "NodeName=[n1] CPUs=[4] Weight=[2]"},
      {"NodeName=n1 \\ # more below\n CPUs=4", "NodeName=[n1] CPUs=[4]"},
      {"# old \\\nKillWait=30", "KillWait=[30]"},
      {"KillWait=30 \\", "KillWait=[30]"},
      {"TRESBillingWeights=\"cpu=1.0,mem=.25G\"", "TRESBillingWeights=[cpu=1.0,mem=.25G]"},  // C17
      {"ClusterName=\nSlurmctldPort=", "ClusterName=[] | SlurmctldPort=[]"},
      {"\xEF\xBB\xBF"
       "KillWait=30",
       "KillWait=[30]"},
  };
  for (const Case& c : cases) EXPECT_EQ(shown(read_records({"f", c.text})), c.records) << c.text;
}

TEST(ConfLines, SaysWhereTheFaultIs) {
  const Case cases[] = {
      {"KillWait 30", " ! f:1:1: error: expected Key=Value, found 'KillWait'"},
      {"a=1\n\n  b=2 junk c=3\nd=4",
       "a=[1] | b=[2] | d=[4] ! f:3:7: error: expected Key=Value, found 'junk'"},
      {"a=1 \\\n  b\n", "a=[1] ! f:2:3: error: expected Key=Value, found 'b'"},
      {"a=\"open", " ! f:1:1: error: the value of a has no closing quote"},
      {"include a b", " ! f:1:1: error: include takes one file name"},
      {"include x", " ! f:1:1: error: include x: includes are not allowed here"},
  };
  for (const Case& c : cases) EXPECT_EQ(shown(read_records({"f", c.text})), c.records) << c.text;
}

TEST(ConfLines, C27_UnrenderedTemplateNamesItsLine) {
  const char* text =
      "KillWait=30\nClusterName={{ slurm_cluster_name }}\n{% if x %}\nWaitTime=0\n{% endif %}\n";
  EXPECT_EQ(shown(read_records({"f", text})),
            "KillWait=[30] | WaitTime=[0]"
            " ! f:2:13: error: this is a template that was not rendered; give the rendered file"
            " ! f:3:1: error: this is a template that was not rendered; give the rendered file"
            " ! f:5:1: error: this is a template that was not rendered; give the rendered file");
}

class Includes : public testing::Test {
 protected:
  std::string read(const std::string& path, const std::string& text) {
    const ReadFile from_map = [this](const std::string& name) -> Result<std::string> {
      const auto it = files_.find(name);
      if (it == files_.end()) return not_found("no such file");
      return it->second;
    };
    return shown(read_records({path, text}, from_map));
  }
  std::map<std::string, std::string> files_;
};

TEST_F(Includes, C12_LowerCaseIncludeOfAnAbsoluteFile) {
  files_["/etc/slurm/partition.conf"] = "PartitionName=a\n";
  EXPECT_EQ(read("/x/slurm.conf", "KillWait=1000\ninclude /etc/slurm/partition.conf\nWaitTime=1"),
            "KillWait=[1000] | PartitionName=[a] | WaitTime=[1]");
}

TEST_F(Includes, C46_RelativeNameIsBesideTheFirstFile) {
  files_["/etc/slurm/cloud.conf"] = "Include sub/more.conf";
  files_["/etc/slurm/sub/more.conf"] = "KillWait=1";
  EXPECT_EQ(read("/etc/slurm/slurm.conf", "INCLUDE cloud.conf"), "KillWait=[1]");
}

TEST_F(Includes, ClusterNameInTheFileName) {
  files_["/etc/slurm/linux_config"] = "KillWait=1";
  EXPECT_EQ(read("/etc/slurm/slurm.conf", "ClusterName=Linux\ninclude %c_config"),
            "ClusterName=[Linux] | KillWait=[1]");
}

TEST_F(Includes, C12_MissingFileIsANamedError) {
  EXPECT_EQ(read("/e/s.conf", "a=1\ninclude p.conf"),
            "a=[1] ! /e/s.conf:2:1: error: cannot read the included file /e/p.conf: no such file");
}

TEST_F(Includes, ErrorsCarryTheIncludedFile) {
  files_["/e/p.conf"] = "\njunk";
  EXPECT_EQ(read("/e/s.conf", "include p.conf"),
            " ! /e/p.conf:2:1: error: expected Key=Value, found 'junk'");
}

TEST_F(Includes, AFileThatIncludesItselfEnds) {
  files_["/e/s.conf"] = "include s.conf\ninclude s.conf\n";
  EXPECT_NE(read("/e/s.conf", files_["/e/s.conf"]).find("does a file include itself?"),
            std::string::npos);
}

TEST(ConfLines, SplitsOptions) {
  const std::vector<ConfOption> expected = {{"a", "1"}, {"b", ""}, {"c", "x=y"}};
  EXPECT_EQ(split_options("a=1, b,,c=x=y"), expected);
}

}  // namespace
}  // namespace phalanx::slurm
