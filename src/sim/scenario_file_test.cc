// Every file in test/scenario/ is a case: its story must come out as it is written below the line.
// GOLDEN=rewrite ctest -R sim writes what comes out into the files; review them as code.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/sim.h"

namespace phalanx::sim {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> scenario_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(PHALANX_SOURCE_DIR "/test/scenario"))
    if (entry.path().extension() == ".scn") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string case_name(const testing::TestParamInfo<fs::path>& info) {
  std::string name =
      info.param.parent_path().filename().string() + "_" + info.param.stem().string();
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

class ScenarioFile : public testing::TestWithParam<fs::path> {};

TEST_P(ScenarioFile, TellsItsStory) {
  std::ifstream in(GetParam(), std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto replayed = play_file(text, GetParam().filename().string());
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  for (const std::string& problem : replayed->problems) ADD_FAILURE() << problem;
  const char* golden = std::getenv("GOLDEN");
  if (golden && std::string_view(golden) == "rewrite")
    std::ofstream(GetParam(), std::ios::binary) << replayed->text;
  else
    EXPECT_EQ(replayed->text, text);
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioFile, testing::ValuesIn(scenario_files()), case_name);

TEST(ScenarioFiles, AreThere) { EXPECT_GE(scenario_files().size(), 30U); }

}  // namespace
}  // namespace phalanx::sim
