// Folders and files that exist while an object lives, each under a name of its own.
//
//   const TemporaryFolder folder;
//   run_line("validate " + folder.write("mine.csv", "op,m\n"));
//   const TemporaryFile table("op,m\n", ".csv");
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace ridge::test {

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "ridge-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::system_error(errno, std::generic_category(), name);
        }
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] std::string path() const { return path_.string(); }
    /// The path of a file or folder in this folder, which need not exist.
    [[nodiscard]] std::string file(const std::string& name) const {
        return (path_ / name).string();
    }
    /// Writes a file, and the folders that lead to it. Returns its path.
    std::string write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary) << text;
        return file(name);
    }

  private:
    std::filesystem::path path_;
};

class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& text, const std::string& ending = ".json")
        : path_(folder_.write("file" + ending, text)) {}

    [[nodiscard]] std::string path() const { return path_; }

  private:
    TemporaryFolder folder_;
    std::string path_;
};

}  // namespace ridge::test
