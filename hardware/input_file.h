// Opens the file that the user names, or says why it is not a regular file.
//
//   const auto stream = open_input("shapes.csv");                   // files only
//   const auto stream = open_input("/dev/fd/63", Pipes::allowed);   // from the shell's <(...)
//   const std::string text = read_input(path);
//
// Reading a pipe without a writer would wait forever, and some devices never end, so both are
// refused. `Pipes::allowed` accepts a pipe and waits for it, as usual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>
#include <memory>
#include <string>

namespace ridge {

enum class Pipes : std::uint8_t { refused, allowed };

/// InputError if the path names something else than a file: a folder, a device, a pipe.
void require_file(const std::string& path, Pipes pipes = Pipes::refused);

/// Opens the file for reading. InputError says what it is instead (a folder, a device, a pipe) or
/// gives the system's reason.
[[nodiscard]] std::unique_ptr<std::istream> open_input(const std::string& path,
                                                       Pipes pipes = Pipes::refused);

/// The whole file. InputError also when reading fails or when it holds more than `longest` bytes.
[[nodiscard]] std::string read_input(const std::string& path,
                                     std::size_t longest = std::numeric_limits<std::size_t>::max());

}  // namespace ridge
