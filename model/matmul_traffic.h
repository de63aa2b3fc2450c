// Bytes between L2 and the multiprocessors that the bundled matrix-product kernels move, sector by
// sector.
//
//   bundled_l2_bytes(op, Implementation::mma, bundled_grid(...))
//
// Method (docs/model.md M23): a row of a tile is a run of bytes, and a run of w bytes that starts
// at multiples of g bytes touches (w + 32 - g) / 32 sectors of 32 bytes on average. L1 keeps what
// blocks of one multiprocessor share; requests of multiprocessors that run in step are merged on
// their way to L2, as long as they ask for the same whole sectors. Stores narrower than a sector
// are counted with the share that reaches L2 unmerged.
//
// Limits: what is merged depends on how far blocks drift apart; the shares are fitted to counters
// of one H200 and are worst, by a third, for grids of a few blocks.
#pragma once

#include "model/matmul_bundled.h"

namespace ridge::model {

/// Read and written, without what one partition of L2 fetches from the other.
[[nodiscard]] Bytes bundled_l2_bytes(const Matmul& op, Implementation implementation,
                                     const BundledGrid& grid, std::int64_t sm_count);

/// Mean sectors of a run of `bytes` whose starts are multiples of `granularity`. (M23)
[[nodiscard]] double mean_sectors(std::int64_t bytes, std::int64_t granularity);

}  // namespace ridge::model
