#include "cli/input/ptxas_output.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>

#include "cli/input/machine_code.h"
#include "hardware/error.h"
#include "kernel/code/cubin.h"

namespace ridge::cli {
namespace {

/// The whole number that stands right before `word`.
std::optional<std::int64_t> number_before(std::string_view line, std::string_view word) {
    const std::size_t end = line.find(word);
    if (end == line.npos || end == 0) return {};
    std::size_t begin = end;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
    std::int64_t value = 0;
    const auto [last, error] = std::from_chars(line.data() + begin, line.data() + end, value);
    if (error != std::errc{} || begin == end) return {};
    return value;
}

/// "_Z4copyPf" of "Compiling entry function '_Z4copyPf' for 'sm_90'".
std::optional<std::string> entry_of(std::string_view line) {
    constexpr std::string_view before = "entry function '";
    const std::size_t at = line.find(before);
    if (at == line.npos) return {};
    const std::string_view rest = line.substr(at + before.size());
    return std::string(rest.substr(0, rest.find('\'')));
}

}  // namespace

namespace {

/// The number behind `word` in "REG:10 STACK:0 SHARED:0".
std::int64_t number_after(std::string_view line, std::string_view word) {
    const std::size_t at = line.find(word);
    std::int64_t value = 0;
    if (at != line.npos) {
        std::from_chars(line.data() + at + word.size(), line.data() + line.size(), value);
    }
    return value;
}

/// What `cuobjdump -res-usage` prints: "Function NAME:", then its resources.
std::vector<CompiledKernel> used_resources(std::string_view text) {
    std::vector<CompiledKernel> all;
    constexpr std::string_view before = "Function ";
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t at = line.find(before);
        if (at != line.npos && line.ends_with(':')) {
            const std::string_view name = line.substr(at + before.size());
            all.push_back({.name = std::string(name.substr(0, name.size() - 1))});
        } else if (!all.empty() && line.find("REG:") != line.npos) {
            all.back().registers = number_after(line, "REG:");
            all.back().shared_bytes = number_after(line, "SHARED:");
        }
    }
    std::erase_if(all, [](const CompiledKernel& each) { return each.registers == 0; });
    return all;
}

std::vector<CompiledKernel> kernels_of_binary(const std::string& bytes, const std::string& file) {
    if (!kernel::is_cubin(bytes)) return used_resources(resource_usage(file));
    std::vector<CompiledKernel> all;
    for (const kernel::CubinKernel& each : kernel::read_cubin(bytes, file)) {
        all.push_back(
            {.name = each.name, .registers = each.registers, .shared_bytes = each.shared_bytes});
    }
    return all;
}

}  // namespace

std::vector<CompiledKernel> compiled_kernels(std::string_view text) {
    std::vector<CompiledKernel> all;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (auto name = entry_of(line)) all.push_back({.name = std::move(*name)});
        const auto registers = number_before(line, " registers");
        const auto spilled = number_before(line, " bytes spill stores");
        if ((registers || spilled) && all.empty()) all.push_back({.name = {}});
        if (spilled) all.back().spilled_bytes = *spilled;
        if (!registers) continue;
        all.back().registers = *registers;
        all.back().shared_bytes = number_before(line, " bytes smem").value_or(0);
    }
    std::erase_if(all, [](const CompiledKernel& each) { return each.registers == 0; });
    return all;
}

CompiledKernel compiled_kernel(const std::string& file, const std::string& function) {
    std::ifstream stream(file == "-" ? "/dev/stdin" : file, std::ios::binary);
    if (!stream) throw InputError("cannot be read", {.file = file});
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::vector<CompiledKernel> all =
        text.starts_with("\177ELF") ? kernels_of_binary(text, file) : compiled_kernels(text);
    if (all.empty()) {
        throw InputError("no kernel's registers", {.file = file},
                         "expected a .cubin, an executable, or the output of nvcc "
                         "--ptxas-options=-v");
    }
    std::string names;
    constexpr std::size_t most = 8;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!function.empty() && all[i].name.find(function) != std::string::npos) return all[i];
        if (i < most) names += (i > 0 ? ", " : "") + all[i].name;
    }
    if (function.empty() && all.size() == 1) return all.front();
    throw InputError(function.empty() ? "function: the file has " + std::to_string(all.size()) +
                                            " kernels; name one with --function"
                                      : "function: no kernel '" + function + "'",
                     {.file = file}, "there are " + names);
}

}  // namespace ridge::cli
