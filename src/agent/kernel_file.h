// The files of /proc, /sys and cgroupfs, read and written whole. Errors: a file that cannot be read
// is nothing; the kernel's answer to a write is returned.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace phalanx::agent {

// The file's text without blanks at its ends; nothing if it cannot be read.
std::optional<std::string> read_text(const std::string& path);
std::optional<std::int64_t> read_number(const std::string& path);
// The number behind "key " at the start of a line ("oom_kill 3").
std::optional<std::int64_t> read_key(const std::string& path, std::string_view key);
// The same in a text that has been read.
std::optional<std::int64_t> find_key(std::string_view text, std::string_view key);
// 0 or errno: cgroup files take a value in one write and answer at once.
int write_errno(const std::string& path, std::string_view text);
Status write_text(const std::string& path, std::string_view text);
// One write for each line, through one descriptor: for files that take many values.
Status write_lines(const std::string& path, std::span<const std::string> lines);
bool exists(const std::string& path);
bool is_directory(const std::string& path);
std::vector<std::string> subdirectories(const std::string& dir);  // names, sorted

}  // namespace phalanx::agent
