// Opens what somebody names as a file, or says what it is instead.
//
//   const auto stream = open_input("shapes.csv");                     // files only
//   const auto stream = open_input("/dev/fd/63", Pipes::allowed);     // as the shell's <(...) names it
//   const std::string text = read_input(path);
//
// A pipe that nobody writes to would be waited for without end, and some devices never end, so both
// are refused; `Pipes::allowed` waits for a pipe as every program does that reads one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>
#include <memory>
#include <string>

namespace ridge {

enum class Pipes : std::uint8_t { refused, allowed };

/// The file for reading. InputError names it with what it is (a folder, a device, a pipe) or with
/// the system's reason.
[[nodiscard]] std::unique_ptr<std::istream> open_input(const std::string& path,
                                                       Pipes pipes = Pipes::refused);

/// The whole file. InputError also when reading fails, or when it holds more than `longest` bytes.
[[nodiscard]] std::string read_input(const std::string& path,
                                     std::size_t longest = std::numeric_limits<std::size_t>::max());

}  // namespace ridge
