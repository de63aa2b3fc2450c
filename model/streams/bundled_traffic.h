// Bytes that the bundled streaming kernels move between L2 and the multiprocessors, sector by
// sector.
//
//   const SectorBytes moved = bundled_sectors(memory, op, Implementation::fused);
//   work.l2 = moved.read + moved.write;
//
// Method (docs/model.md B26 to B29): a warp's access is a run of w bytes. If runs start anywhere in
// a sector, at multiples of g bytes, each touches (w + 32 - g) / 32 sectors on average. L1 keeps
// what the threads of a block share: the sectors in which two runs of a read meet, the weights of a
// norm and a broadcast vector (fetched once per multiprocessor), and a row that is read twice, to
// the extent that the rows in flight fit.
//
// Limits: forward passes. Which stores that meet in a sector are joined on the way depends on
// timing; the shares are averages over counters of one H200. Gathers that reread a small table
// through L1 are up to a fifth too low.
#pragma once

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/machine/memory_parameters.h"

namespace ridge::model {

/// Bytes between L2 and all multiprocessors.
struct SectorBytes {
    Bytes read{};
    Bytes write{};
};

/// Softmax, norms and sums of rows. (eq. B27)
[[nodiscard]] SectorBytes bundled_sectors(const MemoryParameters& memory, const RowWise& op,
                                          Implementation implementation);

/// One fused kernel, or one kernel per function. Each block fetches its part of a broadcast vector.
/// (eq. B26)
[[nodiscard]] SectorBytes bundled_sectors(const MemoryParameters& memory, const Elementwise& op,
                                          Implementation implementation);

/// Indices, rows and output, in the runs of a warp. (eq. B28)
[[nodiscard]] SectorBytes bundled_sectors(const MemoryParameters& memory, const Gather& op);

/// `naive` (a sector per element) or tiled. (eq. B29)
[[nodiscard]] SectorBytes bundled_sectors(const MemoryParameters& memory, const Transpose& op,
                                          Implementation implementation);

}  // namespace ridge::model
