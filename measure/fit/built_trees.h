// The file CHIP/SOFTWARE.trees of a calibration that is made again.
//
//   const std::string text = built_trees({.reports = own, .gpu = "h200-sxm", .software = "pytorch-2.11",
//                                         .header = lines, .keep = {"torch_rows"}, .committed = text});
//
// A class in `keep` has what the committed file says, with its source under a key that begins with KEPT, since the
// header is about what was made.
#pragma once

#include <string>
#include <vector>

#include "hardware/shared_text.h"
#include "measure/fit/fit_residual.h"

namespace ridge::measure {

struct TreesToBuild {
    std::vector<ResidualReport> reports;  ///< of one GPU and software
    std::string gpu;
    std::string software;
    std::vector<std::string> header;  ///< lines that say what made the file
    std::vector<std::string> keep;    ///< names of classes
    SharedText committed;             ///< the file that there is; empty if there is none
};

/// A class in `keep` that the committed file does not have is left out.
[[nodiscard]] std::string built_trees(const TreesToBuild& trees);

}  // namespace ridge::measure
