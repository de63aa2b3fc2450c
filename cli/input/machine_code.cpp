#include "cli/input/machine_code.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include "cli/input/scratch_file.h"
#include "hardware/error.h"
#include "plot/process.h"

namespace ridge::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{256} << 20U;

std::string whole_file(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream || fs::is_directory(file)) throw InputError("cannot be read", {.file = file});
    std::error_code error;
    if (fs::is_regular_file(file, error) && fs::file_size(file, error) > most_bytes) {
        throw InputError("more than 256 MiB", {.file = file});
    }
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Folders of the Python packages that hold the tools; asked for only if they are nowhere else.
std::vector<fs::path> python_folders() {
    const plot::ProcessResult found =
        plot::run_process({"python3", "-c",
                           "import importlib.util as u\n"
                           "for n in ('nvidia', 'triton'):\n"
                           "    s = u.find_spec(n)\n"
                           "    for p in (s.submodule_search_locations if s else []):\n"
                           "        print(p)\n"},
                          "");
    std::vector<fs::path> folders;
    std::istringstream lines(found.output);
    for (std::string line; std::getline(lines, line);) {
        const fs::path base(line);
        folders.push_back(base / "backends" / "nvidia" / "bin");
        std::error_code error;
        for (const auto& each : fs::directory_iterator(base, error)) {
            folders.push_back(each.path() / "bin");
        }
    }
    return folders;
}

std::optional<std::string> tool_in(const fs::path& folder, const std::string& name) {
    std::error_code error;
    const fs::path place = folder / name;
    if (!fs::is_regular_file(place, error)) return {};
    return place.string();
}

std::string tool(const std::string& name) {
    std::vector<fs::path> folders;
    const char* const path = std::getenv("PATH");
    std::istringstream parts(path == nullptr ? "" : path);
    for (std::string part; std::getline(parts, part, ':');) folders.emplace_back(part);
    for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
        if (const char* const home = std::getenv(variable))
            folders.push_back(fs::path(home) / "bin");
    }
    folders.emplace_back("/usr/local/cuda/bin");
    for (const fs::path& folder : folders) {
        if (auto found = tool_in(folder, name)) return *found;
    }
    for (const fs::path& folder : python_folders()) {
        if (auto found = tool_in(folder, name)) return *found;
    }
    throw InputError(
        name + " is needed to read this file and was not found", {},
        name == "ptxas" ? "install the CUDA Toolkit" : "pip install nvidia-cuda-" + name);
}

std::string output_of(const std::vector<std::string>& command, const std::string& file) {
    plot::ProcessResult result = plot::run_process(command, "");
    if (result.started && result.exit_code == 0) return std::move(result.output);
    const std::string first = result.errors.substr(0, result.errors.find('\n'));
    throw InputError(fs::path(command.front()).filename().string() + " fails: " + first,
                     {.file = file});
}

MachineCode disassembled(const std::string& cubin, const std::string& file) {
    return {.text = output_of({tool("nvdisasm"), "-hex", "-c", cubin}, file),
            .made_by = "nvdisasm",
            .kernels = kernel::read_cubin(whole_file(cubin), file)};
}

bool is_ptx(const std::string& bytes) {
    return bytes.find("\n.version ") != std::string::npos || bytes.starts_with(".version ");
}

}  // namespace

std::string resource_usage(const std::string& file) {
    return output_of({tool("cuobjdump"), "-res-usage", file}, file);
}

MachineCode read_machine_code(const std::string& file, const std::string& architecture) {
    const std::string bytes = whole_file(file == "-" ? "/dev/stdin" : file);
    if (bytes.starts_with("\177ELF")) {
        if (kernel::is_cubin(bytes)) return disassembled(file, file);
        return {.text = output_of({tool("cuobjdump"), "-sass", file}, file),
                .made_by = "cuobjdump"};
    }
    if (is_ptx(bytes)) {
        const ScratchFile cubin;
        static_cast<void>(
            output_of({tool("ptxas"), "-arch=" + architecture, file, "-o", cubin.path()}, file));
        return disassembled(cubin.path(), file);
    }
    return {.text = bytes, .made_by = "text"};
}

}  // namespace ridge::cli
