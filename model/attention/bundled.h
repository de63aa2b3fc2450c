// How the bundled attention kernels divide their work: the tiles, grids and splits of model/bundled
// as the model counts them (eq. A13 of docs/model.md).
//
//   impl=wgmma   Hopper: persistent, one thread block per multiprocessor takes tile after tile
//   impl=mma     mma.sync on sm_80 and newer: one thread block per tile, two per multiprocessor;
//                few queries against a longer cache run the decode kernel, which splits the keys
//
//   const AttentionGrid grid = bundled_attention_grid(op, Implementation::mma, context);
//
// Limits: forward, 16-bit elements, head_dim 64 or 128, no window, no writing of the cache.
#pragma once

#include <string>

#include "model/attention/blocks.h"

namespace ridge::model {

[[nodiscard]] constexpr bool is_bundled_attention(Implementation implementation) {
    return implementation == Implementation::mma || implementation == Implementation::wgmma;
}

/// Whether `mma` runs the decode kernel: few rows against more keys (`bundled::decodes`).
[[nodiscard]] bool decodes_with_splits(const Attention& attention);

/// Why no bundled kernel of attention, `standard` included, runs the operation, whatever its size and
/// type; empty if one may.
[[nodiscard]] std::string unmeasured_attention(const Attention& attention);

/// Why the bundled kernels do not take the operation; empty if they do.
[[nodiscard]] std::string bundled_attention_refusal(const Attention& attention);

/// Tiles, splits and grid of `mma` or `wgmma`. `turns` is the number of groups of heads that are
/// walked one after the other, each from its longest tile to its shortest.
[[nodiscard]] AttentionGrid bundled_attention_grid(const Attention& attention,
                                                   Implementation implementation,
                                                   const AttentionContext& context);

/// Number of times that K and V come from DRAM: once more in each round of the tiles that share
/// them, to the extent that the L2 has lost them. (A14)
[[nodiscard]] double bundled_kv_passes(const Attention& attention, Implementation implementation,
                                       const AttentionGrid& grid, const AttentionContext& context);

/// Bytes between L2 and the multiprocessors for the tiled kernels. `executed_scores` are the scores
/// that their tiles compute, `visible_keys` the keys that any query sees. (A15)
[[nodiscard]] Bytes bundled_l2_bytes(const Attention& attention, Implementation implementation,
                                     const AttentionContext& context, const AttentionGrid& grid,
                                     double executed_scores, double visible_keys);

/// Scores that the kernel computes, which replace those of `count_scores`: the decode kernel
/// ignores the mask and works in slices of 16 keys, and a tile whose queries see no key still
/// computes one block.
[[nodiscard]] double bundled_executed_scores(const Attention& attention, const AttentionGrid& grid,
                                             const ScoreCounts& counts);

/// Special-function results that the kernel computes: one exp2 per score; a rescaling by each of
/// the four lanes that share a row, once per block of keys; and a reciprocal and a logarithm per
/// lane and row. The merging of the decode kernel's parts is left out.
[[nodiscard]] double bundled_executed_special(const AttentionGrid& grid, double executed_scores);

}  // namespace ridge::model
