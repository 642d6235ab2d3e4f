// What the tests of this room share: a directory that goes away, short ways to make batches, and
// what a journal holds as one value that can be compared.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "store/journal.h"

namespace phalanx::store {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "phalanx-store-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline Batch batch(Seq first, std::vector<std::string> events, std::vector<Blob> blobs = {},
                   std::vector<BlobId> dropped = {}) {
  return {first, std::move(events), std::move(dropped), std::move(blobs)};
}

inline Status append(Journal& journal, Batch one) {
  return journal.append(std::span<const Batch>(&one, 1));
}

// Appends events "e<first>" … "e<last>", one batch.
inline Status append_range(Journal& journal, Seq first, Seq last) {
  std::vector<std::string> events;
  for (Seq seq = first; seq <= last; ++seq) events.push_back("e" + std::to_string(seq));
  return append(journal, batch(first, std::move(events)));
}

using Events = std::vector<std::pair<Seq, std::string>>;

inline Result<Events> events_of(Journal& journal, Seq from = 1) {
  Events events;
  TRY(journal.read(from, [&](Seq seq, std::string_view event) -> Status {
    events.emplace_back(seq, std::string(event));
    return {};
  }));
  return events;
}

inline std::string file_bytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Flips one bit of the only place in the file where `text` stands.
inline void flip_bit_in(const std::string& path, const std::string& text) {
  std::string bytes = file_bytes(path);
  const auto at = bytes.find(text);
  ASSERT_NE(at, std::string::npos) << text << " is not in " << path;
  ASSERT_EQ(bytes.find(text, at + 1), std::string::npos) << text << " is twice in " << path;
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  write_file(path, bytes);
}

#define ASSERT_OK(expression)                             \
  do {                                                    \
    const auto& outcome = (expression);                   \
    ASSERT_TRUE(outcome.ok()) << outcome.error().message; \
  } while (false)

}  // namespace phalanx::store
