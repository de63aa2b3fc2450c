#include "cli/options/device_option.h"
#include "cli/options/command_line.h"

#include "hardware/error.h"

namespace ridge::cli {

DeviceOption::DeviceOption(CommandLine& line) {
    line.option("--device", ordinal_, "number of the CUDA device (default 0)")
        .value("COUNT")
        .not_negative();
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
