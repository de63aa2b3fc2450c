// How a calibration that was made again differs from the committed one.
//
//   for (const BuiltDifference& each : differences(made, committed_text))
//       each.field, each.committed, each.made      // model.torch.combine, "3.053 us", "3.059 us"
//
// Numbers agree if they differ by less than 1e-4, as another compiler's do, and leaves of trees if they
// differ by 1 in their last place. Notes hold standard errors to two digits and do not count.
#pragma once

#include <string>
#include <vector>

#include "measure/fit/built_in.h"

namespace ridge::measure {

struct BuiltDifference {
    std::string field;      ///< or the source whose records differ; "" if the file cannot be read
    std::string committed;  ///< "" if the file does not have it
    std::string made;
};

/// In the order of the fields' names; none if the texts agree.
[[nodiscard]] std::vector<BuiltDifference> differences(const BuiltFile& made,
                                                       const std::string& committed);

}  // namespace ridge::measure
