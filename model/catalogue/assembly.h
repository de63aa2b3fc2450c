// Puts the description of a device together from chips, software and calibrations (`catalogue.h`).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/catalogue.h"
#include "model/catalogue/data_files.h"

namespace ridge::model {

/// What a description is made from; `with_corrections`: also the residual corrections.
struct Ingredients {
    const hardware::Catalogue& chips;
    const DataFiles& files;
    std::vector<StackPart> stack;
    bool with_corrections = true;
};

/// Table of rows that `assemble` adds to a description: `software` whose parameters come from fits to
/// another `version` alone.
inline constexpr std::string_view fitted_table = "fitted";

/// The description and what is wrong with the files. The layers are those of the device.
[[nodiscard]] std::pair<hardware::Description, std::vector<hardware::Problem>> assemble(
    hardware::Layers layers, const Ingredients& from);

/// What the files of chips may hold beside facts: what version 0.1 wrote there.
[[nodiscard]] const hardware::Form& chip_form();

}  // namespace ridge::model
