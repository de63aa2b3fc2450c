// Block sizes, grids and score counts of attention kernels.
//
// The mask of one head is a band: query i sees keys [i + offset - left, i + offset + right] with
// offset = seq_kv - seq_q. Scores and visited blocks are differences of two clamped ramps, summed
// in closed form. Block sizes and split rules come from the flash-attention sources (eq. A6, A9).
#include "model/attention/blocks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/checked.h"
#include "hardware/error.h"
#include "model/attention/bundled.h"
#include "model/machine/features.h"

namespace ridge::model {
namespace {

/// Keys that query i sees, relative to its diagonal key.
struct Band {
    std::int64_t offset;
    std::int64_t left;
    std::int64_t right;
};

Band band_of(const Attention& attention) {
    const std::int64_t everything = attention.seq_q + attention.seq_kv;
    Band band{.offset = attention.seq_kv - attention.seq_q,
              .left = everything,
              .right = attention.causal ? 0 : everything};
    if (attention.window > 0) {
        const std::int64_t window = std::min(attention.window, 2 * everything);
        band.left = attention.causal ? window - 1 : window / 2;
        band.right = attention.causal ? 0 : window - 1 - window / 2;
    }
    return band;
}

/// Sum over i < n of clamp(start + i, 0, cap).
std::int64_t ramp_sum(std::int64_t start, std::int64_t n, std::int64_t cap) {
    const std::int64_t rise = std::clamp<std::int64_t>(1 - start, 0, n);
    const std::int64_t top = std::clamp<std::int64_t>(cap - start, rise, n);
    const std::int64_t ramp = (top - rise) * (2 * start + rise + top - 1) / 2;
    return ramp + (n - top) * cap;
}

/// Sum over i < n of floor((a i + b) / m) for a, b >= 0 and m > 0, in O(log m) steps.
std::int64_t floor_sum(std::int64_t n, std::int64_t m, std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    while (n > 0) {
        sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
        a %= m;
        b %= m;
        if (a == 0) break;
        const std::int64_t last = a * n + b;
        n = last / m;
        b = last % m;
        std::swap(a, m);
        if (m == 0) break;
    }
    return sum;
}

/// Sum over i < n of floor((clamp(start + step i, 0, cap) + round) / unit), for round < unit.
std::int64_t block_ramp_sum(std::int64_t start, std::int64_t step, std::int64_t n, std::int64_t cap,
                            std::int64_t unit, std::int64_t round) {
    if (n <= 0) return 0;
    const auto first_at_least = [&](std::int64_t value) {
        return start >= value ? 0 : std::min(n, ceil_divide(value - start, step));
    };
    const std::int64_t rise = first_at_least(1);
    if (rise == n) return 0;
    const std::int64_t top = std::max(rise, first_at_least(cap));
    const std::int64_t ramp = floor_sum(top - rise, unit, step, start + step * rise + round);
    return top == n ? ramp : ramp + (n - top) * ((cap + round) / unit);
}

/// Key blocks visited by all blocks of `q` rows of one KV head, with `pack` query heads folded into
/// the rows: row r holds query r / pack. Since floors of quotients nest, folding multiplies the
/// mask's offsets and the block of keys by `pack`, and the sums stay exact.
std::int64_t visited_blocks(const Attention& attention, std::int64_t q, std::int64_t kv,
                            std::int64_t pack) {
    const Band band = band_of(attention);
    const std::int64_t rows = attention.seq_q * pack;
    const std::int64_t count = ceil_divide(rows, q);
    const std::int64_t keys = attention.seq_kv * pack;
    const std::int64_t unit = kv * pack;
    const std::int64_t ahead = (band.offset + band.right) * pack;
    // The last block ends with the last row, each other block after q rows.
    const std::int64_t last_end = std::clamp<std::int64_t>(rows + ahead, 0, keys);
    const std::int64_t ends =
        block_ramp_sum(q + ahead, q, count - 1, keys, unit, unit - 1) + ceil_divide(last_end, unit);
    const std::int64_t starts =
        block_ramp_sum((band.offset - band.left) * pack, q, count, keys, unit, 0);
    return ends - starts;
}

std::int64_t visible_keys(const Attention& attention) {
    const Band band = band_of(attention);
    const std::int64_t first = std::max<std::int64_t>(0, band.offset - band.left);
    const std::int64_t end = std::min(attention.seq_kv, attention.seq_q + band.offset + band.right);
    return std::max<std::int64_t>(0, end - first);
}

/// The entry for the smallest listed head dimension that is at least `head_dim`, or the last one.
struct BlockEntry {
    std::int64_t head_dim;
    AttentionBlocks blocks;
};
template <std::size_t count>
AttentionBlocks look_up(const std::array<BlockEntry, count>& table, std::int64_t head_dim) {
    for (const BlockEntry& entry : table) {
        if (head_dim <= entry.head_dim) return entry.blocks;
    }
    return table.back().blocks;
}

AttentionBlocks flash1_blocks(const Attention& attention, const AttentionContext& context) {
    if (context.block_rule == FlashBlockRule::paper) {
        const double elements =
            context.sram.in(units::B) / static_cast<double>(size_of(attention.type));
        const double rows = std::ceil(elements / (4.0 * static_cast<double>(attention.head_dim)));
        const auto longest = static_cast<double>(attention.seq_kv);
        const auto kv = static_cast<std::int64_t>(std::clamp(rows, 1.0, longest));
        return {.q = std::min({kv, attention.head_dim, attention.seq_q}), .kv = kv};
    }
    const bool small =
        attention.head_dim > 64 ||
        (!features_of(context.compute_capability).mma_sync && attention.head_dim > 32);
    return {.q = 16, .kv = small ? 128 : 256};
}

AttentionBlocks flash2_blocks(const Attention& attention, const AttentionContext& context) {
    if (attention.direction == Direction::backward) {
        static constexpr std::array table{BlockEntry{64, {128, 128}}, BlockEntry{128, {64, 128}},
                                          BlockEntry{256, {64, 64}}};
        static constexpr std::array little_memory{
            BlockEntry{32, {128, 128}}, BlockEntry{96, {64, 128}}, BlockEntry{192, {64, 64}},
            BlockEntry{256, {64, 32}}};
        return features_of(context.compute_capability).little_shared
                   ? look_up(little_memory, attention.head_dim)
                   : look_up(table, attention.head_dim);
    }
    const std::int64_t d = attention.head_dim;
    if (d > 32 && d <= 64 && context.dropout) return {.q = 128, .kv = 64};
    if (d > 96 && d <= 128 && features_of(context.compute_capability).little_shared) {
        return attention.causal ? AttentionBlocks{.q = 64, .kv = 64}
                                : AttentionBlocks{.q = 128, .kv = 32};
    }
    if (d > 192 && !features_of(context.compute_capability).one_large_block)
        return {.q = 64, .kv = 64};
    static constexpr std::array table{BlockEntry{64, {128, 128}}, BlockEntry{256, {128, 64}}};
    return look_up(table, d);
}

AttentionBlocks flash3_blocks(const Attention& attention) {
    const bool local = attention.window > 0;
    const bool causal = attention.causal && attention.seq_q > 1 && !local;
    const std::int64_t d = attention.head_dim;
    if (attention.direction == Direction::backward) {
        if (d > 96 && d <= 128 && !attention.causal && !local) return {.q = 80, .kv = 128};
        static constexpr std::array table{BlockEntry{64, {128, 128}}, BlockEntry{128, {64, 128}},
                                          BlockEntry{192, {64, 96}}, BlockEntry{256, {64, 80}}};
        return look_up(table, d);
    }
    if (size_of(cache_type_of(attention)) == 1) {
        if (d > 96 && d <= 128 && attention.paged) return {.q = 128, .kv = 160};
        if (d > 192 && local) return {.q = 128, .kv = 64};
        static constexpr std::array table{BlockEntry{64, {192, 160}}, BlockEntry{96, {192, 128}},
                                          BlockEntry{128, {128, 224}}, BlockEntry{192, {128, 160}},
                                          BlockEntry{256, {128, 128}}};
        return look_up(table, d);
    }
    // Behind a page table, plain copies load the keys, in the block size of a window. The causal
    // block for d <= 64 and the one for d > 192 keep their size.
    const bool paged = attention.paged && d > 64 && d <= 192;
    static constexpr std::array full{BlockEntry{64, {192, 192}}, BlockEntry{96, {192, 144}},
                                     BlockEntry{128, {128, 176}}, BlockEntry{192, {128, 112}},
                                     BlockEntry{256, {128, 80}}};
    static constexpr std::array masked{BlockEntry{64, {192, 128}}, BlockEntry{96, {192, 144}},
                                       BlockEntry{128, {128, 128}}, BlockEntry{192, {128, 112}},
                                       BlockEntry{256, {128, 80}}};
    static constexpr std::array windowed{BlockEntry{64, {192, 160}}, BlockEntry{96, {192, 128}},
                                         BlockEntry{128, {128, 128}}, BlockEntry{192, {128, 96}},
                                         BlockEntry{256, {128, 64}}};
    return look_up(local || paged ? windowed : causal ? masked : full, d);
}

}  // namespace

// No fill exceeds 1, so a fill of at least `enough` is good enough whatever follows.
std::int64_t good_splits(std::int64_t tiles, std::int64_t slots, std::int64_t key_blocks,
                         const SplitRule& rule) {
    constexpr std::int64_t limit = 128;
    if (static_cast<double>(tiles) >= 0.8 * static_cast<double>(slots)) return 1;
    std::array<double, limit> fill;  // initialised only as far as it is read
    const std::int64_t most = std::min({slots, key_blocks, limit});
    double best = 0.0;
    std::int64_t capacity = slots;  // slots of the waves that hold all tiles
    std::int64_t previous_part = 0;
    std::int64_t found = 1;  // good enough compared with the best so far
    for (std::int64_t splits = 1; splits <= most; ++splits) {
        const std::int64_t all = tiles * splits;
        while (capacity < all) capacity += slots;
        double filled = static_cast<double>(all) / static_cast<double>(capacity);
        if (key_blocks < 4 * splits) filled *= rule.short_parts;
        if (rule.distinct) {
            const std::int64_t part = ceil_divide(key_blocks, splits);
            if (part == previous_part) filled = 0.0;
            previous_part = part;
        }
        fill[static_cast<std::size_t>(splits - 1)] = filled;
        best = std::max(best, filled);
        while (fill[static_cast<std::size_t>(found - 1)] < rule.enough * best) ++found;
        if (fill[static_cast<std::size_t>(found - 1)] >= rule.enough) return found;
    }
    return found;
}

namespace {

/// flash2 splits in blocks of 64 rows and counts two thread blocks per multiprocessor. Behind a
/// page table its split kernel always runs, but splits only grouped decoding.
AttentionGrid flash2_forward_grid(const Attention& attention, const AttentionContext& context) {
    AttentionGrid grid{.blocks = attention_blocks(attention, Implementation::flash2, context),
                       .blocks_per_sm = 2};
    const bool folds = attention.seq_q == 1 && attention.heads > attention.kv_heads &&
                       attention.window == 0 && !context.dropout && attention.head_dim % 8 == 0;
    grid.few_rows = attention.seq_q == 1;
    if (folds) {
        grid.pack = attention.heads / attention.kv_heads;
        grid.query_copies = attention.batch > 1 && attention.kv_heads > 1 ? 2 : 0;
    }
    constexpr std::int64_t split_rows = 64;
    const std::int64_t split_keys = attention.head_dim <= 64    ? 256
                                    : attention.head_dim <= 128 ? 128
                                                                : 64;
    const bool paged = attention.paged;
    if (context.sm_count > 0 && !context.dropout && (folds || !paged)) {
        const std::int64_t tiles = attention.batch * (attention.heads / grid.pack) *
                                   ceil_divide(attention.seq_q * grid.pack, split_rows);
        grid.splits = good_splits(tiles, 2 * context.sm_count,
                                  ceil_divide(attention.seq_kv, split_keys), {.distinct = true});
    }
    grid.combines = grid.splits > 1;
    if (grid.combines || paged) grid.blocks = {.q = split_rows, .kv = split_keys};
    return grid;
}

/// flash3 packs the heads of a group if that fills its rows better (by the 0.9 of heuristics.h of
/// flash-attention), and always in calls of varying lengths, where a packed tile costs nothing.
bool packs_heads(const Attention& attention, std::int64_t group, std::int64_t rows) {
    const auto fill = [rows](std::int64_t queries) {
        return static_cast<double>(queries) /
               static_cast<double>(ceil_divide(queries, rows) * rows);
    };
    return attention.paged || fill(attention.seq_q) < 0.9 * fill(attention.seq_q * group);
}

/// Splits of the keys in flash3 for `tiles` tiles of `key_blocks` blocks. Contiguous calls with as
/// many queries as keys ask for one split (num_splits = 1 of flash_attn_func). If queries follow
/// cached keys, the heuristic chooses (num_splits = 0 of flash_attn_with_kvcache). A serving engine
/// limits the splits (32 in decoding, up to 992 sequences; else a stricter heuristic) and lets a
/// small kernel choose: as many blocks per multiprocessor as an even share of all blocks plus 10 %.
void split_flash3_keys(AttentionGrid& grid, const Attention& attention, std::int64_t sm_count,
                       std::int64_t tiles, std::int64_t key_blocks) {
    if (!attention.paged) {
        if (attention.seq_q < attention.seq_kv && key_blocks > 4) {
            grid.splits = good_splits(tiles, sm_count, key_blocks, {});
        }
        grid.combines = grid.splits > 1;
        return;
    }
    std::int64_t bound = attention.batch > 992 ? 1 : 32;
    if (attention.seq_q > 1) {
        constexpr SplitRule strict{.enough = 0.95, .short_parts = 0.85};
        bound = key_blocks > 4 ? good_splits(tiles, sm_count, key_blocks, strict) : 1;
    }
    grid.combines = bound > 1;
    if (!grid.combines) return;
    constexpr double margin = 1.1;  // flash_prepare_scheduler.cu of flash-attention
    const double share = margin * static_cast<double>(tiles * key_blocks);
    const double per_sm = std::ceil(share / static_cast<double>(sm_count));
    const double parts = std::ceil(static_cast<double>(key_blocks) / per_sm);
    grid.splits = std::clamp<std::int64_t>(static_cast<std::int64_t>(parts), 1, bound);
}

/// The scheduler of a causal flash3 call walks as many heads together as have their K and V in 8
/// MiB, at most 16, the longest tiles first. The next heads follow.
std::int64_t turns_of(const Attention& attention, const AttentionGrid& grid,
                      std::int64_t key_blocks) {
    constexpr std::int64_t cache = std::int64_t{8} << 20;
    const std::int64_t resident =
        cache / (grid.blocks.kv * 2 * size_of(cache_type_of(attention)) * attention.head_dim);
    std::int64_t together = 16;
    while (together > 1 && key_blocks * together > resident) together /= 2;
    const std::int64_t heads = attention.heads / grid.pack;
    return attention.batch * ceil_divide(heads, std::min(together, heads));
}

AttentionGrid flash3_forward_grid(const Attention& attention, const AttentionContext& context) {
    AttentionGrid grid{.blocks = attention_blocks(attention, Implementation::flash3, context)};
    const std::int64_t group = attention.heads / attention.kv_heads;
    if (group > 1 && packs_heads(attention, group, grid.blocks.q)) grid.pack = group;
    const bool decodes = attention.seq_q == 1;
    grid.few_rows = attention.seq_q * grid.pack <= 64 && (decodes || attention.head_dim == 128);
    if (grid.few_rows) grid.blocks.q = 64;
    if (attention.paged && size_of(cache_type_of(attention)) > 1 && attention.head_dim <= 64 &&
        attention.window == 0 && (decodes || !attention.causal)) {
        grid.blocks.kv = grid.few_rows ? 192 : 160;
    }
    const std::int64_t query_blocks = ceil_divide(attention.seq_q * grid.pack, grid.blocks.q);
    const std::int64_t tiles = attention.batch * (attention.heads / grid.pack) * query_blocks;
    // The keys that one block of queries loads (get_num_splits of hopper/flash_api.cpp).
    const bool windowed = attention.window > 0 && !decodes;
    const std::int64_t loaded =
        windowed ? std::min(visible_keys(attention), attention.window + grid.blocks.q)
                 : visible_keys(attention);
    const std::int64_t key_blocks = ceil_divide(loaded, grid.blocks.kv);
    if (context.sm_count > 0) {
        split_flash3_keys(grid, attention, context.sm_count, tiles, key_blocks);
    }
    grid.turns = turns_of(attention, grid, ceil_divide(visible_keys(attention), grid.blocks.kv));
    return grid;
}

/// Rows of the tile for few rows: the query heads of a group, padded to what the instructions take.
std::int64_t packed_rows(std::int64_t group) {
    for (const std::int64_t rows : {8, 16, 32}) {
        if (group <= rows) return rows;
    }
    return 64;
}

AttentionBlocks flashinfer_blocks(const Attention& attention) {
    constexpr std::int64_t keys = 128;
    if (attention.seq_q == 1) {
        return {.q = packed_rows(attention.heads / attention.kv_heads), .kv = keys};
    }
    static constexpr std::array table{BlockEntry{128, {256, keys}}, BlockEntry{256, {128, keys}},
                                      BlockEntry{512, {64, keys}}};
    return look_up(table, attention.head_dim);
}

/// With one query, the kernel packs the heads of its group and splits the keys if that fills
/// multiprocessors, in parts of at least four blocks. The last thread block of a tile adds the
/// parts, so no second kernel runs. With more queries, a tile walks one head.
AttentionGrid flashinfer_forward_grid(const Attention& attention, const AttentionContext& context) {
    AttentionGrid grid{.blocks = flashinfer_blocks(attention)};
    grid.turns = attention.batch * attention.heads;
    grid.few_rows = attention.seq_q == 1;
    if (!grid.few_rows) return grid;
    grid.pack = attention.heads / attention.kv_heads;
    constexpr std::int64_t shortest_part = 4;
    const std::int64_t tiles =
        attention.batch * attention.kv_heads * ceil_divide(grid.pack, grid.blocks.q);
    const std::int64_t parts =
        ceil_divide(ceil_divide(visible_keys(attention), grid.blocks.kv), shortest_part);
    grid.splits = std::clamp<std::int64_t>(context.sm_count / tiles, 1, parts);
    return grid;
}

}  // namespace

AttentionBlocks attention_blocks(const Attention& attention, Implementation implementation,
                                 const AttentionContext& context) {
    switch (implementation) {
        case Implementation::flash1:
            return flash1_blocks(attention, context);
        case Implementation::flash2:
            return flash2_blocks(attention, context);
        case Implementation::flash3:
            return flash3_blocks(attention);
        case Implementation::flashinfer:
            return flashinfer_blocks(attention);
        case Implementation::mma:
        case Implementation::wgmma:
            return bundled_attention_grid(attention, implementation, context).blocks;
        default:
            return {.q = 128, .kv = 128};
    }
}

AttentionGrid attention_grid(const Attention& attention, Implementation implementation,
                             const AttentionContext& context) {
    if (is_bundled_attention(implementation)) {
        return bundled_attention_grid(attention, implementation, context);
    }
    AttentionGrid grid{.blocks = attention_blocks(attention, implementation, context)};
    const std::int64_t heads = attention.batch * attention.heads;
    const bool forward = attention.direction == Direction::forward;
    if (implementation == Implementation::flash1) {
        grid.tiles = heads;
        return grid;
    }
    if (implementation == Implementation::flash2 && forward) {
        grid = flash2_forward_grid(attention, context);
    }
    if (implementation == Implementation::flash3 && forward) {
        grid = flash3_forward_grid(attention, context);
    }
    if (implementation == Implementation::flashinfer && forward) {
        grid = flashinfer_forward_grid(attention, context);
    }
    const std::int64_t along = forward ? ceil_divide(attention.seq_q * grid.pack, grid.blocks.q)
                                       : ceil_divide(attention.seq_kv, grid.blocks.kv);
    grid.tiles = heads / grid.pack * along * grid.splits;
    return grid;
}

ScoreCounts count_scores(const Attention& attention, const AttentionGrid& grid) {
    const Band band = band_of(attention);
    const std::int64_t keys = attention.seq_kv;
    const std::int64_t pairs = ramp_sum(band.offset + band.right + 1, attention.seq_q, keys) -
                               ramp_sum(band.offset - band.left, attention.seq_q, keys);
    const auto heads = static_cast<double>(attention.batch * attention.heads);

    const AttentionBlocks& blocks = grid.blocks;
    ScoreCounts counts;
    counts.exact = heads * static_cast<double>(pairs);
    counts.full = heads * static_cast<double>(attention.seq_q) * static_cast<double>(keys);
    counts.visits = static_cast<double>(visited_blocks(attention, blocks.q, blocks.kv, grid.pack));
    counts.executed = heads / static_cast<double>(grid.pack) * counts.visits *
                      static_cast<double>(blocks.q) * static_cast<double>(blocks.kv);
    counts.query_blocks = ceil_divide(attention.seq_q * grid.pack, blocks.q);
    counts.key_blocks = ceil_divide(keys, blocks.kv);
    counts.visible_keys = visible_keys(attention);
    // A window of l + r + 1 keys and a block of n queries have at most l + r + n keys in common.
    const std::int64_t around = band.left + band.right;
    const std::int64_t queries = ceil_divide(blocks.q, grid.pack);
    counts.longest_row = std::min(ceil_divide(counts.visible_keys, blocks.kv),
                                  ceil_divide(around + queries, blocks.kv) + 1);
    counts.longest_column =
        std::min(counts.query_blocks, ceil_divide((around + blocks.kv) * grid.pack, blocks.q) + 1);
    return counts;
}

}  // namespace ridge::model
