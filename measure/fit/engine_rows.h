// Rows of tables of serving engines, by the kernel whose law and values predict them.
//
//   for (const EngineKernelRows& each : engine_kernel_rows(request))
//       each.section, each.machine, each.rows
//
// Shapes that judge (`left_out.h`) are left out, unless the request wants every shape, and so are rows whose kernel no
// file of the software describes.
#pragma once

#include <string>
#include <vector>

#include "measure/fit/fit.h"
#include "model/machine/engine_kernel.h"
#include "model/machine/machine.h"

namespace ridge::measure {

struct EngineKernelRows {
    std::string gpu;
    std::string section;     ///< of the kernel's parameters
    model::Machine machine;  ///< with the rows' software
    std::vector<MeasuredRow> rows;

    [[nodiscard]] const model::EngineKernel& kernel() const;
    void drop_correction();
    /// Of the law's corrections; none for most laws.
    [[nodiscard]] model::FeatureNames features() const;
};

[[nodiscard]] std::vector<EngineKernelRows> engine_kernel_rows(const FitRequest& request);

}  // namespace ridge::measure
