// Time and DRAM traffic of the bundled matrix-product kernels.
//
//   const auto kernel = bundled_kernel(Implementation::mma);
//   bundled_matmul_time(situation, Implementation::mma, *kernel, *parameters).total
//
// Method (docs/model.md M21, M22): the grid is known exactly, and so are the blocks of the busiest
// multiprocessor. Blocks run in rounds of those that share a multiprocessor. A step along k of such
// a round takes the latency of the step or the pipe's time for all of its blocks, whichever is
// longer. The persistent clusters of wgmma are fed ahead of time, at the rate of L2 and DRAM.
// Operands that L2 loses between groups of tiles are read again.
#pragma once

#include "model/matmul/time.h"

namespace ridge::model {

/// How a bundled kernel divides C: whole blocks, in units that run one after the other. A cluster
/// counts as one unit.
struct BundledGrid {
    Tile tile;          ///< of one block
    double down = 1.0;  ///< units along m
    double across = 1.0;
    double units = 1.0;     ///< down x across x batch
    double slots = 1.0;     ///< units that run at once, one on each multiprocessor
    double resident = 1.0;  ///< units that share one slot
    double steps = 1.0;     ///< along k
    double busiest = 1.0;   ///< units of the busiest slot
};

/// The tile is the kernel's own choice unless the situation names one.
[[nodiscard]] BundledGrid bundled_grid(const MatmulSituation& situation,
                                       Implementation implementation, const BundledKernel& kernel);

/// `situation.parameters` gives DRAM rate, L2 residency and power.
[[nodiscard]] MatmulTime bundled_matmul_time(const MatmulSituation& situation,
                                             Implementation implementation,
                                             const BundledKernel& kernel,
                                             const BundledMatmul& parameters);

/// FLOP that the kernel executes: whole tiles and steps if it multiplies the padding.
[[nodiscard]] Flop bundled_executed_flop(const MatmulSituation& situation,
                                         Implementation implementation,
                                         const BundledKernel& kernel);

}  // namespace ridge::model
