// Writes a file whole or not at all, whatever else writes it or goes wrong.
//
//   if (const std::string reason = replace_file("chart.svg", bytes); !reason.empty()) ...
//
// Method: the bytes go to a new file of a name of its own in the same folder (O_EXCL, so no other
// writer's file and no link is written), are flushed to the disk, and are renamed over the old
// file. So the file has the old content or the new one, and of several writers at once the last
// wins. A link is followed: its target is replaced, and the link stays. The new file has the mode
// of the old one.
// Pipes and devices are written directly. A pipe that nobody reads is refused, where opening it
// would wait forever.
// Limits: a program that is killed in between leaves its file NAME.*.part; the owner of a file
// changes if somebody else writes it.
#pragma once

#include <string>
#include <string_view>

namespace ridge {

/// Returns the system's reason if the file cannot be written, and then leaves the old file as it
/// was; empty: it was written.
[[nodiscard]] std::string replace_file(const std::string& path, std::string_view bytes);

}  // namespace ridge
