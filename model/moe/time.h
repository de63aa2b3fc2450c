// The time of a block of experts: its kernels, and grouped products predicted from the library's.
//
//   time = start + sort + quantise + steps + experts + products + rows        (eq. X5 to X7)
//
//   const auto time = moe_time(op, *machine.moe, execution, machine, predict_matmul);
//
// A grouped product is predicted as the library's batched product with one matrix per expert that
// has rows, each of the average height. Tiles, waves, DRAM and tensor time come from there. The
// weights of the block come from DRAM to the extent that the L2 has lost them since the last call.
//
// Limits: fitted on CUTLASS kernels of a serving engine with tuned tiles, 16-bit and fp8 experts.
// Tiles that were never tuned are up to six times slower.
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
    Time experts;   ///< experts one after the other in a grouped kernel's schedule
    Time steps;     ///< along k
    Time products;  ///< up and down
    Time dram;      ///< of the products, within them
    Time tensor;
    Time rows;  ///< rows between the kernels, including tokens
    Bytes dram_bytes;
    Bytes l2;
    Flop executed_tensor;
    Tiling tiling;  ///< of the up product
};

/// Above this number of tokens several kernels sort the pairs.
inline constexpr std::int64_t sorted_at_once = 256;

/// Empty if the machine has no model of the products.
[[nodiscard]] std::optional<MoeTime> moe_time(const Moe& op, const MoeParameters& fitted,
                                              const Execution& execution, const Machine& machine,
                                              ProductPredictor product);

}  // namespace ridge::model
