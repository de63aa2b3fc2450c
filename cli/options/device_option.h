// The option that says which device is measured: --device.
#pragma once

#include <cstdint>
#include <memory>

#include "cli/console/context.h"

namespace ridge::cli {

class CommandLine;

class DeviceOption {
  public:
    explicit DeviceOption(CommandLine& line);

    /// DeviceError with the reason and the remedy when there is no such device.
    [[nodiscard]] std::unique_ptr<measure::Device> open(const Context& context) const;

    /// Like `open`, but returns the error as a value.
    [[nodiscard]] measure::Maybe<std::unique_ptr<measure::Device>> try_open(
        const Context& context) const {
        return context.open_device(ordinal_);
    }

  private:
    std::int32_t ordinal_ = 0;
};

}  // namespace ridge::cli
