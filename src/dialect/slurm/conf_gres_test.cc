// gres.conf, its union with slurm.conf, cgroup.conf and topology.conf.
#include "dialect/slurm/conf_gres.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "dialect/slurm/conf_cgroup.h"
#include "dialect/slurm/conf_test_support.h"

namespace phalanx::slurm {
namespace {

std::string shown(const GresLine& line) {
  std::string cores;
  for (const IndexRange& r : line.cores)
    cores += format("{}{}-{}", cores.empty() ? "" : ",", r.first, r.last);
  return format("{} {}:{}:{} files={} cores={} flags={}", join(line.nodes, ","), line.name,
                line.type, line.count, join(line.files, ","), cores, join(line.flags, ","));
}

TEST(Gres, ReadsTheForms) {
  const struct {
    const char* text;
    const char* line;
    const char* diagnostics;
  } cases[] = {
      {"NodeName=n[1-2] Name=gpu Type=h100 File=/dev/nvidia[0-1]",
       "n1,n2 gpu:h100:2 files=/dev/nvidia0,/dev/nvidia1 cores= flags=", ""},
      {"Nodename=n1 NAME=gpu type=K80 file=/dev/nvidia[0-3] CPUs=0-7",  // C09
       "n1 gpu:K80:4 files=/dev/nvidia0,/dev/nvidia1,/dev/nvidia2,/dev/nvidia3 cores=0-7 flags=",
       "1:53: warning: Phalanx does not act upon Cores"},
      {"Name=gpu File=/dev/tty[0-3] Cores=[0-3]",  // C37
       " gpu::4 files=/dev/tty0,/dev/tty1,/dev/tty2,/dev/tty3 cores=0-3 flags=",
       "1:29: warning: Phalanx does not act upon Cores"},
      {"Name=gpu File=/dev/tty0 Cores=0,1,2",
       " gpu::1 files=/dev/tty0 cores=0-2 flags=",  // C38
       "1:25: warning: Phalanx does not act upon Cores"},
      {"Name=mps Count=400 File=/dev/nvidia[0-1]",
       " mps::400 files=/dev/nvidia0,/dev/nvidia1 cores= flags=",
       "1:1: warning: Name=mps: only GPUs are offered"},
      {"Name=bandwidth Count=4K Flags=CountOnly", " bandwidth::4096 files= cores= flags=CountOnly",
       "1:1: warning: Name=bandwidth: only GPUs are offered"},
      {"Name=gpu Type=mig MultipleFiles=/dev/nvidia0,/dev/caps/cap[21-22]",
       " gpu:mig:1 files=/dev/nvidia0,/dev/caps/cap21,/dev/caps/cap22 cores= flags=",
       "1:19: warning: Phalanx does not act upon MultipleFiles; slices of a GPU are not offered "
       "yet"},
      {"Name=gpu Count=4", " gpu::4 files= cores= flags=",
       "1:1: warning: a gpu line without File hides no device from other jobs; add "
       "File=/dev/nvidia[0-7] or "
       "AutoDetect=nvml"},
  };
  for (const auto& c : cases) {
    const Parsed<GresConf> parsed = read_gres_conf({"", c.text});
    EXPECT_EQ(told(parsed.diagnostics), c.diagnostics) << c.text;
    ASSERT_EQ(parsed.value.lines.size(), 1U) << c.text;
    EXPECT_EQ(shown(parsed.value.lines[0]), c.line) << c.text;
  }
}

TEST(Gres, FaultsHaveTheirLine) {
  const struct {
    const char* text;
    const char* diagnostics;
  } cases[] = {
      {"Name=gpu Count=4 File=/dev/nvidia[0-1]",
       "1:1: error: Count=4 but File names 2 devices; leave Count out"},
      {"NodeName=n1 File=/dev/nvidia0", "1:1: error: the line has no Name, such as Name=gpu"},
      {"AutoDetect=magic",
       "1:1: error: AutoDetect=magic: expected nvml, nvidia, rsmi, oneapi, nrt, full or off"},
      {"Name=gpu Typ=h100", "1:10: error: Typ is not a key of gres.conf; did you mean Type?"},
      {"Name=gpu File=/dev/x Links=0,much",
       "1:22: warning: Phalanx does not act upon Links\n"
       "1:22: error: Links=0,much: expected numbers of links such as 0,-1,4"},
      {"AutoDetect=rsmi", "1:1: warning: AutoDetect=rsmi: GPUs are found by NVML, and no others"},
      {"Name=gpu File=/dev/x Flags=sparkling", "1:22: warning: Phalanx does not act upon Flags"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(told(read_gres_conf({"", c.text}).diagnostics), c.diagnostics) << c.text;
  EXPECT_FALSE(read_gres_conf({"", "Name=gpu File=/dev/nvidia[0-99999999]"}).ok());
}

TEST(Gres, C23_AutoDetectOfOneNode) {
  const Parsed<GresConf> parsed = read_gres_conf(
      {"", "AutoDetect=nvml\nNodeName=n1 AutoDetect=off Name=gpu File=/dev/nvidia[0-7]"});
  EXPECT_EQ(told(parsed.diagnostics), "");
  EXPECT_EQ(parsed.value.autodetect, AutoDetect::Nvml);
  ASSERT_EQ(parsed.value.node_autodetect.size(), 1U);
  EXPECT_EQ(parsed.value.node_autodetect[0].how, AutoDetect::Off);
}

TEST(Gres, C30_NoFileIsNeededBesideAutoDetect) {
  EXPECT_EQ(told(read_gres_conf({"", "AutoDetect=nvml\nName=gpu Type=tesla"}).diagnostics), "");
}

// The nodes' inventories, one a line: "n1 nvml gpu:h100:1=/dev/nvidia0 …!fault".
std::string merged(const std::string& nodes, const std::string& gres,
                   std::string* diagnostics = nullptr) {
  const Parsed<SlurmConf> conf =
      read_conf({"slurm.conf", "ClusterName=c\nSlurmctldHost=h\nGresTypes=gpu,mps\n" + nodes});
  EXPECT_EQ(told(conf.diagnostics), "");
  const Parsed<GresConf> lines = read_gres_conf({"gres.conf", gres});
  EXPECT_TRUE(lines.ok());
  const Parsed<std::vector<NodeInventory>> inventories = merge(conf.value, lines.value);
  if (diagnostics != nullptr) *diagnostics = told(inventories.diagnostics);
  std::string out;
  for (const NodeInventory& inv : inventories.value) {
    out += (out.empty() ? "" : "\n") + inv.node;
    for (const ConfiguredDevice& d : inv.devices)
      out += format(" {}:{}:{}={}", d.name, d.type, d.count, join(d.files, "+"));
    if (!inv.fault.empty()) out += " ! " + inv.fault;
  }
  return out;
}

TEST(GresMerge, EachFileIsADevice) {
  EXPECT_EQ(merged("NodeName=a Gres=gpu:t:2\nNodeName=b Gres=gpu:1,mps:100\n",
                   "NodeName=a Name=gpu Type=t File=/dev/g[0-1]\nNodeName=b Name=gpu File=/dev/g0\n"
                   "NodeName=b Name=mps Count=100 File=/dev/g0\n"),
            "a gpu:t:1=/dev/g0 gpu:t:1=/dev/g1\nb gpu::1=/dev/g0 mps::100=/dev/g0");
}

TEST(GresMerge, C25_FewerThanConfiguredTakesTheNodeOut) {
  std::string diagnostics;
  EXPECT_EQ(merged("NodeName=a Gres=gpu:1\nNodeName=o[1-2] Gres=gpu:orin:2\n",
                   "NodeName=a Name=gpu File=/dev/g0", &diagnostics),
            "a gpu::1=/dev/g0\n"
            "o1 ! gres/gpu:orin count reported lower than configured (0 < 2)\n"
            "o2 ! gres/gpu:orin count reported lower than configured (0 < 2)");
  EXPECT_EQ(diagnostics,
            "5:1: warning: node o1: gres/gpu:orin count reported lower than configured "
            "(0 < 2): gres.conf "
            "lists 0 of 2; the node will not be used");
}

TEST(GresMerge, WhatTheAgentFindsIsNoContradiction) {
  EXPECT_EQ(merged("NodeName=a Gres=gpu:8\n", ""), "a");
  EXPECT_EQ(merged("NodeName=a Gres=gpu:8\n", "AutoDetect=nvml"), "a");
}

TEST(GresMerge, MoreThanConfiguredAndUnknownNodes) {
  std::string diagnostics;
  merged("NodeName=a Gres=gpu:1\n",
         "NodeName=a Name=gpu File=/dev/g[0-3]\nNodeName=zz Name=gpu File=/dev/g0", &diagnostics);
  EXPECT_EQ(diagnostics,
            "2:1: warning: slurm.conf has no node zz\n"
            "4:1: warning: node a: gres.conf lists 4 of gres/gpu, of which 1 are used");
}

TEST(GresMerge, TheUsersLabAndTheBench) {
  for (const std::string name : {"lab", "bench"}) {
    const Parsed<SlurmConf> conf = read_conf({"slurm.conf", corpus_file(name + "-slurm.conf")});
    const Parsed<GresConf> gres = read_gres_conf({"gres.conf", corpus_file(name + "-gres.conf")});
    EXPECT_EQ(told(gres.diagnostics), "");
    const Parsed<std::vector<NodeInventory>> inventories = merge(conf.value, gres.value);
    EXPECT_EQ(told(inventories.diagnostics), "");
    EXPECT_EQ(inventories.value[0].devices.size(), 8U);
    EXPECT_EQ(inventories.value[0].fault, "");
  }
}

TEST(Cgroup, C03_OldKeysTrailingBlanksAndQuotes) {
  const Parsed<CgroupConf> parsed = read_cgroup_conf(
      {"",
       "CgroupAutomount=yes   \nCgroupReleaseAgentDir=\"/etc/slurm/cgroup\"\nConstrainCores=yes "
       "\t\n"
       "ConstrainDevices=yes\nConstrainRAMSpace=no\nAllowedRAMSpace=98.5\nMinRAMSpace=100\n"});
  EXPECT_EQ(told(parsed.diagnostics),
            "2:1: warning: CgroupReleaseAgentDir was removed in Slurm 17.11 and has no effect; "
            "Phalanx uses the control groups that it finds\n"
            "6:1: warning: Phalanx does not act upon AllowedRAMSpace\n"
            "7:1: warning: Phalanx does not act upon MinRAMSpace");
  EXPECT_TRUE(parsed.value.constrain_cores && parsed.value.constrain_devices &&
              !parsed.value.constrain_ram);
  EXPECT_EQ(parsed.value.allowed_ram_percent, Quantity::milli(98'500));
  EXPECT_EQ(parsed.value.min_ram_mb, 100);
  EXPECT_FALSE(read_cgroup_conf({"", "ConstrainCore=yes"}).ok());
}

TEST(Topology, C06_C14_LeavesWithoutARoot) {
  const Parsed<TopologyConf> parsed = read_topology_conf(
      {"", "SwitchName=s0 Nodes=n[0-5]\nSwitchName=s1 Nodes=n[6-11] LinkSpeed=100"});
  EXPECT_EQ(
      told(parsed.diagnostics),
      "1:1: warning: Phalanx does not act upon SwitchName; nodes are chosen without regard to "
      "switches (and so in 1 more place)\n"
      "1:15: warning: Phalanx does not act upon Nodes; nodes are chosen without regard to "
      "switches (and so in 1 more place)");
  ASSERT_EQ(parsed.value.switches.size(), 2U);
  EXPECT_EQ(parsed.value.switches[1].nodes.size(), 6U);
}

TEST(Topology, Faults) {
  const struct {
    const char* text;
    const char* diagnostics;
  } cases[] = {
      {"SwitchName=a Switches=b\n",
       "1:1: error: switch a names b, but there is no SwitchName line for it"},
      {"SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "2:1: error: switch a is defined twice"},
      {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
       "1:1: error: switch a is above or part of a loop of switches"},
      {"SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Nodes=n2\n",
       "1:1: error: switch a has Nodes and Switches; it may have one of them"},
      {"BlockName=b1 Nodes=n[1-4]\nBlockSizes=4,8\n", ""},
      {"Nodes=n1\n", "1:1: error: Nodes=n1: the line must begin with SwitchName or BlockName"},
  };
  for (const auto& c : cases) {
    std::vector<Diagnostic> said = read_topology_conf({"", c.text}).diagnostics;
    std::erase_if(said, [](const Diagnostic& d) {
      return d.severity == Diagnostic::Severity::Warning;  // that nothing here is acted upon
    });
    EXPECT_EQ(told(said), c.diagnostics) << c.text;
  }
}

}  // namespace
}  // namespace phalanx::slurm
