// The corrections of classes in a file CHIP/SOFTWARE.trees that is made again.
//
//   trees = built_trees({.reports = own, .gpu = "h200-sxm", .source = source, .keep = {"torch_rows"},
//                        .committed = trees});
//
// A class in `keep` has what the committed file says, with its source under a key that begins with KEPT. Corrections
// of engines' kernels stay.
#pragma once

#include <string>
#include <vector>

#include "hardware/description.h"
#include "measure/fit/fit_residual.h"

namespace ridge::measure {

struct TreesToBuild {
    std::vector<ResidualReport> reports;  ///< of one GPU and software
    std::string gpu;
    hardware::Source source;        ///< what made them; its key does not count
    std::vector<std::string> keep;  ///< names of classes
    hardware::Description committed;
};

/// A class in `keep` that the committed file does not have is left out.
[[nodiscard]] hardware::Description built_trees(const TreesToBuild& trees);

}  // namespace ridge::measure
