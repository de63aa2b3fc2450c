#include "model/attention/bundled.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/bundled/attention.h"
#include "model/core/data_type.h"

namespace ridge::model {
namespace {

std::int64_t group_of(const Attention& attention) {
    return attention.heads / attention.kv_heads;
}

bundled::AttentionExtents extents_of(const Attention& attention) {
    return {.batch = attention.batch,
            .heads = attention.heads,
            .kv_heads = attention.kv_heads,
            .queries = attention.seq_q,
            .keys = attention.seq_kv,
            .head_dim = attention.head_dim,
            .causal = attention.causal};
}

AttentionGrid decode_grid(const Attention& attention, const AttentionContext& context) {
    const bundled::AttentionExtents extents = extents_of(attention);
    const bundled::AttentionKernel kernel = bundled::attention_decode(attention.head_dim);
    AttentionGrid grid{.blocks = {.q = kernel.queries, .kv = kernel.keys},
                       .pack = extents.group(),
                       .blocks_per_sm = kernel.blocks_per_sm,
                       .few_rows = true};
    if (context.sm_count > 0) grid.splits = bundled::decode_splits(extents, context.sm_count);
    grid.combines = grid.splits > 1;
    grid.tiles = bundled::decode_grid(extents, grid.splits).blocks();
    return grid;
}

/// Thread blocks that share a multiprocessor, if it has room for them.
std::int32_t resident_blocks(const bundled::AttentionKernel& kernel,
                             const AttentionContext& context) {
    constexpr double reserved = 1024.0;  // bytes of each block
    const double block = static_cast<double>(kernel.shared_bytes) + reserved;
    const auto resident = static_cast<std::int64_t>(context.sram.in(units::B) / block);
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(resident, 1, kernel.blocks_per_sm));
}

AttentionGrid mma_grid(const Attention& attention, const AttentionContext& context) {
    const bundled::AttentionKernel kernel = bundled::attention_mma_sync(attention.head_dim);
    return {.blocks = {.q = kernel.queries, .kv = kernel.keys},
            .tiles = bundled::attention_mma_sync_grid(extents_of(attention)).blocks(),
            .blocks_per_sm = resident_blocks(kernel, context),
            .turns = attention.batch * attention.heads};
}

AttentionGrid wgmma_grid(const Attention& attention, const AttentionContext& context) {
    const bundled::AttentionExtents extents = extents_of(attention);
    const bundled::AttentionKernel kernel =
        bundled::attention_wgmma(attention.head_dim, attention.causal);
    const auto l2 = static_cast<std::int64_t>(context.l2.size.in(units::B));
    return {.blocks = {.q = kernel.queries, .kv = kernel.keys},
            .tiles = bundled::attention_wgmma_tiles(extents),
            .turns = bundled::wgmma_head_groups(extents, l2)};
}

std::int64_t kv_bytes_of_head(const Attention& attention) {
    return 2 * attention.seq_kv * attention.head_dim * size_of(attention.type);
}

/// Share of the keys and values, `set` bytes, that the L2 has lost when the next round of tiles
/// needs them. The queries and outputs of a round pass through as well, one copy of each.
double lost_between(double set, double round_rows, const Residency& l2) {
    const double copies = l2.capacity() / l2.capacity(Readers::all);
    return 1.0 - l2.found(Bytes::from_base(copies * set + round_rows));
}

/// Thread blocks of `mma` run head after head in waves. A head that a wave cuts in two is read
/// again. Causal tiles end one by one, so the next ones find the keys.
double mma_kv_passes(const Attention& attention, const AttentionGrid& grid, double slots,
                     double round_rows, const Residency& l2) {
    if (attention.causal) return 1.0;
    const auto kv_heads = static_cast<double>(attention.batch * attention.kv_heads);
    const double waves = static_cast<double>(grid.tiles) / slots;
    const double in_wave = std::min(kv_heads, 1.0 + kv_heads / waves);
    const double set = in_wave * static_cast<double>(kv_bytes_of_head(attention));
    const double cuts = std::max(0.0, std::ceil(waves) - 1.0);
    return 1.0 + cuts / kv_heads * lost_between(set, round_rows, l2);
}

/// Thread blocks of `wgmma` walk the keys of a group of heads in rounds. Causal tiles see fewer
/// keys in each round.
double wgmma_kv_passes(const Attention& attention, const AttentionGrid& grid, double slots,
                       double round_rows, const Residency& l2) {
    const std::int64_t heads = attention.batch * attention.heads;
    const std::int64_t group = ceil_divide(heads, grid.turns);
    const double set = static_cast<double>(ceil_divide(group, group_of(attention))) *
                       static_cast<double>(kv_bytes_of_head(attention));
    const std::int64_t tiles_of_head = grid.tiles / heads;
    const double rounds =
        static_cast<double>(tiles_of_head) * std::min(1.0, static_cast<double>(group) / slots);
    if (rounds <= 1.0) return 1.0;
    if (!attention.causal) return 1.0 + (rounds - 0.5) * lost_between(set, round_rows, l2);
    double passes = 1.0;
    const auto last = static_cast<std::int64_t>(std::ceil(rounds));
    for (std::int64_t round = 1; round < last; ++round) {
        const double seen = 1.0 - static_cast<double>(round) / rounds;
        passes += seen * lost_between(seen * set, round_rows, l2);
    }
    return passes;
}

}  // namespace

