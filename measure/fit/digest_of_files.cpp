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

/// 64-bit FNV-1a.
class Digest {
  public:
    void add(std::string_view bytes) {
        for (const char each : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(each)) * prime;
    }
    [[nodiscard]] std::string text() const { return fmt::format("{:016x}", hash_); }

  private:
    static constexpr std::uint64_t prime = 0x100000001b3U;
    std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace

std::string digest_of_files(const std::vector<std::string>& paths) {
    Digest digest;
    std::array<char, 1U << 15U> buffer{};
    for (const std::string& path : files_below(paths)) {
        std::string name = std::filesystem::path(path).filename().string();
        if (name.ends_with(".gz")) name.resize(name.size() - 3);
        digest.add(name);
        ByteSource source(path);
        for (std::size_t got = source.read(buffer.data(), buffer.size()); got > 0;
             got = source.read(buffer.data(), buffer.size())) {
            digest.add({buffer.data(), got});
        }
        if (!source.failure().empty()) throw InputError(source.failure(), {.file = path});
    }
    return digest.text();
}

}  // namespace ridge::measure
