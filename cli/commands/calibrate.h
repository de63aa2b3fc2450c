// What the ways to calibrate share: `ridge calibrate`, `--full` and `--rows`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "cli/options/device_option.h"
#include "cli/options/gpu_options.h"
#include "hardware/catalogue.h"
#include "measure/fit/fit_all.h"
#include "measure/run/calibrate.h"

namespace ridge::cli {

struct CalibrateArguments {
    explicit CalibrateArguments(CommandLine& line) : device(line), gpu(line) {}

    DeviceOption device;
    GpuOptions gpu;
    std::string output;
    std::string format;
    std::int32_t samples = 20;
    bool full = false;
    std::vector<std::string> rows;  ///< a table of measured times, or folders of records
    std::string keep;               ///< columns of it that mean nothing here
    std::string folder;             ///< of records; empty: the user's
    std::string python = "python3";
    bool no_torch = false;
    double minutes = 9.0;
    std::int64_t shapes = 2100;
};

/// The description that an overlay adds to: --gpu, or the one of the driver's name.
[[nodiscard]] const hardware::Description& base_of(const CalibrateArguments& arguments,
                                                   const hardware::Catalogue& catalogue,
                                                   const measure::DeviceInfo& info);

/// `ridge calibrate --full`: ceilings, shapes and PyTorch's kernels are measured, everything is
/// fitted to them, and an overlay is written.
[[nodiscard]] int calibrate_fully(const Context& context, const CalibrateArguments& arguments);

/// `ridge calibrate --rows TABLE`: everything is fitted to a table of measured times.
[[nodiscard]] int calibrate_from_rows(const Context& context, const CalibrateArguments& arguments);

/// Ceilings measured, with progress on the terminal; `options` says what is known already.
[[nodiscard]] measure::Calibration measure_ceilings(const Context& context, measure::Device& device,
                                                    measure::CalibrateOptions options);

}  // namespace ridge::cli
