// Forward pass of fused attention kernels; conventions in time.h, eq. T1 to T8 of
// docs/model.md.
#include "model/attention/time.h"

#include <array>

#include "hardware/checked.h"
#include "model/attention/span.h"
#include "model/roof/overlap.h"
#include "model/roof/roofline.h"

namespace ridge::model {

namespace detail {
[[nodiscard]] AttentionTime attention_backward_time(
    const Attention& op, const AttentionWork& counted, Implementation implementation,
    const FlashParameters& fitted, const Execution& execution, const Machine& machine);
}

namespace {

/// Values that the steps of one forward call share.
struct Call {
    const Attention& op;
    const AttentionWork& counted;
    const FlashParameters& fitted;
    const Machine& machine;
    bool whole_head;  ///< flash1: a thread block walks a whole head
    bool umma;        ///< flashinfer: matmuls and exponentials run in separate warps
    bool causal;      ///< the mask removes blocks
    double sms;
    double element;  ///< bytes
    double head_dim;
    double tile_rows;  ///< rows that hold a query
    double pieces;     ///< thread blocks
    double blocks;     ///< of scores, in all
    double per_piece;  ///< blocks of the longest thread block
};

Call call_of(const Attention& op, const AttentionWork& counted, Implementation implementation,
             const FlashParameters& fitted, const Machine& machine) {
    const AttentionGrid& grid = counted.grid;
    const bool whole_head = implementation == Implementation::flash1;
    const auto rows =
        static_cast<double>(whole_head ? op.seq_q : std::min(op.seq_q * grid.pack, grid.blocks.q));
    const double per_piece =
        whole_head ? counted.scores.visits
                   : static_cast<double>(ceil_divide(counted.scores.longest_row, grid.splits));
    return {.op = op,
            .counted = counted,
            .fitted = fitted,
            .machine = machine,
            .whole_head = whole_head,
            .umma = implementation == Implementation::flashinfer,
            .causal = op.causal && op.seq_q > 1 && op.window == 0,
            .sms = static_cast<double>(machine.sm_count),
            .element = static_cast<double>(size_of(op.type)),
            .head_dim = static_cast<double>(op.head_dim),
            .tile_rows = rows,
            .pieces = static_cast<double>(grid.tiles),
            .blocks = counted.scores.executed / static_cast<double>(grid.blocks.q * grid.blocks.kv),
            .per_piece = per_piece};
}

/// Rate of K and V into one multiprocessor; it depends on the head dimension if 8-bit values are
/// transposed on the way.
BytesPerCycle load_of(const Call& call) {
    const FlashParameters& fitted = call.fitted;
    if (call.op.head_dim > 128 && fitted.wide_load > BytesPerCycle{}) return fitted.wide_load;
    return fitted.load;
}

/// Time of one block of scores: two matmuls, and loading K and V into the SM. In flash1 K and V
/// stay, and Q and O are read and written instead. (eq. T1)
detail::BlockPrice block_of(const Call& call) {
    const AttentionBlocks& blocks = call.counted.grid.blocks;
    const auto scores = static_cast<double>(blocks.q * blocks.kv);
    const double row = call.element * call.head_dim;
    const double cached = static_cast<double>(size_of(cache_type_of(call.op))) * call.head_dim;
    const double moved =
        call.whole_head ? 3.0 * row * static_cast<double>(blocks.q)
                        : 2.0 * cached * static_cast<double>(std::min(blocks.kv, call.op.seq_kv));
    const detail::BlockWork work{.flop = Flop::from_base(4.0 * scores * call.head_dim),
                                 .tensor_fraction = call.fitted.tensor_fraction,
                                 .scores = scores,
                                 .moved = Bytes::from_base(moved),
                                 .bandwidth = load_of(call) * call.machine.boost_clock};
    detail::BlockPrice price = detail::price_block(call.machine, call.op.type, work, call.fitted);
    if (call.op.paged) {
        price.softmax += call.fitted.page_block;
        price.whole = std::max(price.whole, price.tensor + price.softmax);
    }
    return price;
}

/// The same in the kernels of Blackwell. The matmuls of a tile run beside its exponentials; fewer
/// than 128 rows occupy the tensor cores as long as 128. With few rows both are short, and the time
/// of a block is the latency of its steps. (eq. T17)
detail::BlockPrice umma_block_of(const Call& call) {
    const AttentionBlocks& blocks = call.counted.grid.blocks;
    detail::BlockPrice price;
    if (call.counted.grid.few_rows) {
        price.whole = price.softmax = call.fitted.decode_block;
        return price;
    }
    constexpr std::int64_t full_rate_rows = 128;
    const auto rows = static_cast<double>(std::max(blocks.q, full_rate_rows));
    const auto keys = static_cast<double>(blocks.kv);
    const detail::BlockWork work{.flop = Flop::from_base(4.0 * rows * keys * call.head_dim),
                                 .tensor_fraction = call.fitted.tensor_fraction,
                                 .scores = static_cast<double>(blocks.q) * keys};
    price = detail::price_block(call.machine, call.op.type, work, call.fitted);
    price.whole = combined({price.tensor, price.softmax}, pipes);
    return price;
}

/// Time of a tile beside its blocks. (eq. T2)
Time tile_of(const Call& call) {
    const FlashParameters& fitted = call.fitted;
    const AttentionGrid& grid = call.counted.grid;
    Time tile = grid.combines ? fitted.split_tile : Time{};
    if (!call.op.paged && !grid.few_rows && fitted.bulk_tile > Bandwidth{}) {
        const double moved = 2.0 * call.element * call.tile_rows * call.head_dim;
        return tile + Bytes::from_base(moved) / fitted.bulk_tile;
    }
    const bool bulk_rows =
        fitted.bulk_rows > Time{} && (grid.pack == 4 || grid.pack == 8 || grid.pack == 16);
    if (grid.few_rows && call.umma) {
        constexpr std::int64_t most = 32;
        const auto rows = static_cast<double>(std::min(grid.blocks.q, most));
        return fitted.decode_tile +
               call.head_dim / 64.0 * (fitted.decode_columns + rows / 64.0 * fitted.decode_rows);
    }
    tile += call.tile_rows / 64.0 * (bulk_rows ? fitted.bulk_rows : fitted.tile_rows);
    if (grid.few_rows) {
        const Time fixed = fitted.decode_tile > Time{} ? fitted.decode_tile : fitted.tile;
        return tile + fixed + call.head_dim / 64.0 * fitted.decode_columns;
    }
    return tile + fitted.tile + call.head_dim / 64.0 * fitted.tile_columns;
}

detail::TileLoad tiles_of(const Call& call, const detail::BlockPrice& block, Time tile) {
    const AttentionGrid& grid = call.counted.grid;
    const bool alone = call.pieces <= call.sms || call.causal;
    detail::TileLoad load{.pieces = call.pieces};
    load.average = (call.blocks * block.whole + call.pieces * tile) / call.sms;
    load.longest =
        call.per_piece * (alone ? call.fitted.lone_block_factor : 1.0) * block.whole + tile;
    load.shortest = call.per_piece * block.whole + tile;
    if (call.causal && !call.whole_head) {
        const std::int64_t queries = ceil_divide(grid.blocks.q, grid.pack);
        const double first = static_cast<double>(ceil_divide(queries, grid.blocks.kv)) /
                             static_cast<double>(grid.splits);
        load.shortest = first * block.whole + tile;
        load.tail = call.counted.scores.longest_row > 1 ? call.fitted.tail : 0.0;
        // flash2 has one turn and starts its short tiles first.
        load.head_start = grid.blocks_per_sm > 1 ? 0.0 : 1.0 / static_cast<double>(grid.turns);
    }
    return load;
}

/// Share of the working set that the L2 has lost since the last call. (eq. T4)
double missing(const Machine& machine, Bytes working_set, L2State state) {
    if (state != L2State::warm) return 1.0;
    return 1.0 - machine.l2.found(working_set);
}

/// The lower limit from DRAM: traffic over bandwidth, plus the start of the stream. If equal tiles
/// stream, the last wave is no faster than its longest tile. (eq. T4)
Time dram_floor(const Call& call, Bytes traffic, double miss, Time longest, Time tile) {
    if (traffic <= Bytes{}) return Time{};
    Time time = traffic / (call.machine.dram_bandwidth * call.fitted.dram_fraction);
    const double waves =
        call.pieces / (call.sms * static_cast<double>(call.counted.grid.blocks_per_sm));
    const double full = std::floor(waves);
    if (!call.causal && waves > 1.0 && waves > full) {
        const double share = full / waves;
        time = share * time + std::max((1.0 - share) * time, miss * longest);
    }
    return time + miss * (call.fitted.dram_start + tile);
}

/// Time to write new K and V: one thread block per token, with one thread per element up to 512
/// (reshape_and_cache_flash of vLLM). It takes waves of resident threads, plus the bytes. (eq. T7)
Time cache_write_time(const Call& call, double miss) {
    constexpr double most_threads = 512.0;
    const Attention& op = call.op;
    const auto tokens = static_cast<double>(op.batch * std::min(op.seq_q, op.seq_kv));
    const double threads = std::min(most_threads, static_cast<double>(op.kv_heads) * call.head_dim);
    const double resident =
        call.machine.limits ? static_cast<double>(call.machine.limits->threads) : 2048.0;
    Time time = tokens * threads / (resident * call.sms) * call.fitted.cache_write;
    if (op.seq_q == 1) return time;
    const Bytes moved = call.counted.cache_read + call.counted.cache_write;
    const double reached = call.umma ? call.fitted.copy_fraction : call.fitted.dram_fraction;
    const Bandwidth far = call.machine.dram_bandwidth * reached;
    const Bandwidth near = std::max(far, load_of(call) * call.machine.boost_clock * call.sms);
    return time + miss * (moved / far) + (1.0 - miss) * (moved / near);
}

/// Time to reorder the grouped queries of flash2 decoding and their outputs. (eq. T8)
Time copies_time(const Call& call) {
    const AttentionGrid& grid = call.counted.grid;
    if (grid.blocks_per_sm == 1 || grid.pack == 1) return Time{};
    const double elements =
        static_cast<double>(call.op.batch * call.op.heads * call.op.seq_q) * call.head_dim;
    const Bytes queries = Bytes::from_base(2.0 * call.element * elements);
    const Time pass = queries / (call.machine.dram_bandwidth * call.fitted.copy_fraction);
    return call.fitted.fold + pass + grid.query_copies * (call.fitted.copy + pass);
}

/// Time to combine split keys: a fixed part, a part per split, and the partial results through the
/// L2. A combine kernel without splits takes the time in which its thread blocks find that out.
/// (eq. T8)
Time combine_time(const Call& call) {
    const AttentionGrid& grid = call.counted.grid;
    if (call.umma) {
        if (grid.splits == 1) return Time{};
        return call.fitted.combine + static_cast<double>(grid.splits) * call.fitted.combine_split;
    }
    if (!grid.combines) return Time{};
    const std::int64_t rows = call.op.batch * call.op.heads * call.op.seq_q;
    const std::int64_t groups = call.op.head_dim <= 64
                                    ? ceil_divide(rows, 16)
                                    : ceil_divide(rows, 8) * ceil_divide(call.op.head_dim, 128);
    const Time blocks = static_cast<double>(groups) / call.sms *
                        std::min(1.0, call.pieces / call.sms) * call.fitted.combine_block;
    if (grid.splits == 1) return blocks;
    const auto splits = static_cast<double>(grid.splits);
    const Bytes partial =
        Bytes::from_base(4.0 * splits * static_cast<double>(rows) * call.head_dim);
    const Bandwidth near = load_of(call) * call.machine.boost_clock * call.sms;
    const Time pass = near > Bandwidth{} ? partial / near : Time{};
    return call.fitted.combine + splits * call.fitted.combine_split + pass + std::max(blocks, pass);
}

AttentionRegime regime_of(const Call& call, const AttentionTime& time) {
    const bool splits = call.counted.grid.splits > 1;
    if (call.op.seq_q == 1) {
        if (time.dram > 0.4 * time.total) return AttentionRegime::decode_memory;
        if (splits) return AttentionRegime::decode_split;
        return time.waves > 1.0 ? AttentionRegime::decode_waves : AttentionRegime::decode_latency;
    }
    if (time.total < 20.0 * units::us) return AttentionRegime::prefill_short;
    if (splits) return AttentionRegime::prefill_split;
    if (time.cache_write + time.dram > 0.4 * time.total) return AttentionRegime::prefill_memory;
    if (time.tail > 0.15 * time.total) return AttentionRegime::prefill_tail;
    return time.total < 200.0 * units::us ? AttentionRegime::prefill_tiles
                                          : AttentionRegime::prefill_throughput;
}

AttentionTime forward_time(const Call& call, const Execution& execution) {
    const FlashParameters& fitted = call.fitted;
    const detail::BlockPrice block = call.umma ? umma_block_of(call) : block_of(call);
    const Time tile = tile_of(call);
    const detail::TileLoad load = tiles_of(call, block, tile);
    const Time span = detail::span_of(load, call.sms);

    AttentionTime time;
    time.waves = call.pieces / call.sms;
    time.tensor = call.blocks / call.sms * block.tensor;
    time.softmax = call.blocks / call.sms * block.softmax;
    time.load =
        std::max(Time{}, call.blocks / call.sms * (block.whole - block.tensor - block.softmax));
    time.tiles = call.pieces / call.sms * tile;
    time.tail = span - load.average;
    time.droop = detail::droop_of(span, fitted);

    const Bytes cache = call.counted.cache_read + call.counted.cache_write;
    const Bytes stream = call.counted.work.compulsory() - cache;
    time.working_set = stream + call.counted.cache_write;
    const double miss = missing(call.machine, time.working_set, execution.l2);
    const Time lone = call.per_piece * fitted.lone_block_factor * block.whole + tile;
    time.dram = dram_floor(call, miss * stream, miss, lone, tile);
    time.dram_bytes = miss * (stream + cache);

    // A combine kernel without splits starts beside the attention kernel, so it adds no gap.
    const AttentionGrid& grid = call.counted.grid;
    const bool idle = grid.combines && grid.splits == 1;
    time.launch = fitted.start + library_gaps(call.machine, execution.launch,
                                              call.counted.work.kernels - (idle ? 1 : 0));
    if (call.op.kv_write) {
        time.launch += fitted.cache_write_start;
        time.cache_write = cache_write_time(call, miss);
    }
    if (call.op.paged) time.scan = static_cast<double>(call.op.batch) / 31.0 * fitted.scan;
    time.copies = copies_time(call);
    time.combine = combine_time(call);
    time.total = time.launch + time.cache_write + time.scan + time.copies +
                 combined({span + time.droop, time.dram}, pipes) + time.combine;
    time.regime = regime_of(call, time);
    return time;
}

}  // namespace

std::string_view name_of(AttentionRegime regime) {
    constexpr std::array<std::string_view, attention_regime_count> names{
        "decode_memory", "decode_split",   "decode_waves",  "decode_latency", "prefill_short",
        "prefill_split", "prefill_memory", "prefill_tail",  "prefill_tiles",  "prefill_throughput",
        "backward",      "unfused",        "bundled_tiles", "bundled_decode", "three_kernels"};
    return names[static_cast<std::size_t>(regime)];
}

AttentionContext attention_context(const Machine& machine) {
    AttentionContext context;
    context.compute_capability = machine.compute_capability;
    context.sm_count = machine.sm_count;
    context.l2 = machine.l2;
    context.bundled = machine.bundled.attention;
    if (machine.limits) context.sram = machine.limits->shared;
    return context;
}

AttentionTime attention_time(const Attention& op, const AttentionWork& counted,
                             Implementation implementation, const FlashParameters& fitted,
                             const Execution& execution, const Machine& machine) {
    RIDGE_CONTRACT(machine.sm_count > 0);
    if (op.direction == Direction::backward) {
        return detail::attention_backward_time(op, counted, implementation, fitted, execution,
                                               machine);
    }
    return forward_time(call_of(op, counted, implementation, fitted, machine), execution);
}

}  // namespace ridge::model
