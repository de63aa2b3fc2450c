// Time of the bundled attention kernels, eq. T13 to T15 of docs/model.md. How they divide their
// work is in bundled.h.
#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "hardware/error.h"
#include "model/attention/bundled.h"
#include "model/attention/time.h"
#include "model/roof/overlap.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

/// Values that the steps of one call share.
struct BundledCall {
    const Attention& op;
    const AttentionWork& counted;
    const Machine& machine;
    bool persistent;  ///< wgmma: a thread block takes tile after tile
    bool causal;      ///< tiles differ in length
    double sms;
    double tiles;   ///< thread blocks of the decode kernel
    double blocks;  ///< of scores, in all
    double miss;    ///< share of the call's data that comes from DRAM
};

/// Times of one block of scores, and of a tile beside its blocks. (eq. T13)
struct Prices {
    Time tensor;   ///< matmuls of a block alone
    Time softmax;  ///< of a block alone
    Time block;    ///< of a thread block that has its SM alone
    Time paired;   ///< of each of two thread blocks that share an SM
    Time tile;
};

/// Share of the longest causal tile: when the other tiles are done, half of it is left on average,
/// since the ends of tiles in flight are spread evenly.
constexpr double half_tile = 0.5;

/// Share of the tensor peak that the matmuls of a block alone reach: that of the bundled product
/// with the same instructions.
double tensor_share(const BundledCall& call) {
    const BundledMatmuls& products = call.machine.matmul.bundled;
    const auto& product = call.persistent ? products.wgmma : products.mma;
    return product ? product->issue_fraction : 1.0;
}

Prices prices_of(const BundledCall& call, const TiledAttentionParameters& fitted) {
    const AttentionBlocks& blocks = call.counted.grid.blocks;
    const auto scores = static_cast<double>(blocks.q * blocks.kv);
    const auto head_dim = static_cast<double>(call.op.head_dim);
    const FlopRate peak = call.machine.tensor_peak(call.op.type).value_or(FlopRate{});
    const double special = call.machine.special_rate.value_or(0.0);
    RIDGE_CONTRACT(peak > FlopRate{} && special > 0.0);
    Prices prices;
    prices.tensor =
        Flop::from_base(4.0 * scores * head_dim) / (peak * (tensor_share(call) / call.sms));
    prices.softmax = Time::from_base(fitted.softmax_fraction * scores * call.sms / special);
    const Time overlapped = combined({prices.tensor, prices.softmax}, Overlap{fitted.overlap});
    prices.block = call.persistent ? overlapped : prices.tensor + prices.softmax;
    prices.paired = 2.0 * overlapped;
    const double resident =
        std::min(static_cast<double>(call.counted.grid.blocks_per_sm), call.tiles / call.sms);
    prices.tile = (resident + (call.persistent ? call.miss : head_dim / 64.0)) * fitted.tile_load;
    return prices;
}

/// Key blocks of a head's tile; tile 0 is the longest one.
double blocks_of_tile(const BundledCall& call, std::int64_t tile) {
    const Attention& op = call.op;
    const AttentionBlocks& blocks = call.counted.grid.blocks;
    std::int64_t visible = op.seq_kv;
    if (call.causal) {
        const std::int64_t end = (call.counted.scores.query_blocks - tile) * blocks.q;
        visible = std::min(visible, end + op.seq_kv - op.seq_q);
    }
    return static_cast<double>(std::max<std::int64_t>(1, ceil_divide(visible, blocks.kv)));
}

Time tile_time(const BundledCall& call, const Prices& prices, std::int64_t tile, Time block) {
    return prices.tile + blocks_of_tile(call, tile) * block;
}

/// The longest of the tiles that follow the first one of each thread block.
Time second_tile(const BundledCall& call, const Prices& prices, Time block) {
    const AttentionGrid& grid = call.counted.grid;
    const auto first = static_cast<std::int64_t>(call.sms);
    const std::int64_t heads = call.op.batch * call.op.heads;
    return tile_time(call, prices, grid.turns == 1 ? first / heads : 0, block);
}

