// Functions that PyTorch's forward and backward kernels along rows share (eq. B35, B37).
#pragma once

#include "model/streams/torch_kernel.h"
#include "model/streams/torch_time.h"

namespace ridge::model {

/// Whether a warp holds the row: up to 2048 elements and 8 KiB; 4 KiB for gradients other than a
/// loss's.
[[nodiscard]] bool row_fits_warp(const RowWise& op);

/// How the warps of a softmax, or of its gradient, divide the rows: blocks of 128 threads.
struct WarpRows {
    double padded = 0.0;    ///< elements of a row, rounded up to a power of two
    double loaded = 0.0;    ///< elements of a thread that the row has
    double elements = 0.0;  ///< the same, rounded up to a power of two
    double blocks = 0.0;
};
[[nodiscard]] WarpRows warp_rows_of(const RowWise& op);

/// Share of a row that the L2 has lost when its block comes back to it. Blocks of `threads` hold
/// one row each, as many as are resident at once. (eq. B35, H2)
[[nodiscard]] double lost_of_rows(const MemoryParameters& memory, const RowWise& op,
                                  double threads);

/// Time of one block that looks up the losses of all rows, or writes their gradients; each takes
/// `share` of a look-up.
[[nodiscard]] KernelTime row_losses_time(const MemoryParameters& memory, const RowWise& op,
                                         L2State l2, double share = 1.0);

/// Time of the gradient of softmax, a norm, cross entropy or a reduction. (eq. B37)
[[nodiscard]] TorchTime torch_backward_rows_time(const MemoryParameters& memory, const RowWise& op,
                                                 L2State l2);

/// Whether torch.compile times several configurations on the spot and takes the fastest: for short
/// rows, for many columns and for short columns.
[[nodiscard]] bool configurations_are_timed(const MemoryParameters& memory, const RowWise& op);

/// Time of the kernels that torch.compile generates instead, along rows or columns. (eq. B36, B38)
[[nodiscard]] TorchTime torch_compiled_rows_time(const MemoryParameters& memory, const RowWise& op,
                                                 L2State l2);

}  // namespace ridge::model
