#include "model/row_kernels.h"

#include <algorithm>
#include <cmath>

namespace ridge::model {
namespace {

constexpr double vector_bytes = 16.0;
constexpr double warp = 32.0;
constexpr double widest_block = 1024.0;

// Estimates for a well-made kernel: reductions within a warp, and through shared memory.
constexpr Time warp_reductions = 0.5 * units::us;
constexpr Time block_reductions = 1.2 * units::us;
constexpr Time element_reductions = 0.7 * units::us;
constexpr double element_trip_latencies = 0.45;      // consecutive trips overlap
constexpr Time second_reduction = 0.35 * units::us;  // the variance after the mean

double element_bytes(DataType type) {
    return static_cast<double>(size_of(type));
}

double resident_blocks(const MemoryParameters& memory, double threads) {
    return std::max(1.0,
                    std::min(memory.blocks_per_sm, std::floor(memory.threads_per_sm / threads)));
}

/// The power of two from 32 to 1024 at or above `wanted`.
double block_of(double wanted) {
    double threads = warp;
    while (threads < wanted && threads < widest_block) threads *= 2.0;
    return threads;
}

/// Passes over a row that does not stay on chip.
double passes_of(const RowWise& op, Implementation implementation) {
    if (op.kind == RowKind::sum) return 1.0;
    const bool three = implementation == Implementation::eager && op.kind == RowKind::softmax &&
                       op.direction == Direction::forward;
    return three ? 3.0 : 2.0;
}

RowKernel with_reuse(RowKernel kernel, const EagerCosts& costs) {
    kernel.reuse_l1 = costs.reuse_l1;
    kernel.reuse_l2 = costs.reuse_l2;
    kernel.reuse_steepness = costs.reuse_steepness;
    return kernel;
}

/// Up to 1024 columns and 4 KiB a warp holds its row in registers.
RowKernel eager_softmax_by_warps(const RowWise& op, const MemoryParameters& memory) {
    const double registers = 32.0 + std::ceil(static_cast<double>(op.cols) / warp);
    const double resident = std::min(memory.threads_per_sm / warp,
                                     std::floor(memory.registers_per_sm / (warp * registers)));
    return with_reuse({.rows_per_sm = resident,
                       .read_passes = 1.0,
                       .trips = 1.0,
                       .trip_latencies = 1.0,
                       .reductions = warp_reductions,
                       .drain_rows = memory.eager.drain_rows},
                      memory.eager);
}

/// A block per row, sized to half the vectors of a row; what does not fill whole blocks of vectors
/// is loaded element by element.
RowKernel eager_softmax_by_blocks(const RowWise& op, const MemoryParameters& memory) {
    const auto columns = static_cast<double>(op.cols);
    const double vector = std::max(1.0, vector_bytes / element_bytes(op.type));
    const double threads = block_of(std::min(std::floor(columns / vector), widest_block) / 2.0);
    const double vector_trips = std::floor(columns / (vector * threads));
    const double rest = columns - vector_trips * vector * threads;
    return with_reuse({.rows_per_sm = resident_blocks(memory, threads),
                       .read_passes = passes_of(op, Implementation::eager),
                       .trips = vector_trips + std::ceil(rest / threads),
                       .trip_latencies = memory.eager.softmax_trips,
                       .reductions = memory.eager.softmax_reductions,
                       .drain_rows = memory.eager.drain_rows},
                      memory.eager);
}

/// 128 threads per row; the statistics in a first pass, the output in a second.
RowKernel eager_norm(const RowWise& op, const MemoryParameters& memory) {
    constexpr double threads = 128.0;
    const double vector = std::max(1.0, vector_bytes / element_bytes(op.type));
    return with_reuse({.rows_per_sm = resident_blocks(memory, threads),
                       .read_passes = passes_of(op, Implementation::eager),
                       .trips = std::ceil(static_cast<double>(op.cols) / (vector * threads)),
                       .trip_latencies = memory.eager.norm_trips,
                       .reductions = memory.eager.norm_reductions,
                       .drain_rows = memory.eager.drain_rows},
                      memory.eager);
}

/// Sums: a warp or block per row with four vectors per thread in flight.
RowKernel well_made_sum(const RowWise& op, const MemoryParameters& memory) {
    constexpr double vectors_in_flight = 4.0;
    const double wanted =
        static_cast<double>(op.cols) * element_bytes(op.type) / (vector_bytes * vectors_in_flight);
    const double threads = block_of(wanted);
    const bool warps = threads <= warp;
    return with_reuse(
        {.rows_per_sm = warps ? memory.threads_per_sm / warp : resident_blocks(memory, threads),
         .read_passes = 1.0,
         .trips = std::ceil(wanted / threads),
         .trip_latencies = 1.0,
         .reductions = warps ? warp_reductions : block_reductions,
         .drain_rows = 1.0},
        memory.eager);
}

/// Rows that are not whole vectors: a block reads its row twice, element by element.
RowKernel by_elements(const RowWise& op, const MemoryParameters& memory) {
    constexpr std::int64_t short_row = 1024;
    const double threads = op.cols <= short_row ? 128.0 : 512.0;
    return with_reuse(
        {.rows_per_sm = resident_blocks(memory, threads),
         .read_passes = passes_of(op, Implementation::fused),
         .trips = std::ceil(static_cast<double>(op.cols) / threads),
         .trip_latencies = element_trip_latencies,
         .reductions = op.kind == RowKind::layernorm ? element_reductions + second_reduction
                                                     : element_reductions,
         .drain_rows = 1.0},
        memory.eager);
}

/// A warp or block per row, up to four vectors per thread; the row stays in registers where a
/// block has room for it.
RowKernel well_made(const RowWise& op, const MemoryParameters& memory) {
    constexpr double vectors_in_flight = 4.0;
    if (op.kind == RowKind::sum) return well_made_sum(op, memory);
    const double row = static_cast<double>(op.cols) * element_bytes(op.type) *
                       (op.direction == Direction::backward ? 2.0 : 1.0);
    if (std::fmod(row, vector_bytes) != 0.0) return by_elements(op, memory);
    const double wanted = std::ceil(row / (vector_bytes * vectors_in_flight));
    const bool warps = wanted <= warp;
    const double threads = std::min(widest_block, std::ceil(wanted / warp) * warp);
    const bool fits = row <= memory.shared_per_block.base();
    const double room = std::max(1.0, std::floor(memory.l1_size.base() / row));
    const double by_threads =
        warps ? memory.threads_per_sm / warp : resident_blocks(memory, threads);
    const bool layernorm = op.kind == RowKind::layernorm;
    const Time once = warps ? warp_reductions : block_reductions;
    return with_reuse({.rows_per_sm = std::min(by_threads, room),
                       .read_passes = fits ? 1.0 : passes_of(op, Implementation::fused),
                       .trips = fits ? 1.0 : std::ceil(wanted / threads),
                       .trip_latencies = 1.0,
                       .reductions = layernorm ? once + second_reduction : once,
                       .drain_rows = 1.0},
                      memory.eager);
}

}  // namespace

StreamKernel stream_kernel(const MemoryParameters& memory, DataType type, double arrays,
                           Implementation implementation) {
    const bool framework =
        implementation == Implementation::eager || implementation == Implementation::unfused;
    const double threads = framework ? 128.0 : 256.0;
    const double per_array = framework ? 4.0 * element_bytes(type) : vector_bytes;
    return {.threads_per_block = threads,
            .blocks_per_sm = resident_blocks(memory, threads),
            .bytes_per_thread = per_array * arrays * units::B};
}

RowKernel row_kernel(const RowWise& op, Implementation implementation,
                     const MemoryParameters& memory) {
    if (implementation != Implementation::eager) return well_made(op, memory);
    if (op.kind == RowKind::softmax || op.kind == RowKind::sum) {
        const bool short_row = op.cols <= 1024 && op.cols * size_of(op.type) <= 4096;
        return short_row ? eager_softmax_by_warps(op, memory) : eager_softmax_by_blocks(op, memory);
    }
    return eager_norm(op, memory);
}

}  // namespace ridge::model
