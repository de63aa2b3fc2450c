// The digest of what a fit read.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/byte_source.h"
#include "hardware/error.h"
#include "hardware/text_hash.h"
#include "measure/fit/built_in.h"

namespace ridge::measure {
namespace {

std::vector<std::string> files_below(const std::vector<std::string>& paths) {
    namespace fs = std::filesystem;
    std::vector<std::string> files;
    for (const std::string& path : paths) {
        if (!fs::is_directory(path)) {
            files.push_back(path);
            continue;
        }
        for (const auto& entry : fs::directory_iterator(path)) {
            if (entry.is_regular_file()) files.push_back(entry.path().string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

std::string digest_of_files(const std::vector<std::string>& paths) {
    std::uint64_t digest = text_hash({});
    std::array<char, 1U << 15U> buffer{};
    for (const std::string& path : files_below(paths)) {
        std::string name = std::filesystem::path(path).filename().string();
        if (name.ends_with(".gz")) name.resize(name.size() - 3);
        digest = text_hash(name, digest);
        ByteSource source(path);
        for (std::size_t got = source.read(buffer.data(), buffer.size()); got > 0;
             got = source.read(buffer.data(), buffer.size())) {
            digest = text_hash({buffer.data(), got}, digest);
        }
        if (!source.failure().empty()) throw InputError(source.failure(), {.file = path});
    }
    return fmt::format("{:016x}", digest);
}

}  // namespace ridge::measure
