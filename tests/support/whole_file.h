// Reads and writes a whole file, byte by byte as it is.
//
//   write_text(path, text_of(path) + "one more line\n");
//   unpacked_text("data/table.txt");   // of table.txt, or of table.txt.gz if only that is there
//
// Limits: a file that cannot be read is empty (`unpacked_text`: InputError), and a failure to write is not noticed.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "hardware/byte_source.h"

namespace ridge::test {

inline std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::string unpacked_text(const std::string& file) {
    ByteSource source(std::filesystem::exists(file) ? file : file + ".gz");
    std::string text;
    std::string part(std::size_t{1} << 16U, '\0');
    for (std::size_t got = source.read(part.data(), part.size()); got > 0;
         got = source.read(part.data(), part.size())) {
        text.append(part, 0, got);
    }
    return text;
}

inline void write_text(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
}

}  // namespace ridge::test
