// Finds shared libraries at run time, so that the program also starts on a machine without them.
//
// Method: a library is searched for as an already loaded copy, in the file or folder that an
// environment variable of ridge names, by its soname, and where CUDA toolkits and the Python
// packages of CUDA install it. A library that is found gives functions by name. Otherwise the
// `Unavailable` says where ridge looked and what to install.
//
//   const Maybe<SharedLibrary> found = SharedLibrary::open(
//       {.label = "NVML", .sonames = {"libnvidia-ml.so.1"}, .remedy = "install the driver"});
//
// Limits: Linux only. A library is never unloaded, because CUDA's libraries do not survive it.
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
    std::vector<std::string> companions{};  ///< libraries beside it that it opens by name
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

/// Fills function pointers from a library and collects the names that it lacks.
class SymbolReader {
  public:
    explicit SymbolReader(const SharedLibrary& library) : library_(&library) {}

    template <class Function>
    void read(const char* name, Function*& slot) {
        slot = reinterpret_cast<Function*>(library_->symbol(name));
        if (slot == nullptr) missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
    }

    /// Names of missing functions, separated by commas; empty if there are none.
    [[nodiscard]] const std::string& missing() const { return missing_; }

  private:
    const SharedLibrary* library_;
    std::string missing_;
};

/// Folders where CUDA libraries are usually installed, in the order of the search.
[[nodiscard]] std::vector<std::filesystem::path> cuda_library_folders();

}  // namespace ridge::measure::cuda
