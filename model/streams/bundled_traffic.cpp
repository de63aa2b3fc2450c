#include "model/streams/bundled_traffic.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/bundled/rows.h"
#include "model/bundled/streams.h"
#include "model/core/real.h"
#include "model/roof/memory_time.h"
#include "model/roof/sector_runs.h"
#include "model/streams/elementwise_work.h"
#include "model/streams/row_work.h"

namespace ridge::model {
namespace {

/// A matrix of a row-wise operation.
struct RowMatrix {
    double rows;
    std::int64_t columns;
    std::int64_t element;  ///< bytes

    [[nodiscard]] std::int64_t row() const { return columns * element; }
    [[nodiscard]] bool vectors() const { return bundled::in_vectors(columns, element); }
    /// Bytes of a warp's access.
    [[nodiscard]] std::int64_t run() const {
        return bundled::warp_threads * (vectors() ? bundled::vector_bytes : element);
    }
    [[nodiscard]] double bytes() const { return rows * real(row()); }
    /// Bytes stored in accesses of one warp each.
    [[nodiscard]] double stored(const BundledSectors& sectors) const {
        return rows * bytes_in_runs(row(), run(), vectors() ? 1.0 : sectors.apart);
    }
};

/// Bytes read by blocks: both blocks read a sector that they share.
double read_by_blocks(const RowMatrix& m, double rows_of_block) {
    return m.bytes() + m.rows / rows_of_block * beside_run(m.row());
}

SectorBytes& operator+=(SectorBytes& sum, const SectorBytes& further) {
    sum.read += further.read;
    sum.write += further.write;
    return sum;
}

/// The result of four bytes per row takes a sector each.
SectorBytes sum_sectors(const RowMatrix& m) {
    const bundled::RowMethod method = bundled::row_sum_plan(m.columns, m.element).method;
    return {.read = read_by_blocks(m, real(bundled::rows_of_block(method))) * units::B,
            .write = m.rows * real(sector_size) * units::B};
}

/// Softmax and norms, with `operands` vectors of one element per column. (eq. B27)
SectorBytes row_kernel_sectors(const MemoryParameters& memory, const RowMatrix& m,
                               double operands) {
    const bundled::RowPlan plan = bundled::row_plan(m.columns, m.element);
    const double blocks = std::ceil(m.rows / real(bundled::rows_of_block(plan.method)));
    const double weights = operands * real(m.row());
    const double once = weights * std::min(blocks, memory.sm_count);
    const Bytes write = m.stored(memory.bundled.sectors) * units::B;
    if (plan.held()) {
        return {.read = (m.rows * bytes_in_runs(m.row(), m.run()) + once) * units::B,
                .write = write};
    }
    const double resident = std::min(std::floor(memory.threads_per_sm / plan.threads),
                                     std::ceil(m.rows / memory.sm_count));
    const double held = resident * real(m.row()) + weights;
    const double lost = 1.0 - retained(held * units::B, memory.l1_size, memory.l2.steepness);
    const double again = lost * (m.bytes() + weights * m.rows);
    return {.read = (read_by_blocks(m, 1.0) + again + once) * units::B, .write = write};
}

/// One of the three elementwise kernels of the manual softmax.
SectorBytes step_sectors(const MemoryParameters& memory, const RowMatrix& m, bool row_value) {
    // Accesses of a block, all in one row.
    constexpr std::int64_t accesses =
        std::int64_t{bundled::softmax_step_threads} * bundled::softmax_step_unroll;
    const std::int64_t width = bundled::softmax_step_width(m.columns, m.element);
    const std::int64_t block = accesses * width * m.element;
    const double values =
        row_value ? m.rows * real(ceil_divide(m.row(), block)) * real(sector_size) : 0.0;
    return {.read = (m.rows * bytes_in_runs(m.row(), m.vectors() ? m.run() : block) + values) *
                    units::B,
            .write = m.stored(memory.bundled.sectors) * units::B};
}

/// Sectors written per sector of the tiled transpose. Vectors of 16 bytes that do not meet their
/// neighbour on the way are separate sectors; there are more of them if the rows of the result are
/// not whole KiB apart or begin inside a sector. (eq. B29)
double alone_vectors(const BundledSectors& sectors, std::int64_t element, std::int64_t pitch) {
    constexpr std::int64_t even_pitch = 1024;
    const bool even = pitch % even_pitch == 0;
    const double alone = element == 2 ? (even ? sectors.narrow_tile : sectors.narrow_tile_uneven)
                                      : (even ? sectors.tile : sectors.tile_uneven);
    return alone * (pitch % sector_size == 0 ? 1.0 : sectors.tile_inside);
}

/// Runs of a row of a gather: groups of four per lane, then one by one. If the rest gives some
/// lanes a group of four more, each of their runs becomes two.
struct GatherRuns {
    std::int64_t grouped = 0;
    std::int64_t single = 0;

