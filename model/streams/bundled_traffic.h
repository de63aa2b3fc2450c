// Bytes between L2 and the multiprocessors that the bundled streaming kernels move, sector by
// sector.
//
//   const SectorBytes moved = bundled_sectors(memory, op, Implementation::fused);
//   work.l2 = moved.read + moved.write;
//
// Method (docs/model.md B26 to B29): a warp's access is a run of bytes; one that starts anywhere in
// a sector touches (w + 32 - g) / 32 sectors on average, g what all starts are multiples of. L1
// keeps what the threads of a block share: the sectors in which two runs of a read meet, the
// weights of a norm and a broadcast vector (fetched once per multiprocessor), and a row that is
// read twice as far as the rows in flight fit.
//
// Limits: forward passes. Which stores that meet in a sector are joined on their way depends on
// timing; the shares are averages over counters of one H200. Gathers that reread a small table
// through L1 lie up to a fifth below.
#pragma once

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/machine/memory_parameters.h"

namespace ridge::model {

/// Between L2 and all multiprocessors.
struct SectorBytes {
    Bytes read{};
    Bytes write{};
};

/// Softmax, norms and sums of rows. (eq. B27)
[[nodiscard]] SectorBytes bundled_sectors(const MemoryParameters& memory, const RowWise& op,
                                          Implementation implementation);

/// Fused or one kernel per function; each block fetches its part of a broadcast vector. (eq. B26)
[[nodiscard]] SectorBytes bundled_sectors(const MemoryParameters& memory, const Elementwise& op,
                                          Implementation implementation);

/// Indices, rows and output in the runs of a warp. (eq. B28)
[[nodiscard]] SectorBytes bundled_sectors(const MemoryParameters& memory, const Gather& op);

/// `naive` (a sector per element) or tiled. (eq. B29)
[[nodiscard]] SectorBytes bundled_sectors(const MemoryParameters& memory, const Transpose& op,
                                          Implementation implementation);

}  // namespace ridge::model
