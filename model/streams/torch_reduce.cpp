#include "model/streams/torch_reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "hardware/checked.h"
#include "model/streams/row_work.h"
#include "model/streams/torch_kernel.h"

namespace ridge::model {
namespace {

constexpr std::int64_t warp_lanes = 32;
constexpr std::int64_t most_threads = 512;
constexpr std::int64_t unrolled = 4;       // loads of a thread that are in flight together
constexpr std::int64_t least_values = 16;  // values of a thread before more threads or blocks share
                                           // a result
constexpr std::int64_t most_values = 256;
constexpr std::int64_t threads_of_sm = 2048;

/// The largest power of two that is at most n.
std::int64_t floor_power(std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

const ReduceCode& code_of(const TorchStreamCode& code, const RowWise& op, const ReduceGrid& grid) {
    if (op.kind == RowKind::argmax)
        return grid.along_rows ? code.row_positions : code.column_positions;
    if (op.kind == RowKind::max) return grid.along_rows ? code.row_maxima : code.column_maxima;
    return grid.along_rows ? code.row_sums : code.column_sums;
}

/// Halvings by which threads of a block join their results: across, and along a warp's rows.
double levels_of(const ReduceGrid& grid) {
    const double across = grid.high ? std::log2(static_cast<double>(grid.height)) : 0.0;
    if (!grid.along_rows) return across * static_cast<double>(grid.vector);
    return across + std::log2(static_cast<double>(grid.width));
}

}  // namespace

ReduceGrid reduce_grid(const RowWise& op, std::int64_t sm_count) {
    ReduceGrid grid;
    const std::int64_t results = results_of(op);
    const std::int64_t inputs = op.rows * op.cols / results;
    // A single row or column is a matrix without the other dimension.
    const bool all = results == 1;
    grid.along_rows = op.axis == Axis::rows || all;
    std::int64_t contiguous = grid.along_rows ? inputs : results;
    const std::int64_t across = grid.along_rows ? results : inputs;
    if (all && contiguous >= 128) {
        grid.whole_vectors = true;
        contiguous /= unrolled;
    } else if (!grid.along_rows) {
        grid.vector = 4;
        while (results % grid.vector != 0) grid.vector /= 2;
        contiguous /= grid.vector;
    }
    const std::int64_t most = most_threads / grid.vector;
    const std::int64_t wide = contiguous < most ? floor_power(contiguous) : most;
    const std::int64_t high = across < most ? floor_power(across) : most;
    grid.width = std::min(wide, warp_lanes);
    grid.height = std::min(high, most / grid.width);
    grid.width = std::min(wide, most / grid.height);

    std::int64_t step = grid.along_rows ? grid.width : 1;
    std::int64_t results_of_block = grid.along_rows ? 1 : grid.width;
    grid.high = ceil_divide(inputs, step) >= std::min(grid.height * least_values, most_values);
    (grid.high ? step : results_of_block) *= grid.height;
    grid.blocks = ceil_divide(ceil_divide(results, grid.vector), results_of_block);
    grid.values = ceil_divide(inputs, step);
    const std::int64_t wanted = sm_count * (threads_of_sm / grid.threads());
    if (grid.high && grid.values >= most_values && grid.blocks <= wanted) {
        grid.parts = std::max(
            std::min(ceil_divide(wanted, grid.blocks), ceil_divide(grid.values, least_values)),
            ceil_divide(grid.values, most_values));
        grid.values = ceil_divide(inputs, step * grid.parts);
    }
    return grid;
}

KernelTime torch_reduce_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    const ReduceGrid grid = reduce_grid(op, static_cast<std::int64_t>(memory.sm_count));
    const ReduceCode& code = code_of(memory.torch->code, op, grid);
    const Work work = row_work(op, Implementation::torch);
    const auto blocks = static_cast<double>(grid.blocks * grid.parts);
    const double trips = std::ceil(static_cast<double>(grid.values) / unrolled);
    const auto vector = static_cast<double>(grid.vector);
    const double value = size_of(op.type) == 2 ? code.half : code.value;
    const double lines =
        grid.along_rows ? (grid.values >= unrolled ? 1.0 : 0.0) : 0.5 * std::log2(vector);
    // What a flush writes does not displace code.
    const double fetched =
        l2 == L2State::dirty ? memory.torch->step_l2 / memory.torch->step_dram : 1.0;

    TorchKernel kernel = moving(memory, work.dram_read, work.dram_write, l2);
    kernel.busy = busy_share(memory, blocks);
    kernel.chain = code.chain + trips * vector * value + levels_of(grid) * code.level;
    kernel.steps =
        code.lines * lines * fetched + code.step * (grid.whole_vectors ? code.whole : 1.0) * trips;
    kernel.slots = code.slots * static_cast<double>(op.rows) * static_cast<double>(op.cols) +
                   code.thread * static_cast<double>(grid.threads()) * blocks;
    const std::int64_t by_threads = threads_of_sm / grid.threads();
    const double resident = std::min(memory.blocks_per_sm, static_cast<double>(by_threads));
    kernel.rounds = further_rounds(memory, blocks, resident);
    KernelTime time = torch_kernel_time(memory, kernel, reducing);
    if (grid.parts > 1) {
        const std::int64_t readers = grid.along_rows ? grid.threads() : grid.height;
        const auto loads = static_cast<double>(ceil_divide(grid.parts, readers));
        const Time partial = (1.0 + code.further * (vector - 1.0)) * memory.torch->partial;
        const Time shared = memory.torch->combine + loads * partial +
                            code.part * vector * step_of(memory, kernel.missing);
        time.latency += shared;
        time.total += shared;
    }
    return time;
}

}  // namespace ridge::model
