// The time of a block of experts: its kernels, and the library's products as grouped ones.
//
//   time = start + sort + quantise + steps + experts + products + rows                      (eq. X5 to X7)
//
//   const auto time = moe_time(op, *machine.moe, execution, machine, predict_matmul);
//
// A grouped product is predicted as the library's batched one, as many matrices as experts have
// rows and each of the average height: tiles, waves, DRAM and tensor time come from there. The
// weights of the block come from DRAM as far as the L2 has lost them since the last call.
//
// Limits. Fitted on CUTLASS kernels of a serving engine with tuned tiles, 16-bit and fp8 experts;
// tiles that were never tuned are up to six times slower.
#pragma once

#include <optional>

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/machine/machine.h"
#include "model/moe/work.h"
#include "model/roof/product_predictor.h"

namespace ridge::model {

struct MoeTime {
    Time total;
    Time launch;    ///< fixed times of the kernels, gaps of the launch mode, sorting
    Time experts;   ///< one after the other in a grouped kernel's schedule
    Time steps;     ///< along k
    Time products;  ///< up and down
    Time dram;      ///< of the products, within them
    Time tensor;
    Time rows;  ///< between the kernels, tokens included
    Bytes dram_bytes;
    Bytes l2;
    Flop executed_tensor;
    Tiling tiling;  ///< of the up product
};

/// Above so many tokens the pairs are sorted by several kernels.
inline constexpr std::int64_t sorted_at_once = 256;

/// Empty where the machine has no model of the products.
[[nodiscard]] std::optional<MoeTime> moe_time(const Moe& op, const MoeParameters& fitted,
                                              const Execution& execution, const Machine& machine,
                                              ProductPredictor product);

}  // namespace ridge::model
