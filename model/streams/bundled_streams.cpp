#include "model/streams/bundled_streams.h"

#include <algorithm>
#include <cmath>

#include "model/bundled/streams.h"
#include "model/roof/overlap.h"
#include "model/streams/bundled_traffic.h"
#include "model/streams/row_work.h"

namespace ridge::model {
namespace {

constexpr double vectors_per_thread = bundled::elementwise_unroll;
/// When a tile is moved element by element, it waits for the words of a vector one after the other.
constexpr double loads_per_vector = 4.0;
/// A tile waits for what it loads and for what it stores. When it is moved element by element, its
/// dependent part also takes one and a half loads from DRAM. Loads, copies and stores of tiles
/// overlap.
constexpr double tile_loads = 2.0;

/// Work of one elementwise kernel per element.
struct ElementCode {
    double accesses = 2.0;  ///< operands and the result
    double flop = 0.0;
    double special = 0.0;
    bool vector = false;  ///< with a broadcast operand
};

/// Blocks of a kernel of `count` elements. A broadcast vector whose end is not a whole access makes
/// the accesses narrow.
double element_blocks(double count, std::int64_t element, bool vector) {
    const auto elements = static_cast<std::int64_t>(count);
    const std::int64_t columns = std::min(bundled::broadcast_elements, elements);
    const std::int64_t width =
        vector ? bundled::elementwise_width(element, columns) : bundled::elementwise_width(element);
    return static_cast<double>(bundled::elementwise_grid(elements, width).blocks());
}

/// Elements after the last whole vector cost the first block one more load. Less than one vector is
/// a single load, element by element.
Time ragged_wait(const MemoryParameters& memory, double amount, double vector) {
    const bool waits = amount > vector && std::fmod(amount, vector) != 0.0;
    return waits ? memory.bundled.further_load * memory.l2_latency : Time{};
}

/// Time of one elementwise kernel. (eq. B22)
KernelTime element_kernel(const MemoryParameters& memory, const ElementCode& code,
                          const BlockTraffic& moved, double elements, DataType type) {
    const double width = bundled::vector_bytes / static_cast<double>(size_of(type));
    const double per_thread = vectors_per_thread * width;
    const double conversion = size_of(type) < 4 ? memory.bundled.narrow_slots : 0.0;
    const Time load = first_load(memory, moved.missing);
    BlockKernel kernel;
    kernel.traffic = moved;
    kernel.lanes = lanes_of(memory, type);
    kernel.blocks = element_blocks(elements, size_of(type), code.vector);
    kernel.slots = elements * (conversion * code.accesses + code.flop);
    kernel.special = elements * code.special;
    kernel.life = load + per_thread * code.flop * memory.bundled.flop_clocks * units::cycle /
                             memory.clock * (memory.fp32_lanes / kernel.lanes);
    kernel.life += ragged_wait(memory, elements, width);
    return block_time(memory, kernel);
}

/// Time of the chain with one kernel per function. (eq. B23)
KernelTime unfused_time(const MemoryParameters& memory, const Elementwise& op, Bytes tensor,
                        L2State l2) {
    const KernelChain& chain = op.expression.chain();
    const auto elements = static_cast<double>(op.elements);
    KernelTime sum;
    for (const KernelStep& step : chain.steps) {
        if (step.vector_result) {
            sum += element_kernel(memory, {}, {}, 1.0, op.type);
            continue;
        }
        double hits = 0.0;
        for (std::size_t i = 0; i < step.reads; ++i) {
            const bool found = l2 == L2State::warm || step.made[i];
            if (found) hits += memory.l2.found(step.distance[i] * tensor);
        }
        const auto reads = static_cast<double>(step.reads);
        const double missing = step.reads > 0 ? 1.0 - hits / reads : 0.0;
        const BlockTraffic moved{
            .dram_read = tensor * (reads - hits),
            .dram_write = memory.l2.written_back(tensor, chain.tensors * tensor, l2),
            .l2_read = reads * tensor,
            .l2_write = tensor,
            .missing = missing};
        const FunctionCost& cost = op.type == DataType::fp64 ? step.double_cost : step.cost;
        sum += element_kernel(memory,
                              {.accesses = reads + 1.0 + (step.vector ? 1.0 : 0.0),
                               .flop = cost.flop,
                               .special = cost.special,
                               .vector = step.vector},
                              moved, elements, op.type);
    }
    return sum;
}

/// Time of `kernels` equal kernels that share the passes of `counts`.
KernelTime equal_kernels(const MemoryParameters& memory, const Elementwise& op,
                         const ExpressionCounts& counts, FunctionCost cost, Bytes tensor,
                         L2State l2) {
    const double kernels = std::max(1, counts.kernels);
    const bool vector = counts.vector_reads > 0;
    const BlockTraffic moved = stream_traffic(memory, counts.reads / kernels * tensor,
                                              counts.writes / kernels * tensor, l2);
    const KernelTime one =
        element_kernel(memory,
                       {.accesses = counts.passes() / kernels + (vector ? 1.0 : 0.0),
                        .flop = cost.flop / kernels,
                        .special = cost.special / kernels,
                        .vector = vector},
                       moved, static_cast<double>(op.elements), op.type);
    KernelTime sum;
    for (int i = 0; i < std::max(1, counts.kernels); ++i) sum += one;
    return sum;
}

double elements_of(const Transpose& op) {
    return static_cast<double>(op.rows) * static_cast<double>(op.cols);
}

double transpose_blocks(const Transpose& op, bundled::TransposeMethod method) {
    return static_cast<double>(
        bundled::transpose_grid(op.rows, op.cols, size_of(op.type), method).blocks());
}

/// Time of the naive transpose. (eq. B24)
KernelTime scattered_transpose(const MemoryParameters& memory, const Transpose& op,
                               BlockTraffic moved) {
    const Bytes both = 2.0 * elements_of(op) * static_cast<double>(size_of(op.type)) * units::B;
    const double again = 1.0 + memory.bundled.code.evicted * (1.0 - memory.l2.found(both));
    moved.dram_read = moved.dram_read * again;
    moved.dram_write = moved.dram_write * again;
    KernelTime time =
        block_time(memory, {.traffic = moved,
                            .blocks = transpose_blocks(op, bundled::TransposeMethod::naive),
                            .life = first_load(memory, moved.missing) + memory.bundled.first_dram});
    time.l2 = moved.l2_write / memory.bundled.scatter;
    time.total = memory.launch.kernel + time.latency + combined({time.dram, time.l2}, pipes);
    return time;
}

/// Time of the tiled transpose. (eq. B24)
KernelTime tiled_transpose(const MemoryParameters& memory, const Transpose& op,
                           BlockTraffic moved) {
    const auto element = static_cast<std::int64_t>(size_of(op.type));
    const bundled::TransposeMethod method = bundled::tiled_transpose(op.rows, op.cols, element);
    const bool vectors = method == bundled::TransposeMethod::swizzled;
    const double blocks = transpose_blocks(op, method);
    const double resident = vectors && element < 4 ? 4.0 : 8.0;  // limited by shared memory and
                                                                 // registers
    const BundledCosts& bundled = memory.bundled;
    const Time load = first_load(memory, moved.missing);
    KernelTime time =
        block_time(memory, {.traffic = moved,
                            .blocks = blocks,
                            .life = vectors ? tile_loads * load
                                            : loads_per_vector * tile_loads * load +
                                                  bundled.code.element_tile * bundled.first_dram});
    const Frequency clocks = memory.clock * even_share(memory, blocks);
    time.fma = elements_of(op) / bundled.tile_rate * units::cycle / clocks;
    const Time rounds = (whole_rounds(memory, blocks, resident) - 1.0) * time.latency;
    time.total = memory.launch.kernel + time.latency +
                 combined({combined({time.dram, time.l2}, pipes), time.fma, rounds},
                          Overlap{bundled.code.tile_overlap});
    time.latency += rounds;
    return time;
}

}  // namespace

KernelTime bundled_elementwise_time(const MemoryParameters& memory, const Elementwise& op,
                                    Implementation implementation, L2State l2) {
    const Bytes tensor =
        static_cast<double>(op.elements) * static_cast<double>(size_of(op.type)) * units::B;
    const bool fused = implementation == Implementation::fused;
    if (op.direction == Direction::backward) {
        const ExpressionCounts counts =
            backward_counts(op.expression, fused ? Fusion::fused : Fusion::unfused);
        return equal_kernels(memory, op, counts, {counts.flop, counts.special}, tensor, l2);
    }
    if (!fused) return unfused_time(memory, op, tensor, l2);
    const KernelChain& chain = op.expression.chain();
    return equal_kernels(memory, op, op.expression.fused(),
                         op.type == DataType::fp64 ? chain.double_cost : chain.cost, tensor, l2);
}

KernelTime bundled_copy_time(const MemoryParameters& memory, const Copy& op, L2State l2) {
    const std::int64_t whole_bytes = op.elements * size_of(op.type);
    const auto bytes = static_cast<double>(whole_bytes);
    const BlockTraffic moved = stream_traffic(memory, bytes * units::B, bytes * units::B, l2);
    const Time load = first_load(memory, moved.missing);
    return block_time(memory,
                      {.traffic = moved,
                       .blocks = static_cast<double>(bundled::copy_grid(whole_bytes).blocks()),
                       .life = load + ragged_wait(memory, bytes, bundled::vector_bytes)});
}

KernelTime bundled_transpose_time(const MemoryParameters& memory, const Transpose& op,
                                  Implementation implementation, L2State l2) {
    const Bytes matrix = elements_of(op) * static_cast<double>(size_of(op.type)) * units::B;
    BlockTraffic moved = stream_traffic(memory, matrix, matrix, l2);
    const SectorBytes sectors = bundled_sectors(memory, op, implementation);
    moved.l2_read = sectors.read;
    moved.l2_write = sectors.write;
    return implementation == Implementation::naive ? scattered_transpose(memory, op, moved)
                                                   : tiled_transpose(memory, op, moved);
}

KernelTime bundled_gather_time(const MemoryParameters& memory, const Gather& op,
                               std::int64_t sector_bytes, L2State l2) {
    constexpr double threads = bundled::gather_threads;
    constexpr double unroll = bundled::gather_unroll;
    const std::int64_t row = op.cols * static_cast<std::int64_t>(size_of(op.type));
    const GatherBytes bytes = gather_bytes(op, sector_bytes);
    const double hits = gather_hits(op, bytes, memory.l2.capacity(Readers::all));
    const Bytes touched = bytes.distinct + bytes.indices + bytes.output;
    const double missing = l2 == L2State::warm ? 1.0 - memory.l2.found(touched) : 1.0;
    const double evicted = 1.0 - memory.l2.found(touched);
    const Bytes again = std::max(Bytes{}, bytes.rows - bytes.distinct) * (1.0 - hits) * evicted;

    const std::int64_t access = bundled::gather_access(row);
    const std::int64_t whole_accesses = row / access;
    const auto accesses = static_cast<double>(whole_accesses);
    const double groups = std::floor(accesses / (unroll * bundled::warp_threads));
    const double rest =
        std::ceil((accesses - groups * unroll * bundled::warp_threads) / bundled::warp_threads);
    const double row_missing =
        std::min<double>(1.0, (bytes.distinct * missing + again) / bytes.rows);
    const Time row_load = first_load(memory, row_missing);
    const SectorBytes sectors = bundled_sectors(memory, op);
    BlockKernel kernel;
    kernel.traffic = {.dram_read = (bytes.distinct + bytes.indices) * missing + again,
                      .dram_write = memory.l2.written_back(bytes.output, touched, l2),
                      .l2_read = sectors.read,
                      .l2_write = sectors.write,
                      .missing = row_missing};
    kernel.blocks = static_cast<double>(bundled::gather_grid(op.rows).blocks());
    kernel.rounds = whole_rounds(
        memory, kernel.blocks,
        resident_blocks(
            memory, threads,
            access == bundled::vector_bytes ? memory.bundled.registers.gather : few_registers));
    kernel.slots = kernel.blocks * threads * memory.bundled.thread_slots();
    kernel.life = memory.bundled.code.dependent_load * (first_load(memory, missing) + row_load) +
                  (groups + rest - 1.0) * memory.bundled.further_load * row_load;
    return block_time(memory, kernel);
}

}  // namespace ridge::model
