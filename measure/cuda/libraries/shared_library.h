// Shared libraries found at run time, so that the program starts on a machine without any of them.
//
// Method: a library is looked for as an already loaded copy, in the file or folder that an
// environment variable of ours names, by its soname, and in the places where CUDA toolkits and the
// Python packages of CUDA put it. A found library gives functions by name; what is not found is an
// `Unavailable` that says where was looked and what to install.
//
//   const Maybe<SharedLibrary> found = SharedLibrary::open(
//       {.label = "NVML", .sonames = {"libnvidia-ml.so.1"}, .remedy = "install the driver"});
//
// Limits: Linux. A library is never unloaded: CUDA's do not survive it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "measure/record/observation.h"

namespace ridge::measure::cuda {

struct LibraryRequest {
    std::string label;                      ///< for messages: "CUPTI"
    std::vector<std::string> sonames;       ///< best first
    std::string variable{};                 ///< environment variable with a file or folder
    std::vector<std::string> companions{};  ///< libraries beside it that it opens by name itself
    std::string remedy{};
};

class SharedLibrary {
  public:
    [[nodiscard]] static Maybe<SharedLibrary> open(const LibraryRequest& request);

    /// The file that was loaded.
    [[nodiscard]] const std::string& path() const { return path_; }
    /// The address of a function, or nullptr.
    [[nodiscard]] void* symbol(const char* name) const;

  private:
    SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

    void* handle_ = nullptr;
    std::string path_;
};

/// Fills function pointers from a library and remembers which names it lacks.
class SymbolReader {
  public:
    explicit SymbolReader(const SharedLibrary& library) : library_(&library) {}

    template <class Function>
    void read(const char* name, Function*& slot) {
        slot = reinterpret_cast<Function*>(library_->symbol(name));
        if (slot == nullptr) missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
    }

    /// Names of the functions that were not there, separated by commas; empty when all were.
    [[nodiscard]] const std::string& missing() const { return missing_; }

  private:
    const SharedLibrary* library_;
    std::string missing_;
};

/// Folders where CUDA libraries are usually installed, in the order of the search.
[[nodiscard]] std::vector<std::filesystem::path> cuda_library_folders();

}  // namespace ridge::measure::cuda
