#include "cli/input/kernel_launch.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/json.h"

namespace ridge::cli {
namespace {

std::int64_t whole_number(const Json& json, std::string_view key) {
    const Json* const found = json.find(key);
    const auto number = found == nullptr ? std::nullopt : found->if_number();
    constexpr double most = 1e9;
    return number && *number > 0.0 && *number < most ? static_cast<std::int64_t>(*number) : 0;
}

void add_argument(std::map<std::uint32_t, std::uint32_t>& words,
                  const kernel::CubinParameter& place, std::string_view text) {
    // Numbers with a fraction do not decide how often a loop runs.
    if (text.empty() || text == "_" || text.find('.') != text.npos) return;
    const bool negative = text.starts_with('-');
    const std::int64_t size = parse_count(negative ? text.substr(1) : text, "args");
    const auto value = static_cast<std::uint64_t>(negative ? -size : size);
    if (place.size != 4 && place.size != 8) return;
    words[place.offset] = static_cast<std::uint32_t>(value);
    if (place.size == 8) words[place.offset + 4] = static_cast<std::uint32_t>(value >> 32U);
}

}  // namespace

std::array<std::int64_t, 3> sizes_of(const std::string& text, std::string_view field) {
    std::array<std::int64_t, 3> sizes{1, 1, 1};
    std::string_view rest = text;
    for (std::size_t i = 0;; ++i) {
        if (i == sizes.size()) throw InputError(std::string(field) + ": at most three sizes");
        const std::size_t cross = rest.find('x');
        sizes.at(i) = parse_count(rest.substr(0, cross), field);
        constexpr std::int64_t most = std::int64_t{1} << 31;
        if (sizes.at(i) < 1 || sizes.at(i) > most) {
            throw InputError(std::string(field) + ": sizes from 1 to 2^31");
        }
        if (cross == rest.npos) return sizes;
        rest.remove_prefix(cross + 1);
    }
}

std::optional<TritonMetadata> triton_metadata(const std::string& cubin) {
    const std::filesystem::path path(cubin);
    if (path.extension() != ".cubin") return {};
    std::ifstream stream(std::filesystem::path(path).replace_extension(".json"));
    if (!stream) return {};
    const auto json = Json::parse(std::string(std::istreambuf_iterator<char>(stream), {}));
    if (!json || json->find("num_warps") == nullptr) return {};
    constexpr std::int64_t lanes = 32;
    TritonMetadata found{.name = {},
                         .threads = lanes * whole_number(*json, "num_warps"),
                         .shared_bytes = whole_number(*json, "shared")};
    if (const Json* const name = json->find("name")) {
        if (const auto* const text = name->if_text()) found.name = *text;
    }
    return found;
}

std::map<std::uint32_t, std::uint32_t> constants_of(const kernel::CubinKernel& kernel,
                                                    std::string_view arguments,
                                                    const std::array<std::int64_t, 3>& grid,
                                                    const std::array<std::int64_t, 3>& block) {
    std::map<std::uint32_t, std::uint32_t> words;
    std::size_t place = 0;
    while (!arguments.empty()) {
        const std::size_t end = std::min(arguments.find(','), arguments.size());
        if (place == kernel.parameters.size()) {
            throw InputError("args: " + kernel.name + " has " +
                                 std::to_string(kernel.parameters.size()) + " arguments",
                             {}, "a pointer is _, and so is any other that is not known");
        }
        add_argument(words, kernel.parameters[place], arguments.substr(0, end));
        arguments.remove_prefix(std::min(end + 1, arguments.size()));
        ++place;
    }
    // Where the launch stands in the bank, up to architectures whose arguments begin at 0x210.
    constexpr std::uint32_t latest = 0x210;
    constexpr std::uint32_t first_of_grid = 12;
    if (!kernel.parameters.empty() && kernel.parameters.front().offset <= latest) {
        for (std::uint32_t i = 0; i < block.size(); ++i) {
            words[4 * i] = static_cast<std::uint32_t>(block.at(i));
            words[first_of_grid + 4 * i] = static_cast<std::uint32_t>(grid.at(i));
        }
    }
    return words;
}

}  // namespace ridge::cli