/// The tiles run in order, `slots` at a time, each on the first free slot: equal tiles in whole
/// waves. Causal tiles of the last group of heads start when those of the other groups are done. A
/// thread block of `wgmma` draws its next tile when it begins one. With up to two waves it
/// therefore has two tiles whatever their lengths, and with more waves the last tiles are less
/// evenly spread. (eq. T14)
Time span_in_order(const BundledCall& call, const Prices& prices, double slots, Time block) {
    const Time longest = tile_time(call, prices, 0, block);
    const double waves = call.tiles / slots;
    if (!call.causal || waves <= 1.0) return std::ceil(waves) * longest;
    const Time shortest = tile_time(call, prices, call.counted.scores.query_blocks - 1, block);
    const Time average = (call.blocks * block + call.tiles * prices.tile) / slots;
    const double before = 1.0 - 1.0 / static_cast<double>(call.counted.grid.turns);
    Time last = 0.5 * shortest;
    if (call.persistent) {
        if (waves <= 2.0) return longest + second_tile(call, prices, block);
        last += 0.5 / waves * (longest - shortest);
    }
    return std::max({longest, average + last, before * average + half_tile * longest});
}

/// Two thread blocks per SM. With at most one tile per SM, every tile has an SM to itself. With up
/// to two, tile i shares its SM with tile i + SMs until the shorter one ends. (eq. T14)
Time span_in_pairs(const BundledCall& call, const Prices& prices) {
    const auto sms = static_cast<std::int64_t>(call.sms);
    const auto tiles = static_cast<std::int64_t>(call.tiles);
    if (tiles <= sms) return tile_time(call, prices, 0, prices.block);
    if (tiles > 2 * sms) {
        const std::int64_t left = tiles % (2 * sms);
        Time span = span_in_order(call, prices, 2.0 * call.sms, prices.paired);
        // The last wave of equal tiles may have its SMs to itself.
        if (!call.causal && left > 0 && left <= sms) {
            span -= blocks_of_tile(call, 0) * (prices.paired - prices.block);
        }
        return span;
    }
    const std::int64_t per_head = call.counted.scores.query_blocks;
    // Tiles from `tiles - sms` on have no partner; they get shorter up to the next head's longest
    // tile.
    const std::int64_t first_alone = (tiles - sms) % per_head;
    const bool next_head = first_alone + 2 * sms - tiles > per_head;
    Time span{};
    if (tiles < 2 * sms) span = tile_time(call, prices, next_head ? 0 : first_alone, prices.block);
    for (std::int64_t tile = 0; tile < tiles - sms; ++tile) {
        const double first = blocks_of_tile(call, tile % per_head);
        const double second = blocks_of_tile(call, (tile + sms) % per_head);
        const double both = std::min(first, second);
        const double rest = std::max(first, second) - both;
        span = std::max(span, prices.tile + both * prices.paired + rest * prices.block);
        if (!call.causal) break;
    }
    return span;
}

/// Share of the working set that the L2 has lost since the last call. (eq. T4)
double missing(const Machine& machine, const AttentionParameters& sets, Bytes working_set,
               L2State state) {
    if (!sets.decode) return 0.0;
    if (state != L2State::warm) return 1.0;
    return 1.0 - machine.l2.found(working_set);
}

/// Bytes that must come from DRAM, for either kernel. (eq. T4)
void set_dram(const BundledCall& call, const DecodeAttentionParameters& fitted,
              AttentionTime& time) {
    time.working_set = call.counted.work.compulsory();
    time.dram_bytes = call.miss * call.counted.work.dram();
    time.dram = time.dram_bytes / (call.machine.dram_bandwidth * fitted.dram_fraction) +
                call.miss * fitted.dram_start;
}

