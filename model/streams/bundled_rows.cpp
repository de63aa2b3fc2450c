#include "model/streams/bundled_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/bundled/rows.h"
#include "model/streams/bundled_streams.h"
#include "model/streams/bundled_traffic.h"

namespace ridge::model {
namespace {

/// The differences between the row kernels.
struct RowCode {
    double special = 0.0;     ///< special results per element and pass
    double operands = 0.0;    ///< vectors of one element per column
    double statistics = 1.0;  ///< reductions over the row
    bool sums = false;        ///< softmax: every thread sums, even if it holds its row
};
constexpr RowCode softmax_code{.special = 1.0, .sums = true};
constexpr RowCode layernorm_code{.operands = 2.0, .statistics = 2.0};
constexpr RowCode rmsnorm_code{.operands = 1.0};

const RowCode& row_code(RowKind kind) {
    switch (kind) {
        case RowKind::layernorm:
            return layernorm_code;
        case RowKind::rmsnorm:
            return rmsnorm_code;
        default:
            return softmax_code;
    }
}

/// A matrix as its kernels see it.
struct Matrix {
    double rows;
    double columns;
    std::int64_t element;  ///< bytes
    bool vectors;          ///< rows are whole vectors

    [[nodiscard]] double row() const { return columns * static_cast<double>(element); }
    [[nodiscard]] double width() const {
        return vectors ? bundled::vector_bytes / static_cast<double>(element) : 1.0;
    }
    [[nodiscard]] std::int64_t whole_columns() const { return static_cast<std::int64_t>(columns); }
    /// Number of blocks of a plan.
    [[nodiscard]] double blocks(const bundled::RowPlan& plan) const {
        return static_cast<double>(
            bundled::row_grid(static_cast<std::int64_t>(rows), plan, 0).blocks());
    }
    [[nodiscard]] Bytes bytes() const { return rows * row() * units::B; }
};

/// Backward passes read two matrices, which count as rows of twice the length.
Matrix matrix_of(const RowWise& op) {
    const double both = op.direction == Direction::backward ? 2.0 : 1.0;
    Matrix matrix{.rows = static_cast<double>(op.rows),
                  .columns = static_cast<double>(op.cols) * both,
                  .element = size_of(op.type),
                  .vectors = false};
    matrix.vectors = bundled::in_vectors(matrix.whole_columns(), matrix.element);
    return matrix;
}

/// A warp or block per row; each thread has four accesses in flight and adds. (eq. B19)
BlockKernel sum_kernel(const MemoryParameters& memory, const Matrix& m, const BlockTraffic& moved) {
    constexpr double unroll = bundled::row_sum_unroll;
    const bundled::RowPlan plan = bundled::row_sum_plan(m.whole_columns(), m.element);
    const bool warps = plan.method == bundled::RowMethod::warp;
    const double block = plan.threads;
    const double step = (warps ? bundled::warp_threads : block) * m.width();
    const double groups = std::floor(m.columns / (unroll * step));
    const double rest = std::ceil((m.columns - groups * unroll * step) / step);
    const double registers = m.vectors && warps ? memory.bundled.registers.sum : few_registers;
    const Time load = first_load(memory, moved.missing);
    const double loads = groups * unroll + rest;
    BlockKernel kernel;
    kernel.traffic = moved;
    kernel.blocks = m.blocks(plan);
    kernel.rounds = whole_rounds(memory, kernel.blocks, resident_blocks(memory, block, registers));
    kernel.slots = kernel.blocks * block *
                   (memory.bundled.reduction_slots + loads * memory.bundled.code.added_only *
                                                         memory.bundled.element_slots * m.width());
    const double further =
        m.vectors ? memory.bundled.code.dependent_load : memory.bundled.further_load;
    kernel.life = load + (groups + rest - 1.0) * further * load;
    if (!warps) kernel.life += memory.reduction();
    return kernel;
}

/// A row that is held in the registers of a warp or a block. (eq. B20)
BlockKernel held_kernel(const MemoryParameters& memory, const Matrix& m, const RowCode& code,
                        const bundled::RowPlan& plan, const BlockTraffic& moved) {
    const double threads = plan.threads;
    const double elements = plan.vectors * m.width();
    const BundledRegisters& counts = memory.bundled.registers;
    const double most_registers = memory.registers_per_sm / bundled::most_row_threads;
    const double registers = std::min(
        most_registers, counts.held + elements + (code.operands > 1.0 ? counts.held_bias : 0.0));
    BlockKernel kernel;
    kernel.blocks = m.blocks(plan);
    kernel.rounds =
        whole_rounds(memory, kernel.blocks, resident_blocks(memory, threads, registers));
    kernel.traffic = moved;
    const BundledCosts& costs = memory.bundled;
    const double of_thread = code.sums ? costs.reduction_slots : costs.thread_slots();
    kernel.slots = kernel.blocks * threads * (of_thread + elements * costs.element_slots);
    kernel.special = code.special * m.rows * m.columns;
    kernel.life =
        first_load(memory, moved.missing) +
        elements * costs.code.element_chain * costs.flop_clocks * units::cycle / memory.clock +
        code.operands * memory.bundled.code.dependent_load * memory.l2_latency;
    if (plan.method == bundled::RowMethod::block) {
        kernel.life += code.statistics * memory.reduction();
    }
    return kernel;
}

/// Issue slots of a row that a block of `threads` reads twice. Norms of two-byte elements that are
/// loaded by themselves wait for each load, which hides their slots.
double twice_slots(const BundledCosts& costs, const Matrix& m, const RowCode& code,
                   double threads) {
    if (m.vectors) {
        const double trips = std::ceil(m.columns / (threads * m.width()));
        return threads * (costs.reduction_slots + 2.0 * trips * costs.element_slots * m.width());
    }
    const double loads = std::ceil(m.columns / bundled::warp_threads) * bundled::warp_threads;
    const double active = std::min(threads, loads);
    const double idle = code.sums ? costs.reduction_slots : costs.thread_slots();
    const bool waits = m.element == 2 && !code.sums;
    return active * costs.reduction_slots + (threads - active) * idle +
           (waits ? 0.0 : 2.0 * loads * costs.code.single_load * costs.element_slots);
}

/// A block that reads its row twice, load after load. (eq. B21)
BlockKernel twice_kernel(const MemoryParameters& memory, const Matrix& m, const RowCode& code,
                         const bundled::RowPlan& plan, BlockTraffic moved) {
    const double threads = plan.threads;
    const double resident = resident_blocks(memory, threads, few_registers);
    const double trips = std::ceil(m.columns / (threads * m.width()));
    const double kept_rows = std::min(m.rows, resident * memory.sm_count);
    const double lost = moved.missing * (1.0 - memory.l2.found(kept_rows * m.row() * units::B));
    const Time first = first_load(memory, moved.missing);
    const Time again = lost * memory.bundled.first_dram;
    const bool waits = !m.vectors && m.element == 2 && !code.sums;
    const Time chain =
        (waits ? memory.bundled.code.narrow_chain : 0.0) * units::cycle / memory.clock;
    moved.dram_read += m.bytes() * lost;
    BlockKernel kernel;
    kernel.traffic = moved;
    kernel.blocks = m.blocks(plan);
    kernel.rounds = whole_rounds(memory, kernel.blocks, resident);
    kernel.slots = m.rows * twice_slots(memory.bundled, m, code, threads);
    kernel.special = 2.0 * code.special * m.rows * m.columns;
    kernel.life = first + trips * memory.bundled.further_load * (first + again) +
                  2.0 * trips * chain + memory.reduction();
    return kernel;
}

/// One of the three elementwise kernels of the manual softmax. (eq. B21)
BlockKernel step_kernel(const MemoryParameters& memory, const Matrix& m, double registers,
                        double special, const BlockTraffic& moved) {
    constexpr double threads = bundled::softmax_step_threads;
    constexpr double unroll = bundled::softmax_step_unroll;
    const auto per_row =
        static_cast<double>(bundled::softmax_step_blocks_per_row(m.whole_columns(), m.element));
    const double accesses = std::ceil(m.columns / m.width() / per_row);
    const double active = std::min(unroll, std::ceil(accesses / threads));
    BlockKernel kernel;
    kernel.traffic = moved;
    kernel.blocks = m.rows * per_row;
    kernel.rounds =
        whole_rounds(memory, kernel.blocks, resident_blocks(memory, threads, registers));
    const double warps = std::ceil(accesses / bundled::warp_threads);
    const BundledCosts& costs = memory.bundled;
    const double of_thread =
        costs.thread_slots() + unroll * m.width() * costs.code.empty_place * costs.element_slots;
    kernel.slots =
        kernel.blocks *
        (costs.element_slots * warps * bundled::warp_threads * m.width() + of_thread * threads);
    kernel.special = special * m.rows * m.columns;
    kernel.life =
        first_load(memory, moved.missing) + active * m.width() * costs.code.element_chain *
                                                costs.flop_clocks * units::cycle / memory.clock;
    return kernel;
}

}  // namespace

KernelTime bundled_row_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    constexpr double statistic = 4.0;  // bytes
    const Matrix m = matrix_of(op);
    const RowCode& code = row_code(op.kind);
    const double both = op.direction == Direction::backward ? 2.0 : 1.0;
    const bool sums = op.kind == RowKind::sum;
    const Bytes result = sums ? m.rows * statistic * units::B : m.bytes() / both;
    BlockKernel kernel;
    if (sums && op.direction == Direction::backward) {  // one value per row becomes a matrix
        const Matrix out{m.rows, m.columns / both, m.element, m.vectors};
        kernel =
            sum_kernel(memory, out,
                       stream_traffic(memory, m.rows * static_cast<double>(m.element) * units::B,
                                      out.bytes(), l2));
    } else {
        BlockTraffic moved = stream_traffic(memory, m.bytes(), result, l2);
        if (op.direction == Direction::forward) {
            const SectorBytes sectors = bundled_sectors(memory, op, Implementation::fused);
            moved.l2_read = sectors.read;
            moved.l2_write = sectors.write;
        }
        if (sums) {
            kernel = sum_kernel(memory, m, moved);
        } else {
            const bundled::RowPlan plan = bundled::row_plan(m.whole_columns(), m.element);
            kernel = plan.held() ? held_kernel(memory, m, code, plan, moved)
                                 : twice_kernel(memory, m, code, plan, moved);
        }
    }
    kernel.lanes = lanes_of(memory, op.type);
    return block_time(memory, kernel);
}

