// Reads and writes a whole file, byte by byte as it is.
//
//   write_text(path, text_of(path) + "one more line\n");
//
// Limits: a file that cannot be read is empty, and a failure to write is not noticed.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ridge::test {

inline std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_text(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
}

}  // namespace ridge::test
