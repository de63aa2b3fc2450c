#include "model/streams/eager_kernels.h"

#include <algorithm>
#include <cmath>

#include "model/streams/torch_rows.h"

namespace ridge::model {
namespace {

constexpr double vector_bytes = 16.0;
constexpr double warp = 32.0;
constexpr double widest_block = 1024.0;

double element_bytes(DataType type) {
    return static_cast<double>(size_of(type));
}

double resident_blocks(const MemoryParameters& memory, double threads) {
    return std::max(1.0,
                    std::min(memory.blocks_per_sm, std::floor(memory.threads_per_sm / threads)));
}

/// The smallest power of two from 32 to 1024 that is at least `wanted`.
double block_of(double wanted) {
    double threads = warp;
    while (threads < wanted && threads < widest_block) threads *= 2.0;
    return threads;
}

/// Number of passes over a row that does not stay on chip.
double passes_of(const RowWise& op) {
    if (is_reduction(op.kind) || op.kind == RowKind::scan) return 1.0;
    return op.kind == RowKind::softmax && op.direction == Direction::forward ? 3.0 : 2.0;
}

/// A warp holds its row in registers up to 1024 columns and 4 KiB.
RowKernel eager_softmax_by_warps(const RowWise& op, const MemoryParameters& memory) {
    // As in the kernels of PyTorch 2.11 (their records on an H200).
    const double registers = 16.0 + warp_rows_of(op).elements;
    const double resident = std::min(memory.threads_per_sm / warp,
                                     std::floor(memory.registers_per_sm / (warp * registers)));
    return {.rows_per_sm = resident,
            .read_passes = 1.0,
            .trips = 1.0,
            .reductions = memory.eager.reductions,
            .reuse = memory.eager.reuse};
}

/// A block per row, sized to half the vectors of a row. What does not fill whole blocks of vectors
/// is loaded element by element.
RowKernel eager_softmax_by_blocks(const RowWise& op, const MemoryParameters& memory) {
    const auto columns = static_cast<double>(op.cols);
    const double vector = std::max(1.0, vector_bytes / element_bytes(op.type));
    const double threads = block_of(std::min(std::floor(columns / vector), widest_block) / 2.0);
    const double vector_trips = std::floor(columns / (vector * threads));
    const double rest = columns - vector_trips * vector * threads;
    return {.rows_per_sm = resident_blocks(memory, threads),
            .read_passes = passes_of(op),
            .trips = vector_trips + std::ceil(rest / threads),
            .reductions = memory.eager.reductions,
            .reuse = memory.eager.reuse};
}

/// 128 threads per row, which compute the statistics in a first pass and the output in a second.
RowKernel eager_norm(const RowWise& op, const MemoryParameters& memory) {
    constexpr double threads = 128.0;
    const double vector = std::max(1.0, vector_bytes / element_bytes(op.type));
    return {.rows_per_sm = resident_blocks(memory, threads),
            .read_passes = passes_of(op),
            .trips = std::ceil(static_cast<double>(op.cols) / (vector * threads)),
            .reductions = memory.eager.reductions,
            .reuse = memory.eager.reuse};
}

}  // namespace

StreamKernel eager_stream_kernel(const MemoryParameters& memory, DataType type, double arrays) {
    constexpr double threads = 128.0;
    constexpr double elements_per_thread = 4.0;
    return {.threads_per_block = threads,
            .blocks_per_sm = resident_blocks(memory, threads),
            .bytes_per_thread = elements_per_thread * element_bytes(type) * arrays * units::B};
}

RowKernel eager_row_kernel(const RowWise& op, const MemoryParameters& memory) {
    if (op.kind != RowKind::layernorm && op.kind != RowKind::rmsnorm) {
        const bool short_row = op.cols <= 1024 && op.cols * size_of(op.type) <= 4096;
        return short_row ? eager_softmax_by_warps(op, memory) : eager_softmax_by_blocks(op, memory);
    }
    return eager_norm(op, memory);
}

}  // namespace ridge::model
