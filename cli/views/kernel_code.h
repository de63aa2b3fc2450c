// The reading of a kernel's machine code as text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "cli/console/rows.h"
#include "hardware/json.h"
#include "kernel/code/code_model.h"

namespace ridge::cli {

struct KernelReading {
    std::string name;
    std::string file;
    std::string machine;
    std::size_t instructions = 0;
    bool has_control = false;
    std::vector<kernel::Loop> loops{};
    std::int64_t registers = 0;
    kernel::CodeCounts counts{};
    std::optional<kernel::CodeLaunch> launch{};
    std::optional<kernel::CodeTime> time{};
};

void write_reading(const Context& context, const KernelReading& reading,
                   const kernel::Roofs& roofs);

/// One row for each figure.
[[nodiscard]] Rows rows_of(const KernelReading& reading);

[[nodiscard]] Json to_json(const KernelReading& reading);

}  // namespace ridge::cli
