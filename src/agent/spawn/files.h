// Small file tools shared by phalanx-spawn and its supervisors. Errors are errno values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace phalanx::agent::spawn {

std::uint64_t boottime_ns();
std::string read_file(const char* path, std::size_t limit);  // what can be read, perhaps nothing
std::string read_all(int fd);
bool write_all(int fd, std::string_view bytes);  // of a blocking descriptor; errno is set
// Is `path` locked by a living process? A missing file is not; one that cannot be looked at counts
// as locked.
bool is_locked(const char* path);
// Deletes the known files of a unit's folder and the folder.
void remove_unit_folder(const std::string& folder);

}  // namespace phalanx::agent::spawn
