// Backward pass of fused attention, and unfused attention in both directions; eq. T9 to T11 of
// docs/model.md.
#include "model/attention/span.h"
#include "model/attention/time.h"
#include "model/roof/overlap.h"
#include "model/roof/roofline.h"

namespace ridge::model {

namespace detail {

/// The main kernel runs one thread block per block of keys, with five matmuls and one exp2 per
/// score. The fp32 sums of dQ go through the L2 by atomics. Two memory-bound kernels before and
/// after it form the row sums and convert dQ. (eq. T10)
[[nodiscard]] AttentionTime attention_backward_time(
    const Attention& op, const AttentionWork& counted, Implementation implementation,
    const FlashParameters& fitted, const Execution& execution, const Machine& machine) {
    const AttentionBlocks& blocks = counted.grid.blocks;
    const auto sms = static_cast<double>(machine.sm_count);
    const auto d = static_cast<double>(op.head_dim);
    const auto scores = static_cast<double>(blocks.q * blocks.kv);
    const double executed = counted.scores.executed / scores;
    constexpr double accumulator = 2.0 * 4.0;  // fp32, read and written
    const BlockWork work{.flop = Flop::from_base(10.0 * scores * d),
                         .tensor_fraction = fitted.backward_tensor_fraction,
                         .scores = scores,
                         .moved = Bytes::from_base(accumulator * static_cast<double>(blocks.q) * d),
                         .bandwidth = fitted.load * machine.boost_clock};
    const BlockPrice block = price_block(machine, op.type, work, fitted);
    const Time tile = fitted.tile + d / 32.0 * (fitted.tile_columns + fitted.tile_rows);
    // A thread block of flash1 walks all blocks of one head, as in the forward pass.
    const bool whole_head = implementation == Implementation::flash1;
    const bool causal = op.causal && op.seq_q > 1 && op.window == 0 && !whole_head;
    const double per_piece =
        whole_head ? counted.scores.visits : static_cast<double>(counted.scores.longest_column);
    TileLoad load{.pieces = static_cast<double>(counted.grid.tiles)};
    load.average = (executed * block.whole + load.pieces * tile) / sms;
    load.longest = per_piece * block.whole + tile;
    load.shortest = causal ? block.whole + tile : load.longest;
    load.tail = causal && counted.scores.key_blocks > 1 ? fitted.tail : 0.0;
    const Time span = span_of(load, sms);

    AttentionTime time;
    const Bandwidth dram = machine.dram_bandwidth * fitted.dram_fraction;
    time.regime = AttentionRegime::backward;
    time.waves = load.pieces / sms;
    time.tensor = executed / sms * block.tensor;
    time.softmax = executed / sms * block.softmax;
    time.load = executed / sms * (block.whole - block.tensor - block.softmax);
    time.tiles = load.pieces / sms * tile;
    time.tail = span - load.average;
    time.dram_bytes = counted.work.dram();
    time.working_set = counted.work.compulsory() + counted.scratch;
    time.dram = (counted.work.dram() - counted.side_dram) / dram;
    const Time kernel = combined({span, time.dram}, pipes);
    time.droop = droop_of(kernel, fitted);
    time.copies = counted.side_dram / dram;
    time.launch = fitted.start + (counted.work.kernels - 1) * machine.kernel_floor +
                  library_gaps(machine, execution.launch, counted.work.kernels);
    time.total = time.launch + kernel + time.droop + time.copies;
    return time;
}

}  // namespace detail

AttentionTime standard_attention_time(const Attention& op, const AttentionWork& counted,
                                      const StandardParameters& fitted, const Execution& execution,
                                      const Machine& machine) {
    const bool forward = op.direction == Direction::forward;
    const auto element = static_cast<double>(size_of(op.type));
    const auto rows = static_cast<double>(op.batch * op.heads * op.seq_q);
    const auto d = static_cast<double>(op.head_dim);
    const double s = rows * static_cast<double>(op.seq_kv) * element;
    const double t = rows * d * element;
    const double u = static_cast<double>(op.batch * op.kv_heads * op.seq_kv) * d * element;
    const FlopRate peak = machine.tensor_peak(op.type)
                              ? *machine.tensor_peak(op.type)
                              : machine.vector_peak(op.type).value_or(FlopRate{});
    const Flop matmul = Flop::from_base(2.0 * d * counted.scores.executed);
    const Time product = matmul / (peak * fitted.tensor_fraction);
    const Bandwidth dram = machine.dram_bandwidth *
                           (forward ? fitted.forward_dram_fraction : fitted.backward_dram_fraction);
    AttentionTime time;
    time.regime = AttentionRegime::unfused;
    time.working_set = counted.work.compulsory() + counted.scratch;
    time.launch = library_gaps(machine, execution.launch, counted.work.kernels);
    for (const StandardKernel& kernel : standard_kernels(op.direction)) {
        const Bytes moved = Bytes::from_base((kernel.score_reads + kernel.score_writes) * s +
                                             (kernel.query_reads + kernel.query_writes) * t +
                                             (kernel.key_reads + kernel.key_writes) * u);
        time.dram_bytes += moved;
        time.dram += moved / dram;
        time.tensor += kernel.matmuls * product;
        time.launch += fitted.kernel;
        time.total += std::max(moved / dram, kernel.matmuls * product);
    }
    if (op.kv_write) {
        time.cache_write = fitted.kernel + 2.0 * counted.cache_write / dram;
        time.dram_bytes += 2.0 * counted.cache_write;
    }
    time.total += time.launch + time.cache_write;
    return time;
}

}  // namespace ridge::model
