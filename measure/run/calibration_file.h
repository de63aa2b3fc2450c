// Keeps the finished steps of a calibration, one line of JSON each, so that it can be resumed.
//
//   options.known = read_calibration("ceilings.jsonl", device.info().name);
//   options.finished = [&](const CalibrationStep& step) { append_calibration(path, name, step); };
//
// Limits: lines of another device are ignored, and so is a last line that a kill cut short.
#pragma once

#include <string>
#include <vector>

#include "measure/run/calibrate.h"

namespace ridge::measure {

/// Empty when the file does not exist. InputError when it cannot be read.
[[nodiscard]] std::vector<CalibrationStep> read_calibration(const std::string& path,
                                                            const std::string& device);

/// Appends one step. InputError when the file cannot be written.
void append_calibration(const std::string& path, const std::string& device,
                        const CalibrationStep& step);

}  // namespace ridge::measure