bool decodes_with_splits(const Attention& attention) {
    return bundled::decodes(extents_of(attention));
}

std::string unmeasured_attention(const Attention& attention) {
    if (attention.direction == Direction::backward) {
        return "the bundled attention kernels have no backward pass";
    }
    if (attention.window != 0) return "the bundled attention kernels have no sliding window";
    if (attention.kv_write) return "the bundled attention kernels do not write the cache";
    if (attention.paged) return "the bundled attention kernels do not read page tables";
    return {};
}

std::string bundled_attention_refusal(const Attention& attention) {
    if (std::string reason = unmeasured_attention(attention); !reason.empty()) return reason;
    if (attention.head_dim != 64 && attention.head_dim != 128) {
        return "the bundled attention kernels take head_dim 64 or 128";
    }
    if (attention.type != DataType::bf16 && attention.type != DataType::fp16) {
        return "the bundled attention kernels take bf16 and fp16";
    }
    return {};
}

AttentionGrid bundled_attention_grid(const Attention& attention, Implementation implementation,
                                     const AttentionContext& context) {
    if (implementation == Implementation::wgmma) return wgmma_grid(attention, context);
    return decodes_with_splits(attention) ? decode_grid(attention, context)
                                          : mma_grid(attention, context);
}

double bundled_kv_passes(const Attention& attention, Implementation implementation,
                         const AttentionGrid& grid, const AttentionContext& context) {
    if (grid.few_rows || context.sm_count == 0 || context.l2.size <= Bytes{}) return 1.0;
    const auto slots = static_cast<double>(context.sm_count * grid.blocks_per_sm);
    const auto tile_elements = static_cast<double>(grid.blocks.q * attention.head_dim);
    const double tile_rows = 2.0 * tile_elements * static_cast<double>(size_of(attention.type));
    const double round_rows = tile_rows * std::min(slots, static_cast<double>(grid.tiles));
    return implementation == Implementation::mma
               ? mma_kv_passes(attention, grid, slots, round_rows, context.l2)
               : wgmma_kv_passes(attention, grid, slots, round_rows, context.l2);
}

Bytes bundled_l2_bytes(const Attention& attention, Implementation implementation,
                       const AttentionContext& context, const AttentionGrid& grid,
                       double executed_scores, double visible_keys) {
    constexpr double statistic = 4.0;  // one fp32 value per row
    constexpr double register_bytes = 4.0;
    const BundledAttentionCounts& counts = context.bundled;
    const bool boxes = implementation == Implementation::wgmma;
    const bool wide = attention.head_dim == 128;
    const auto row = static_cast<double>(attention.head_dim * size_of(attention.type));
    const auto rows = static_cast<double>(attention.batch * attention.heads * attention.seq_q);
    const auto tiles = static_cast<double>(grid.tiles);
    const auto tile_rows = static_cast<double>(grid.blocks.q);
    const double in_blocks = executed_scores / tile_rows;
    const double keys = boxes ? in_blocks : std::min(in_blocks, tiles * visible_keys);
    const double queries = boxes ? tiles * tile_rows : rows;
    // Registers that the compiler spills, and stores smaller than a sector.
    double stored = rows * (row + statistic);
    if (boxes && attention.causal && !wide) {
        stored += register_bytes * bundled::attention_wgmma(64, true).threads * counts.spilled *
                  std::min(tiles, static_cast<double>(context.sm_count));
    }
    if (!boxes) stored += rows * row * (wide ? counts.apart_wide : counts.apart);
    if (!boxes && attention.causal && wide) {
        stored += register_bytes * bundled::attention_mma_sync(128).threads * counts.block_spilled *
                  in_blocks / static_cast<double>(grid.blocks.kv);
    }
    return Bytes::from_base((queries + 2.0 * keys) * row + stored);
}

double bundled_executed_special(const AttentionGrid& grid, double executed_scores) {
    constexpr double lanes = 4.0;
    const auto keys = static_cast<double>(grid.few_rows ? bundled::decode_slice : grid.blocks.kv);
    const auto rows = static_cast<double>(grid.few_rows ? 0 : grid.tiles * grid.blocks.q);
    return executed_scores * (1.0 + lanes / keys) + 2.0 * lanes * rows;
}

double bundled_executed_scores(const Attention& attention, const AttentionGrid& grid,
                               const ScoreCounts& counts) {
    if (grid.few_rows) {
        const std::int64_t keys = bundled::rounded_up(attention.seq_kv, bundled::decode_slice);
        const std::int64_t tiles = grid.tiles / grid.splits;
        return static_cast<double>(tiles) * static_cast<double>(grid.blocks.q * keys);
    }
    if (!attention.causal || attention.seq_q <= attention.seq_kv) return counts.executed;
    const std::int64_t blind = (attention.seq_q - attention.seq_kv) / grid.blocks.q;
    return counts.executed + static_cast<double>(attention.batch * attention.heads * blind) *
                                 static_cast<double>(grid.blocks.q * grid.blocks.kv);
}

}  // namespace ridge::model
