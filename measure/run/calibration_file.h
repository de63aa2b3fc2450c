// The finished steps of a calibration, one line of JSON each, so that an interrupted one goes on.
//
//   options.known = read_calibration("ceilings.jsonl", device.info().name);
//   options.finished = [&](const CalibrationStep& step) { append_calibration(path, name, step); };
//
// Limits: lines of another device and a last line cut short by a kill do not count.
#pragma once

#include <string>
#include <vector>

#include "measure/run/calibrate.h"

namespace ridge::measure {

/// None where there is no such file. InputError when it cannot be read.
[[nodiscard]] std::vector<CalibrationStep> read_calibration(const std::string& path,
                                                            const std::string& device);

/// InputError when it cannot be written.
void append_calibration(const std::string& path, const std::string& device,
                        const CalibrationStep& step);

}  // namespace ridge::measure