    explicit GatherRuns(std::int64_t accesses) {
        constexpr std::int64_t unroll = bundled::gather_unroll;
        const std::int64_t rest = accesses % (unroll * bundled::warp_threads);
        grouped = accesses / (unroll * bundled::warp_threads) * unroll;
        single = ceil_divide(rest, bundled::warp_threads);
        if (rest > (unroll - 1) * bundled::warp_threads) single += unroll - 1;
    }
};

}  // namespace

SectorBytes bundled_sectors(const MemoryParameters& memory, const RowWise& op,
                            Implementation implementation) {
    const RowMatrix m{.rows = real(op.rows), .columns = op.cols, .element = size_of(op.type)};
    if (op.kind == RowKind::sum) return sum_sectors(m);
    if (implementation == Implementation::manual) {
        SectorBytes all;
        for (const bool row_value : {true, false, true}) all += step_sectors(memory, m, row_value);
        for (int reductions = 0; reductions < 2; ++reductions) all += sum_sectors(m);
        return all;
    }
    const double operands = op.kind == RowKind::layernorm ? 2.0 : op.kind == RowKind::rmsnorm;
    return row_kernel_sectors(memory, m, operands);
}

SectorBytes bundled_sectors(const MemoryParameters& memory, const Elementwise& op,
                            Implementation implementation) {
    constexpr double longest_vector = bundled::broadcast_elements;
    constexpr double block_bytes =
        bundled::elementwise_threads * bundled::elementwise_unroll * bundled::vector_bytes;
    const Work tensors = elementwise_work(op, implementation);
    const ExpressionCounts counts =
        implementation == Implementation::unfused ? op.expression.unfused() : op.expression.fused();
    const double element = real(size_of(op.type));
    const double bytes = real(op.elements) * element;
    const double vector = std::min(longest_vector * element, bytes);
    const double fetched = std::min(std::ceil(bytes / block_bytes) * std::min(block_bytes, vector),
                                    memory.sm_count * vector);
    return {.read = tensors.dram_read + counts.vector_reads * fetched * units::B,
            .write = tensors.dram_write};
}

SectorBytes bundled_sectors(const MemoryParameters& memory, const Gather& op) {
    constexpr double index_bytes = 8.0;
    const std::int64_t row = op.cols * size_of(op.type);
    const std::int64_t access = bundled::gather_access(row);
    const GatherRuns runs(row / access);
    const double grouped = real(runs.grouped);
    const double single = real(runs.single);
    const double beside = beside_run(row);
    const double distinct = gather_distinct_rows(op);
    const double again = 1.0 - distinct / real(op.rows);
    const double found =
        again * retained(distinct * real(row) * units::B,
                         memory.l1_size * memory.bundled.sectors.table, memory.l2.steepness);
    const double through_l1 =
        real(row) - grouped * real(bundled::warp_threads * access) + single * beside;
    const double read = real(row) + (grouped + single) * beside - found * through_l1;
    const double joined = access == bundled::vector_bytes ? 1.0 : memory.bundled.sectors.unrolled;
    const double write = real(row) + (joined * grouped + single) * beside;
    return {.read = real(op.rows) * (index_bytes + read) * units::B,
            .write = real(op.rows) * write * units::B};
}

SectorBytes bundled_sectors(const MemoryParameters& memory, const Transpose& op,
                            Implementation implementation) {
    const std::int64_t element = size_of(op.type);
    const std::int64_t source = op.cols * element;
    const std::int64_t target = op.rows * element;
    const double rows = real(op.rows);
    const double columns = real(op.cols);
    const auto read_in = [&](std::int64_t run) {
        return rows * bytes_in_runs(source, run) * units::B;
    };
    if (implementation == Implementation::naive) {
        return {.read = read_in(bundled::warp_threads * element),
                .write = rows * columns * real(sector_size) * units::B};
    }
    const bundled::TransposeMethod method = bundled::tiled_transpose(op.rows, op.cols, element);
    const std::int64_t tile = bundled::transpose_edge(method, element) * element;  // bytes of a row
    if (method == bundled::TransposeMethod::padded) {
        return {.read = read_in(tile),
                .write = columns *
                         bytes_in_runs(target, bundled::warp_threads * element,
                                       memory.bundled.sectors.apart) *
                         units::B};
    }
    return {.read = read_in(tile),
            .write = columns * real(target) *
                     alone_vectors(memory.bundled.sectors, element, target) * units::B};
}

}  // namespace ridge::model