AttentionTime tiled_time(const BundledCall& call, const AttentionParameters& sets,
                         const TiledAttentionParameters& fitted, const Execution& execution) {
    const Prices prices = prices_of(call, fitted);
    const bool pairs = call.counted.grid.blocks_per_sm > 1;
    const Time span =
        pairs ? span_in_pairs(call, prices) : span_in_order(call, prices, call.sms, prices.block);
    AttentionTime time;
    time.regime = AttentionRegime::bundled_tiles;
    time.waves = call.tiles / (call.sms * static_cast<double>(call.counted.grid.blocks_per_sm));
    const double blocks = call.blocks / call.sms;
    time.tensor = blocks * prices.tensor;
    const Time block = pairs && call.tiles > call.sms ? 0.5 * prices.paired : prices.block;
    time.softmax = blocks * (block - prices.tensor);
    time.tiles = call.tiles / call.sms * prices.tile;
    time.tail = std::max(Time{}, span - time.tensor - time.softmax - time.tiles);
    if (sets.decode) set_dram(call, *sets.decode, time);
    time.launch = fitted.start + launch_gaps(call.machine, execution.launch, 1);
    time.total = time.launch + combined({span, time.dram}, pipes);
    return time;
}

/// Thread blocks stream their keys through rings of copies in flight; two blocks share a
/// multiprocessor. A second kernel combines the results of the splits. (eq. T15)
AttentionTime decode_time(const BundledCall& call, const DecodeAttentionParameters& fitted,
                          const Execution& execution) {
    const AttentionGrid& grid = call.counted.grid;
    const std::int64_t unit = grid.blocks.kv;
    const std::int64_t keys = ceil_divide(ceil_divide(call.op.seq_kv, grid.splits), unit) * unit;
    const auto row = static_cast<double>(2 * call.op.head_dim * size_of(call.op.type));
    const Bytes part = Bytes::from_base(static_cast<double>(std::min(keys, call.op.seq_kv)) * row);
    const Time alone = part / (fitted.block_load * call.machine.boost_clock);
    const Time paired = std::max(alone, 2.0 * part / (fitted.sm_load * call.machine.boost_clock));
    const double slots = 2.0 * call.sms;
    const double full = std::floor(call.tiles / slots);
    const double left = call.tiles - full * slots;
    const double waves = full + (left > 0.0 ? 1.0 : 0.0);

    AttentionTime time;
    time.regime = AttentionRegime::bundled_decode;
    time.waves = call.tiles / slots;
    time.load = full * paired;
    if (left > 0.0) time.load += left > call.sms ? paired : alone;
    const auto rows = static_cast<double>(std::min(grid.pack * call.op.seq_q, grid.blocks.q));
    const double columns = static_cast<double>(call.op.head_dim) / 128.0;
    time.tiles = waves * rows * columns * fitted.block_row;
    set_dram(call, fitted, time);
    const std::int32_t kernels = grid.combines ? 2 : 1;
    if (grid.combines) {
        time.combine = fitted.combine + static_cast<double>(grid.splits) * fitted.combine_split;
    }
    time.launch = fitted.start + launch_gaps(call.machine, execution.launch, kernels);
    time.total = time.launch + combined({time.load + time.tiles, time.dram}, pipes) + time.combine;
    return time;
}

}  // namespace

AttentionTime bundled_attention_time(const Attention& op, const AttentionWork& counted,
                                     Implementation implementation,
                                     const AttentionParameters& fitted, const Execution& execution,
                                     const Machine& machine) {
    const AttentionGrid& grid = counted.grid;
    const BundledCall call{
        .op = op,
        .counted = counted,
        .machine = machine,
        .persistent = implementation == Implementation::wgmma,
        .causal = op.causal && counted.scores.query_blocks > 1,
        .sms = static_cast<double>(machine.sm_count),
        .tiles = static_cast<double>(grid.tiles),
        .blocks = counted.scores.executed / static_cast<double>(grid.blocks.q * grid.blocks.kv),
        .miss = missing(machine, fitted, counted.work.compulsory(), execution.l2)};
    if (grid.few_rows) return decode_time(call, *fitted.decode, execution);
    return tiled_time(call, fitted, call.persistent ? *fitted.wgmma : *fitted.mma, execution);
}

}  // namespace ridge::model
