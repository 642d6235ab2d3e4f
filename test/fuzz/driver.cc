// Runs a fuzz target without libFuzzer: replays every file of the corpus folders given as
// arguments, then a fixed number of seeded mutations of them. The last line before a crash names
// the input, so that it can be run again:
//   <target>_fuzz --seed N FOLDER    one mutation
//   <target>_fuzz FILE               one file
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/rng.h"

// NOLINTNEXTLINE(readability-redundant-declaration): the target is another file
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// A sanitizer's finding ends in abort(), so that the input is named there too.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace {

constexpr std::uint64_t kMutations = 2'000;
constexpr std::size_t kMaxInput = 1 << 16;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::filesystem::path> corpus_files(const std::vector<std::string>& places) {
  std::vector<std::filesystem::path> files;
  for (const std::string& place : places) {
    if (!std::filesystem::is_directory(place)) {
      files.emplace_back(place);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string mutate(const std::vector<std::string>& corpus, std::uint64_t seed) {
  phalanx::Rng rng(seed);
  std::string text = corpus[rng.below(corpus.size())];
  const std::string& other = corpus[rng.below(corpus.size())];
  for (std::uint64_t edits = 1 + rng.below(6); edits > 0; --edits) {
    const std::size_t at = rng.below(text.size() + 1);
    const std::size_t from = rng.below(other.size() + 1);
    switch (rng.below(6)) {
      case 0:
        text.insert(at, 1, static_cast<char>(rng.below(256)));
        break;
      case 1:
        text.erase(at, rng.below(8) + 1);
        break;
      case 2:
        text.insert(at, other, from, rng.below(32));
        break;
      case 3:
        text.insert(at, text.substr(at, rng.below(32)));
        break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << rng.below(7)));
        break;
      default:
        text.insert(at, 1, "0123456789-,:[]=%@ \n\"'#&|?*"[rng.below(27)]);
        break;
    }
  }
  text.resize(std::min(text.size(), kMaxInput));
  return text;
}

// What is being tried.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler has no arguments
std::string current;

void last_words(int) {
  std::fprintf(stderr, "\nfuzz: failed on %s\n", current.c_str());
  std::_Exit(1);
}

void try_input(const std::string& name, const std::string& text) {
  current = name;
  // A copy on the heap of exactly this size, so that a read beyond it is seen.
  std::vector<std::uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> places(argv + 1, argv + argc);
  std::uint64_t first = 1;
  std::uint64_t last = kMutations;
  if (places.size() >= 2 && places[0] == "--seed") {
    const std::string& seed = places[1];
    std::from_chars(seed.data(), seed.data() + seed.size(), first);
    last = first;
    places.erase(places.begin(), places.begin() + 2);
  }
  std::signal(SIGABRT, last_words);
  std::signal(SIGSEGV, last_words);
  std::vector<std::string> corpus;
  for (const auto& path : corpus_files(places)) {
    corpus.push_back(read_file(path));
    try_input(path.string(), corpus.back());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "fuzz: no corpus; give its folder\n");
    return 1;
  }
  for (std::uint64_t seed = first; seed <= last; ++seed)
    try_input("--seed " + std::to_string(seed), mutate(corpus, seed));
  const unsigned long long mutations = last - first + 1;
  std::printf("fuzz: %zu files and %llu mutations\n", corpus.size(), mutations);
  return 0;
}
