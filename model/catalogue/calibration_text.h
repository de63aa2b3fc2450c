// Writes a calibration as text, always in the same order.
//
//   const std::string text = calibration_text(description);    // calibration/CHIP/SOFTWARE.toml
//   load_text(text, path, schema(), calibration_form())         // gives the same description
//
// Sections and fields stand in the order of the schema, sources in the order of their first use. Only
// sources that a field uses are written. Comments of a file that was read are not kept.
#pragma once

#include <string>

#include "hardware/description.h"

namespace ridge::model {

[[nodiscard]] std::string calibration_text(const hardware::Description& calibration);

}  // namespace ridge::model