KernelTime manual_softmax_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    constexpr double statistic = 4.0;
    const Matrix m = matrix_of(op);
    const bool half = m.element < 4;
    const Bytes matrix = m.bytes();
    const Bytes column = m.rows * statistic * units::B;
    // Matrices touched since the input of each kernel was last used: x, its differences, their
    // exponentials and the result are in four buffers. The first use of x follows the previous run.
    const double before = l2 == L2State::warm ? memory.l2.found(4.0 * matrix) : 0.0;
    const std::array<double, 5> hits{before, memory.l2.found(2.0 * matrix),
                                     memory.l2.found(3.0 * matrix), memory.l2.found(2.0 * matrix),
                                     memory.l2.found(2.0 * matrix)};
    const double of_exponential =
        m.vectors && half ? memory.bundled.registers.exponential : few_registers;
    KernelTime sum;
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const bool reduces = i == 0 || i == 3;
        const Bytes write = reduces ? column : matrix;
        const BlockTraffic moved{.dram_read = matrix * (1.0 - hits[i]),
                                 .dram_write = memory.l2.written_back(write, 4.0 * matrix, l2),
                                 .l2_read = matrix,
                                 .l2_write = write,
                                 .missing = 1.0 - hits[i]};
        BlockKernel kernel = reduces
                                 ? sum_kernel(memory, m, moved)
                                 : step_kernel(memory, m, i == 2 ? of_exponential : few_registers,
                                               i == 2 ? 1.0 : 0.0, moved);
        kernel.lanes = lanes_of(memory, op.type);
        sum += block_time(memory, kernel);
    }
    return sum;
}

}  // namespace ridge::model
