// What `ridge calibrate`, `--full` and `--rows` share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "cli/options/device_option.h"
#include "cli/options/gpu_options.h"
#include "measure/fit/fit_all.h"
#include "measure/run/calibrate.h"
#include "model/catalogue/catalogue.h"

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
    std::string keep;               ///< columns of the table to ignore
    std::string folder;             ///< of records; empty: the user's data folder
    std::string python = "python3";
    bool no_torch = false;
    double minutes = 9.0;
    std::int64_t shapes = 2100;
    bool built_in = false;  ///< make the calibrations that come with ridge
    bool check = false;     ///< only compare them with the files
    std::string data;       ///< folder of public tables
    std::string tree = ".";
    std::string software;  ///< names separated by commas; empty: all
    std::string fits;      ///< programs separated by commas; empty: all
};

/// The description that an overlay adds to: of --gpu, else of the GPU that the driver names.
[[nodiscard]] const hardware::Description& base_of(const CalibrateArguments& arguments,
                                                   const model::Catalogue& catalogue,
                                                   const measure::DeviceInfo& info);

/// `ridge calibrate --full`: measures ceilings, shapes and PyTorch's kernels, fits everything to
/// them and writes an overlay.
[[nodiscard]] int calibrate_fully(const Context& context, const CalibrateArguments& arguments);

/// `ridge calibrate --rows TABLE`: fits everything to a table of measured times.
[[nodiscard]] int calibrate_from_rows(const Context& context, const CalibrateArguments& arguments);

/// `ridge calibrate --software NAME --rows FOLDER`: fits the kernels of an engine to tables of its times.
[[nodiscard]] int calibrate_engine(const Context& context, const CalibrateArguments& arguments);

/// `ridge calibrate --built-in`: makes the files of calibration/ from the records, or compares them.
[[nodiscard]] int calibrate_built_in(const Context& context, const CalibrateArguments& arguments);

/// Measures ceilings, with progress on the terminal; `options` names what is already known.
[[nodiscard]] measure::Calibration measure_ceilings(const Context& context, measure::Device& device,
                                                    measure::CalibrateOptions options);

}  // namespace ridge::cli
