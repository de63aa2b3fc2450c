// A file that exists while the object lives.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace ridge::test {

class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& content, const std::string& suffix = ".json")
        : path_(std::filesystem::temp_directory_path() /
                ("ridge-trace-" + std::to_string(::getpid()) + "-" + std::to_string(++count_) +
                 "-" + std::to_string(std::hash<std::string>{}(content)) + suffix)) {
        std::ofstream(path_, std::ios::binary) << content;
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { std::filesystem::remove(path_); }
    [[nodiscard]] std::string path() const { return path_.string(); }

  private:
    static inline int count_ = 0;
    std::filesystem::path path_;
};

}  // namespace ridge::test
