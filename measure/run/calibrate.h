// Measures the ceilings and latencies of a device and writes them as an overlay description.
//
//   const Calibration calibration = calibrate(device, {});
//   const std::string toml =
//       to_overlay(calibration, "h200-sxm", "NVIDIA H200 SXM 141GB", "NVIDIA");
//
// Method: each ceiling is the median of the steady samples of a microbenchmark. Tensor-core rates
// are measured twice: in short kernels (burst), and held for seconds (sustained), when the power
// limit acts. The size ramp of DRAM reads is fitted (`calibration_fit.h`). A ceiling that the
// device cannot show is left out and listed with the reason: it is absent, never zero.
//
// Limits: the driver chooses the clocks; the notes of the fields state them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/run/calibration_fit.h"
#include "measure/run/device.h"
#include "measure/run/sampling.h"

namespace ridge::measure {

/// One field of the overlay.
struct CalibratedField {
    std::string path;    ///< path in the schema: "measured.dram.copy"
    std::string value;   ///< with its unit; a number for pure numbers
    bool quoted = true;  ///< true for texts with a unit, false for pure numbers
    std::string note{};
};

/// A ceiling that was not measured.
struct Skipped {
    std::string path;
    std::string reason;
};

struct Calibration {
    DeviceInfo device;
    std::string date;
    std::string tool;
    std::vector<CalibratedField> fields;
    std::vector<Skipped> skipped;
    std::optional<RampFit> ramp{};
    bool interrupted = false;
};

/// The results of one step. A step that is kept need not be measured again.
struct CalibrationStep {
    std::string name;
    std::vector<CalibratedField> fields{};
    std::vector<Skipped> skipped{};
};

struct CalibrateOptions {
    std::int32_t samples = 20;
    std::string tool = "ridge";
    Hooks hooks = real_hooks();
    std::vector<CalibrationStep> known{};  ///< steps that an earlier run finished
    /// Called after each step that is measured.
    std::function<void(const CalibrationStep&)> finished{};
    /// Called before each step with its name, its number from 0 and the number of steps.
    std::function<void(std::string_view, std::int64_t, std::int64_t)> progress{};
};

[[nodiscard]] Calibration calibrate(Device& device, const CalibrateOptions& options);

/// The sections of the overlay, whose fields have source = "RUN", and the text of that source.
[[nodiscard]] std::string measured_sections(const Calibration& calibration);
[[nodiscard]] std::string source_of(const Calibration& calibration);

/// The overlay as TOML; `ridge gpus check` accepts it. `name` is the catalogue's name of the device
/// that the overlay adds to.
[[nodiscard]] std::string to_overlay(const Calibration& calibration, const std::string& name,
                                     const std::string& title, const std::string& vendor);

}  // namespace ridge::measure
