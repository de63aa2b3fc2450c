// Bytes that the bundled matrix-product kernels move between L2 and the multiprocessors, sector by
// sector.
//
//   bundled_l2_bytes(op, Implementation::mma, bundled_grid(...))
//
// Method (docs/model.md M23): a row of a tile is a run of bytes, and a run of w bytes that starts
// at multiples of g bytes touches (w + 32 - g) / 32 sectors of 32 bytes on average. An operand
// counts once for every tile that needs it, and a multicast once for every receiver. L1 keeps what
// the steps of a block share. These bytes cross between L2 and the multiprocessors; L2 looks up
// fewer if requests of multiprocessors in step are merged.
//
// Limits: what blocks of one multiprocessor share through L1 (naive, coalesced), and which narrow
// stores are joined (mma), depends on their timing. Both are averages over counters of one H200.
#pragma once

#include "model/matmul/bundled.h"

namespace ridge::model {

/// Bytes loaded and stored by all multiprocessors.
[[nodiscard]] Bytes bundled_l2_bytes(const Matmul& op, Implementation implementation,
                                     const BundledGrid& grid, const Machine& machine);

/// Bytes loaded and stored by a library kernel with such tiles, including partial sums and their
/// reduction. `boxes`: operands come through the copy engine in whole boxes of 128 bytes; else in
/// runs.
[[nodiscard]] Bytes library_l2_bytes(const Matmul& op, const Tile& tile, std::int32_t split,
                                     bool boxes);

/// Lines of 128 bytes that L2 reads for the operands of the wgmma kernel, counting a multicast
/// once: a box whose rows start at multiples of g bytes touches 2 - g / 128 lines per row on
/// average. (M21)
[[nodiscard]] Bytes cluster_line_bytes(const Matmul& op, const BundledGrid& grid);

}  // namespace ridge::model
