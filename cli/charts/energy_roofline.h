// The energy roofline: FLOP per joule against FLOP per byte of DRAM.
//
//   write_chart_output(context, output, energy_roofline(machine, DataType::bf16, answers));
//
// Method: the roof is a kernel that does nothing but FLOP and DRAM traffic at the rates of the
// roofline; its energy is that of EN1 to EN6 of docs/model.md, so that the power limit lowers its
// middle. Operations are drawn at their DRAM intensity and their FLOP per joule.
#pragma once

#include <span>

#include "cli/views/prediction.h"
#include "plot/chart.h"

namespace ridge::cli {

/// InputError if the GPU has no energy parameters or no pipe for this type.
[[nodiscard]] plot::Chart energy_roofline(const model::Machine& machine, model::DataType type,
                                          std::span<const Answer> answers);

}  // namespace ridge::cli
