#include "cli/options/device_option.h"

#include <CLI/CLI.hpp>

#include "hardware/error.h"

namespace ridge::cli {

DeviceOption::DeviceOption(CLI::App& app) {
    app.add_option("--device", ordinal_, "number of the CUDA device (default 0)")
        ->type_name("COUNT")
        ->check(CLI::NonNegativeNumber);
}

std::unique_ptr<measure::Device> DeviceOption::open(const Context& context) const {
    auto opened = try_open(context);
    if (const auto* missing = std::get_if<measure::Unavailable>(&opened)) {
        throw DeviceError(missing->remedy.empty() ? missing->reason
                                                  : missing->reason + "\n  " + missing->remedy);
    }
    return std::move(std::get<std::unique_ptr<measure::Device>>(opened));
}

}  // namespace ridge::cli
