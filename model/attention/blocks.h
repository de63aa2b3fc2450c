// How attention kernels divide the score matrix: block sizes, blocks visited, splits of the keys.
//
// A flash kernel works on blocks of Br queries by Bc keys. A mask removes scores, but a kernel
// computes every block that holds at least one score as a whole. Both counts have closed forms
// (sums of floors by Euclid's algorithm), so they cost the same at any length.
//
//   const AttentionBlocks blocks = attention_blocks(op, Implementation::flash2, {});   // 128 x 64
//   const ScoreCounts scores = count_scores(op, blocks);
//
// Limits: block sizes are those of the public kernels at the time of writing (eq. A6), for head
// dimensions up to 256; larger ones take the last entry. Keys behind a page table mean the calls of
// a serving engine, which hold sequences of varying length (eq. A9).
#pragma once

#include <cstdint>

#include "hardware/quantity.h"
#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/machine/bundled_parameters.h"
#include "model/machine/residency.h"

namespace ridge::model {

/// The source of flash1's block sizes: the released kernel, or the paper's rule Bc = ceil(M / 4d),
/// Br = min(Bc, d) for an on-chip memory of M elements (eq. A7).
enum class FlashBlockRule : std::uint8_t { kernel, paper };

/// Which reads and writes are counted for flash1 (eq. A8): those of the literal algorithm, the same
/// without reading accumulators that are still zero, or those of the released kernel.
enum class Flash1Convention : std::uint8_t { algorithm, skip_zero_reads, kernel };

/// What the counts depend on, beside operation and implementation.
struct AttentionContext {
    std::int32_t compute_capability = 80;  ///< 90 for 9.0
    FlashBlockRule block_rule = FlashBlockRule::kernel;
    Bytes sram = 192.0 * units::KiB;  ///< on-chip memory per SM, for the paper's rule
    Flash1Convention flash1 = Flash1Convention::kernel;
    bool dropout = false;        ///< with a byte mask if unfused
    bool separate_mask = false;  ///< unfused: an elementwise kernel over the scores (mask or scale)
    std::int64_t sm_count = 0;   ///< 0: keys are not split, and K and V come from DRAM once
    Residency l2{};              ///< 0: K and V of the running heads are assumed to fit
    BundledAttentionCounts bundled{};
};

/// A block of `q` queries (Br) by `kv` keys (Bc).
struct AttentionBlocks {
    std::int64_t q = 0;
    std::int64_t kv = 0;

    friend constexpr bool operator==(const AttentionBlocks&, const AttentionBlocks&) = default;
};

/// How the work is distributed over thread blocks.
struct AttentionGrid {
    AttentionBlocks blocks;
    std::int64_t pack = 1;           ///< query heads folded into one block of queries (GQA)
    std::int64_t splits = 1;         ///< parts of the keys, combined by a second kernel
    std::int64_t tiles = 0;          ///< thread blocks, including splits
    std::int32_t blocks_per_sm = 1;  ///< thread blocks that share a multiprocessor
    bool few_rows = false;           ///< the variant of the kernel for decoding
    bool combines = false;           ///< a combine kernel follows, even if no keys were split
    std::int32_t query_copies = 0;   ///< kernels that reorder grouped queries and outputs
    std::int64_t turns = 1;  ///< groups of heads that the tile scheduler walks one after the other
};

/// Br and Bc of the implementation; unfused attention reports the 128 x 128 tile of its matmuls.
[[nodiscard]] AttentionBlocks attention_blocks(const Attention& attention,
                                               Implementation implementation,
                                               const AttentionContext& context);

/// Blocks, packing of query heads and splits of the keys, as the implementation chooses them.
[[nodiscard]] AttentionGrid attention_grid(const Attention& attention,
                                           Implementation implementation,
                                           const AttentionContext& context);

/// Scores over the whole batch and all heads, and their blocks in one head.
struct ScoreCounts {
    double exact = 0.0;               ///< query-key pairs that the mask leaves
    double executed = 0.0;            ///< computed, in whole blocks
    double full = 0.0;                ///< without a mask: batch x heads x seq_q x seq_kv
    double visits = 0.0;              ///< (query block, key block) pairs of one head
    std::int64_t query_blocks = 0;    ///< of one head, Tr
    std::int64_t key_blocks = 0;      ///< of one head, Tc
    std::int64_t longest_row = 0;     ///< key blocks that the longest query block visits
    std::int64_t longest_column = 0;  ///< query blocks that the longest key block visits
    std::int64_t visible_keys = 0;    ///< keys that any query sees
};

/// The differences between the published split heuristics of flash-attention.
struct SplitRule {
    double enough = 0.85;      ///< share of the best fill of the last wave
    bool distinct = false;     ///< skip split counts that leave the longest part unchanged (flash2)
    double short_parts = 1.0;  ///< weight of parts of fewer than four blocks
};

/// The smallest number of splits, at most 128, whose fill of the last wave is good enough, or one
/// if the tiles fill 0.8 of the slots (num_splits_heuristic of flash-attention).
[[nodiscard]] std::int64_t good_splits(std::int64_t tiles, std::int64_t slots,
                                       std::int64_t key_blocks, const SplitRule& rule);

/// Exact and block-wise counts. A causal mask ends at the last token (bottom right). A window of w
/// keys ends at the query if causal, and lies around it otherwise. (eq. A2, A3)
[[nodiscard]] ScoreCounts count_scores(const Attention& attention, const AttentionGrid& grid);

}  // namespace ridge::model
