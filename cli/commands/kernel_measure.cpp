#include "cli/commands/kernel_measure.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/commands/commands.h"
#include "cli/console/child_process.h"
#include "cli/input/kernel_launch.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/number_text.h"

namespace ridge::cli {
namespace {

constexpr std::int64_t usual_buffer = std::int64_t{256} << 20;
constexpr const char* launches = "24";  // enough for each set of counters in one run

std::string image_in(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw InputError("cannot be read", {.file = file});
    return {std::istreambuf_iterator<char>(stream), {}};
}

kernel::CubinKernel kernel_of(const std::string& image, const KernelRun& run) {
    if (!kernel::is_cubin(image)) {
        throw InputError("is no .cubin", {.file = run.file},
                         "only a .cubin can be launched: nvcc -cubin, ptxas, or Triton's cache");
    }
    const std::vector<kernel::CubinKernel> all = kernel::read_cubin(image, run.file);
    if (run.function.empty() && all.size() == 1) return all.front();
    std::string names;
    for (const kernel::CubinKernel& each : all) {
        if (each.name == run.function) return each;
        names += (names.empty() ? "" : ", ") + each.name;
    }
    throw InputError(run.function.empty() ? "function: the file has several kernels"
                                          : "function: no kernel '" + run.function + "'",
                     {}, "there are " + names);
}

template <class Value>
std::vector<std::byte> raw(Value value) {
    std::vector<std::byte> bytes(sizeof(Value));
    std::memcpy(bytes.data(), &value, sizeof(Value));
    return bytes;
}

measure::BinaryArgument argument_of(const std::string& text, std::uint32_t size) {
    if (text == "_" && size != 8) {
        throw InputError("args: _ stands for a buffer, and this argument is no pointer");
    }
    if (text == "_") return {.buffer_bytes = usual_buffer};
    if (text.ends_with('B')) {
        const std::int64_t bytes = parse_count(text, "args", CountUnit::bytes);
        if (size != 8 || bytes < 4) throw InputError("args: '" + text + "' is for a pointer");
        return {.buffer_bytes = bytes};
    }
    if (size != 4 && size != 8) {
        throw InputError("args: an argument of " + std::to_string(size) + " bytes is no number");
    }
    if (text.find_first_of(".e") != text.npos) {
        const std::optional<double> number = whole_real(text);
        if (!number) throw InputError("args: '" + text + "' is no number");
        return {.value = size == 8 ? raw(*number) : raw(static_cast<float>(*number))};
    }
    const bool negative = text.starts_with('-');
    const std::int64_t count = parse_count(negative ? text.substr(1) : text, "args");
    const std::int64_t value = negative ? -count : count;
    return {.value = size == 8 ? raw(value) : raw(static_cast<std::int32_t>(value))};
}

}  // namespace

std::vector<measure::BinaryArgument> arguments_of(const kernel::CubinKernel& kernel,
                                                  const std::string& text) {
    std::vector<measure::BinaryArgument> arguments;
    std::string_view rest = text;
    while (!rest.empty()) {
        if (arguments.size() == kernel.parameters.size()) {
            throw InputError("args: " + kernel.name + " has " +
                             std::to_string(kernel.parameters.size()) + " arguments");
        }
        const std::size_t end = std::min(rest.find(','), rest.size());
        const std::uint32_t size = kernel.parameters[arguments.size()].size;
        arguments.push_back(argument_of(std::string(rest.substr(0, end)), size));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    for (std::size_t i = arguments.size(); i < kernel.parameters.size(); ++i) {
        arguments.push_back({.value = std::vector<std::byte>(kernel.parameters[i].size)});
    }
    return arguments;
}

int launch_kernel(const KernelRun& run, std::int64_t times) {
    if (times < 1) throw InputError("launch: at least 1");
    const std::string image = image_in(run.file);
    const kernel::CubinKernel chosen = kernel_of(image, run);
    const auto triton = triton_metadata(run.file);
    measure::BinaryLaunch launch{.image = image, .function = chosen.name, .times = times};
    if (run.grid.empty()) throw InputError("grid is missing", {}, "--grid 512 --block 256");
    launch.grid = sizes_of(run.grid, "grid");
    if (!run.block.empty()) {
        launch.block = sizes_of(run.block, "block");
    } else if (triton && triton->threads > 0) {
        launch.block = {triton->threads, 1, 1};
    } else if (chosen.threads > 0) {
        launch.block = {chosen.threads, 1, 1};
    } else {
        throw InputError("block is missing", {}, "--grid 512 --block 256");
    }
    // What the code declares comes on top; on Hopper that is also what the driver keeps.
    if (!run.shared.empty()) {
        launch.shared_bytes = parse_count(run.shared, "shared", CountUnit::bytes);
    } else if (triton) {
        launch.shared_bytes = triton->shared_bytes;
    }
    launch.arguments = arguments_of(chosen, run.args);
    measure::launch_binary(launch);
    return success;
}

int measure_kernel(const Context& context, const KernelRun& run) {
    (void)kernel_of(image_in(run.file), run);
    std::error_code error;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
    if (error) throw DeviceError("this program does not find itself in /proc");
    const auto folder = std::filesystem::temp_directory_path() /
                        ("ridge-kernel-" + std::filesystem::path(run.file).stem().string());
    std::filesystem::create_directories(folder);
    std::vector<std::string> command{self, "profile", "--counters", "-o",
                                     (folder / "run").string()};
    command.insert(command.end(), run.passed_on.begin(), run.passed_on.end());
    if (!run.page.empty()) command.insert(command.end(), {"--page", run.page});
    command.insert(command.end(), {"--", self, "kernel", run.file, "--launch", launches});
    const std::pair<const char*, const std::string&> options[]{{"--function", run.function},
                                                               {"--args", run.args},
                                                               {"--grid", run.grid},
                                                               {"--block", run.block},
                                                               {"--shared", run.shared}};
    for (const auto& [name, value] : options) {
        if (!value.empty()) command.insert(command.end(), {name, value});
    }
    context.out.flush();
    const ChildStatus status = run_child(command, {});
    if (!status.failure.empty()) throw DeviceError(status.failure);
    return status.code;
}

}  // namespace ridge::cli
