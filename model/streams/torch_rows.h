// What the forward and backward kernels of PyTorch along rows share (eq. B35, B37).
#pragma once

#include "model/streams/torch_kernel.h"
#include "model/streams/torch_time.h"

namespace ridge::model {

/// Whether a warp holds the row: up to 2048 elements and 4 KiB, of a logarithm 8 KiB.
[[nodiscard]] bool row_fits_warp(const RowWise& op);

/// How the warps of a softmax, or of its gradient, share out the rows: blocks of 128 threads.
struct WarpRows {
    double padded = 0.0;    ///< elements of a row, up to a power of two
    double loaded = 0.0;    ///< elements of a thread that a row has
    double elements = 0.0;  ///< the same up to a power of two
    double blocks = 0.0;
};
[[nodiscard]] WarpRows warp_rows_of(const RowWise& op);

/// Share of a row that the L2 has lost when its block comes back to it: blocks of `threads` hold a row
/// each, as many as are resident at once. (eq. B35, H2)
[[nodiscard]] double lost_of_rows(const MemoryParameters& memory, const RowWise& op,
                                  double threads);

/// One block looks up the losses of all rows, or writes their gradients, each `share` of a look-up.
[[nodiscard]] KernelTime row_losses_time(const MemoryParameters& memory, const RowWise& op,
                                         L2State l2, double share = 1.0);

/// The gradient of softmax, a norm, cross entropy or a reduction. (eq. B37)
[[nodiscard]] TorchTime torch_backward_rows_time(const MemoryParameters& memory, const RowWise& op,
                                                 L2State l2);

/// Whether torch.compile times several configurations on the spot and takes the quickest: short rows,
/// many columns and short ones.
[[nodiscard]] bool configurations_are_timed(const MemoryParameters& memory, const RowWise& op);

/// What torch.compile generates in their place, along rows or columns. (eq. B36, B38)
[[nodiscard]] TorchTime torch_compiled_rows_time(const MemoryParameters& memory, const RowWise& op,
                                                 L2State l2);

}  // namespace ridge::model
