// What the laws `attention_tiles` and `attention_parts` know of one attention kernel of an engine
// (`model/engine/attention_tiles.h`, `model/engine/attention_parts.h`).
//
//   [model.engine.attention_tiles.sglang.fa3_prefill]
//   start = { value = "7.1 us", source = "FIT" }
//   tile = { value = "2100 clk", source = "FIT" }
//
// Times of work on a multiprocessor are in its clocks and rates are shares of the data sheet's, so
// that values carry over to a chip that nobody measured. A kernel states what its shapes determine;
// what it does not state is without effect.
#pragma once

#include <cstdint>
#include <span>

#include "hardware/quantity.h"
#include "model/machine/engine_law.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// What both laws have in common.
struct AttentionWalk {
    Time start{};
    double matmul = 0.0;
    Cycles block{};
    BytesPerCycle load{};
    double narrow = 1.0;
    double odd = 1.0;
    double wide = 1.0;
    double wider = 1.0;
    double widest = 1.0;
    Cycles skip{};
    Cycles tile{};
    Cycles tile_rows{};
    Cycles tile_columns{};
    double last_wave = 0.0;
    double dram = 1.0;
    Cycles write_wave{};
    double write_query = 0.0;
    BytesPerCycle write_load{};
    Time scan{};
    Time combine{};
    Time combine_part{};
    BytesPerCycle combine_load{};
    Time pad{};
};

/// Many queries: prefill and encoders.
struct AttentionTiles {
    AttentionWalk walk;
    double window_block = 1.0;
    double edge_block = 1.0;
    double lone = 1.0;
    double tail = 0.0;
    double droop = 0.0;
    double pad_copy = 0.0;
    double reread = 0.0;
};

/// One query per sequence: decoding.
struct AttentionParts {
    AttentionWalk walk;
    double single = 1.0;
    double shared = 1.0;
    Cycles idle_part{};
    BytesPerCycle l2{};
    Time dram_start{};
    Time fold{};
    Cycles search{};
    Cycles combine_block{};
    double cold = 0.0;
    double crowding = 0.0;
};

[[nodiscard]] std::span<const Parameter<AttentionTiles>> attention_tiles_table();
[[nodiscard]] std::span<const Parameter<AttentionParts>> attention_parts_table();
[[nodiscard]] std::span<const LawAttribute> attention_walk_attributes();

/// The places of the attributes in `attention_walk_attributes()`.
enum class WalkAttribute : std::uint8_t {
    rows,
    keys,
    pack,
    width,
    split,
    waves,
    part,
    parts,
    combines,
    apart,
    folds
};

/// How a kernel chooses in how many parts thread blocks share the keys of a tile: the attribute
/// `split`. Numbers stand in software files.
enum class SplitMethod : std::uint8_t {
    whole,    ///< one part
    fill,     ///< as many as fill `waves` of multiprocessors, of at least `part` keys
    history,  ///< the same over all keys, also those outside a window, rounded down
    flash2,   ///< num_splits_heuristic of FlashAttention 2, for folded queries
    flash3,   ///< that of FlashAttention 3 with its scheduler kernel
    chunks,   ///< FlashInfer's plan: the smallest chunks that fit into `waves` of thread blocks
    fixed,    ///< `parts`, of whole blocks; what is left of them returns at once
    lengths   ///< SGLang's: by the logarithm of the length, at most `parts`
};

}  // namespace ridge::model
