// Finding and opening shared libraries; see shared_library.h.
#include "measure/cuda/libraries/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <system_error>

namespace ridge::measure::cuda {
namespace {

namespace fs = std::filesystem;

std::string variable_of(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

/// Folders in `parent` whose names start with `prefix`, in reverse alphabetical order.
std::vector<fs::path> folders_like(const fs::path& parent, const std::string& prefix) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
        if (it->path().filename().string().rfind(prefix, 0) == 0) found.push_back(it->path());
    }
    std::sort(found.rbegin(), found.rend());
    return found;
}

/// Roots of the available Python installations: the active environment, every `python3` in the
/// search path (following links) and the system's.
std::vector<fs::path> python_roots() {
    std::vector<fs::path> roots;
    if (const std::string active = variable_of("VIRTUAL_ENV"); !active.empty()) {
        roots.emplace_back(active);
    }
    std::istringstream folders(variable_of("PATH"));
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::error_code error;
        if (fs::exists(fs::path(folder) / "python3", error)) {
            roots.push_back(fs::path(folder).parent_path());
        }
    }
    roots.emplace_back("/usr/local");
    roots.emplace_back("/usr");
    return roots;
}

std::vector<fs::path> python_package_folders() {
    std::vector<fs::path> found;
    for (const fs::path& root : python_roots()) {
        std::vector<fs::path> versions = folders_like(root / "lib", "python3");
        for (const fs::path& version : versions) {
            for (const char* packages : {"site-packages", "dist-packages"}) {
                const fs::path vendor = version / packages / "nvidia";
                for (const fs::path& package : folders_like(vendor, "cu")) {
                    found.push_back(package / "lib");
                }
                found.push_back(vendor / "nccl" / "lib");
            }
        }
    }
    return found;
}

std::string path_of(void* handle, const std::string& fallback) {
    link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr &&
        *map->l_name != '\0') {
        return map->l_name;
    }
    return fallback;
}

/// Opens the library with this soname in `folder`, after its companions.
void* open_in(const fs::path& folder, const std::string& soname,
              const std::vector<std::string>& companions) {
    std::error_code error;
    if (!fs::exists(folder / soname, error)) return nullptr;
    for (const std::string& companion : companions) {
        dlopen((folder / companion).c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
    return dlopen((folder / soname).c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* open_named(const LibraryRequest& request) {
    if (request.variable.empty()) return nullptr;
    const std::string named = variable_of(request.variable.c_str());
    if (named.empty()) return nullptr;
    std::error_code error;
    if (!fs::is_directory(named, error)) return dlopen(named.c_str(), RTLD_NOW | RTLD_LOCAL);
    for (const std::string& soname : request.sonames) {
        if (void* handle = open_in(named, soname, request.companions)) return handle;
    }
    return nullptr;
}

void* open_anywhere(const LibraryRequest& request) {
    for (const std::string& soname : request.sonames) {
        if (void* handle = dlopen(soname.c_str(), RTLD_NOW | RTLD_NOLOAD)) return handle;
    }
    if (void* handle = open_named(request)) return handle;
    for (const std::string& soname : request.sonames) {
        if (void* handle = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
        for (const fs::path& folder : cuda_library_folders()) {
            if (void* found = open_in(folder, soname, request.companions)) return found;
        }
    }
    return nullptr;
}

}  // namespace

std::vector<fs::path> cuda_library_folders() {
    std::vector<fs::path> toolkits;
    for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"}) {
        if (const std::string value = variable_of(name); !value.empty()) {
            toolkits.emplace_back(value);
        }
    }
    for (const fs::path& toolkit : folders_like("/usr/local", "cuda")) toolkits.push_back(toolkit);
    for (const fs::path& toolkit : folders_like("/opt", "cuda")) toolkits.push_back(toolkit);
    std::vector<fs::path> folders;
    for (const fs::path& toolkit : toolkits) {
        for (const char* folder : {"lib64", "lib", "extras/CUPTI/lib64"}) {
            folders.push_back(toolkit / folder);
        }
    }
    for (fs::path& folder : python_package_folders()) folders.push_back(std::move(folder));
    return folders;
}

Maybe<SharedLibrary> SharedLibrary::open(const LibraryRequest& request) {
    if (void* handle = open_anywhere(request)) {
        return SharedLibrary(handle, path_of(handle, request.sonames.front()));
    }
    std::string remedy = request.remedy;
    if (!request.variable.empty()) {
        remedy += (remedy.empty() ? "set " : ", or set ") + request.variable +
                  " to the folder that holds it";
    }
    return Unavailable{.reason = request.label + " was not found (" + request.sonames.front() +
                                 "; looked in the loader's path, CUDA toolkits and Python "
                                 "packages)",
                       .remedy = std::move(remedy)};
}

void* SharedLibrary::symbol(const char* name) const {
    return dlsym(handle_, name);
}

}  // namespace ridge::measure::cuda
