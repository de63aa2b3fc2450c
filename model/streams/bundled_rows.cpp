#include "model/streams/bundled_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/bundled/rows.h"
#include "model/streams/bundled_traffic.h"

namespace ridge::model {
namespace {

constexpr double vector_bytes = bundled::vector_bytes;
constexpr double warp = bundled::warp_threads;

/// Issue slots and dependent clocks of the compiled kernels; equations B20 and B21.
struct Code {
    double per_thread;        ///< slots: addresses, reductions, ends
    double per_element;       ///< slots, in vectors
    double twice_per_thread;  ///< slots of a thread that reads its row twice
    double twice_idle;        ///< the same of a warp that has no element of it
    double per_load;          ///< slots of one element of four bytes loaded by itself
    double per_narrow_load;   ///< of one of two bytes
    double trip;              ///< of a first load, in whole groups of four
    double rest_trip;         ///< the same of a trip behind them
    double near_trip = 0.0;   ///< a repeated load that hits, of a first load from L2
    double element_clocks;    ///< of a thread's dependent chain
    double narrow_clocks;     ///< between two loads of single elements of two bytes
    double special = 0.0;     ///< special results per element and pass
    double operands = 0.0;    ///< vectors of one element per column
    double statistics = 1.0;  ///< reductions over the row
};
constexpr Code softmax_code{.per_thread = 159.0,
                            .per_element = 12.4,
                            .twice_per_thread = 135.0,
                            .twice_idle = 135.0,
                            .per_load = 22.5,
                            .per_narrow_load = 22.5,
                            .trip = 0.482,
                            .rest_trip = 0.256,
                            .near_trip = 0.0483,
                            .element_clocks = 15.9,
                            .narrow_clocks = 0.0,
                            .special = 1.0};
constexpr Code layernorm_code{.per_thread = 97.6,
                              .per_element = 11.7,
                              .twice_per_thread = 173.0,
                              .twice_idle = 33.0,
                              .per_load = 22.6,
                              .per_narrow_load = 9.4,
                              .trip = 0.424,
                              .rest_trip = 0.424,
                              .element_clocks = 36.1,
                              .narrow_clocks = 178.0,
                              .operands = 2.0,
                              .statistics = 2.0};
/// A layer norm without the mean and with one vector instead of two.
constexpr Code rmsnorm_code = [] {
    Code code = layernorm_code;
    code.per_element = 7.41;
    code.per_load = 17.2;
    code.per_narrow_load = 4.0;
    code.operands = 1.0;
    code.statistics = 1.0;
    return code;
}();
constexpr double operand_load = 0.523;  // of a first load from L2, behind the reduction

constexpr double sum_slots_per_thread = 127.0;
constexpr double sum_slots_per_element = 3.67;
constexpr double sum_slots_per_load = 2.26;
constexpr double sum_slots_per_access = 8.48;   // of either kind, beside its elements
constexpr double further_load = 0.58;           // of a first load; four vectors are in flight
constexpr double further_element_load = 0.318;  // the same of single elements

constexpr double twice_vector_share = 0.69;  // slots of an element in vectors

constexpr double step_slots_per_thread = 94.3;
constexpr double step_slots_per_place = 1.82;  // of an element that a thread may hold, held or not
constexpr double step_slots_per_element = 7.06;
constexpr double step_element_clocks = 20.9;

const Code& code_of(RowKind kind) {
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
        return vectors ? vector_bytes / static_cast<double>(element) : 1.0;
    }
    [[nodiscard]] std::int64_t whole_columns() const { return static_cast<std::int64_t>(columns); }
    /// Blocks of a plan.
    [[nodiscard]] double blocks(const bundled::RowPlan& plan) const {
        return static_cast<double>(
            bundled::row_grid(static_cast<std::int64_t>(rows), plan, 0).blocks());
    }
    [[nodiscard]] Bytes bytes() const { return rows * row() * units::B; }
};

/// Backward passes read two matrices: rows of twice the length.
Matrix matrix_of(const RowWise& op) {
    const double both = op.direction == Direction::backward ? 2.0 : 1.0;
    Matrix matrix{.rows = static_cast<double>(op.rows),
                  .columns = static_cast<double>(op.cols) * both,
                  .element = size_of(op.type),
                  .vectors = false};
    matrix.vectors = bundled::in_vectors(matrix.whole_columns(), matrix.element);
    return matrix;
}

double lanes_of(const MemoryParameters& memory, DataType type) {
    return type == DataType::fp64 && memory.fp64_lanes > 0.0 ? memory.fp64_lanes
                                                             : memory.fp32_lanes;
}

/// A warp or block per row; each thread reads four accesses at once and adds. (eq. B19)
BlockKernel sum_kernel(const MemoryParameters& memory, const Matrix& m, const BlockTraffic& moved) {
    constexpr double unroll = bundled::row_sum_unroll;
    const bundled::RowPlan plan = bundled::row_sum_plan(m.whole_columns(), m.element);
    const bool warps = plan.method == bundled::RowMethod::warp;
    const double block = plan.threads;
    const double step = (warps ? warp : block) * m.width();
    const double groups = std::floor(m.columns / (unroll * step));
    const double rest = std::ceil((m.columns - groups * unroll * step) / step);
    const double registers = m.vectors && warps ? 36.0 : 32.0;
    const Time load = first_load(memory, moved.missing);
    const double loads = groups * unroll + rest;
    const double slots = m.vectors ? sum_slots_per_element * m.width() : sum_slots_per_load;
    BlockKernel kernel;
    kernel.traffic = moved;
    kernel.blocks = m.blocks(plan);
    kernel.rounds = whole_rounds(memory, kernel.blocks, resident_blocks(memory, block, registers));
    kernel.slots =
        kernel.blocks * block * (sum_slots_per_thread + loads * (slots + sum_slots_per_access));
    kernel.life =
        load + (groups + rest - 1.0) * (m.vectors ? further_load : further_element_load) * load;
    if (!warps) kernel.life += memory.bundled.reduction;
    return kernel;
}

/// A row in the registers of a warp or a block. (eq. B20)
BlockKernel held_kernel(const MemoryParameters& memory, const Matrix& m, const Code& code,
                        const bundled::RowPlan& plan, const BlockTraffic& moved) {
    const double threads = plan.threads;
    const double elements = plan.vectors * m.width();
    const double registers = std::min(64.0, 24.0 + elements + (code.operands > 1.0 ? 6.0 : 0.0));
    BlockKernel kernel;
    kernel.blocks = m.blocks(plan);
    kernel.rounds =
        whole_rounds(memory, kernel.blocks, resident_blocks(memory, threads, registers));
    kernel.traffic = moved;
    kernel.slots = kernel.blocks * threads * (code.per_thread + elements * code.per_element);
    kernel.special = code.special * m.rows * m.columns;
    kernel.life = first_load(memory, moved.missing) +
                  elements * code.element_clocks * units::cycle / memory.clock +
                  code.operands * operand_load * memory.bundled.first_l2;
    if (plan.method == bundled::RowMethod::block)
        kernel.life += code.statistics * memory.bundled.reduction;
    return kernel;
}

/// Issue slots of a row that is read twice, by a block of `threads`.
double twice_slots(const Matrix& m, const Code& code, double threads) {
    if (m.vectors) {
        const double trips = std::ceil(m.columns / (threads * m.width()));
        const double per_trip = code.per_element * m.width() * twice_vector_share;
        return threads * (code.twice_per_thread + 2.0 * trips * per_trip);
    }
    const double loads = std::ceil(m.columns / warp) * warp;
    const double active = std::min(threads, loads);
    const double per_load = m.element == 2 ? code.per_narrow_load : code.per_load;
    return active * code.twice_per_thread + (threads - active) * code.twice_idle +
           2.0 * loads * per_load;
}

/// A block reads its row twice, load after load. (eq. B21)
BlockKernel twice_kernel(const MemoryParameters& memory, const Matrix& m, const Code& code,
                         const bundled::RowPlan& plan, BlockTraffic moved) {
    constexpr double unroll = bundled::row_pass_unroll;
    const double threads = plan.threads;
    const double registers = m.vectors ? 32.0 : code.operands > 0.0 ? 29.0 : 18.0;
    const double resident = resident_blocks(memory, threads, registers);
    const double trips = std::ceil(m.columns / (threads * m.width()));
    const double kept_rows = std::min(m.rows, resident * memory.sm_count);
    const double lost = moved.missing * (1.0 - memory.l2.found(kept_rows * m.row() * units::B));
    const Time first = first_load(memory, moved.missing);
    const Time again =
        lost * memory.bundled.first_dram + (1.0 - lost) * code.near_trip * memory.bundled.first_l2;
    const bool narrow_elements = !m.vectors && m.element == 2;
    const Time chain = (narrow_elements ? code.narrow_clocks : 0.0) * units::cycle / memory.clock;
    moved.dram_read += m.bytes() * lost;
    BlockKernel kernel;
    kernel.traffic = moved;
    kernel.blocks = m.blocks(plan);
    kernel.rounds = whole_rounds(memory, kernel.blocks, resident);
    kernel.slots = m.rows * twice_slots(m, code, threads);
    kernel.special = 2.0 * code.special * m.rows * m.columns;
    const double rest = std::fmod(trips, unroll);
    const double loads = (trips - rest) * code.trip + rest * code.rest_trip;
    kernel.life = first + loads * (first + again) + 2.0 * trips * chain + memory.bundled.reduction;
    return kernel;
}

/// One of the three kernels of the manual softmax that treat elements alike. (eq. B21)
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
    const double warps = std::ceil(accesses / warp);
    const double of_thread = step_slots_per_thread + unroll * m.width() * step_slots_per_place;
    kernel.slots =
        kernel.blocks * (step_slots_per_element * warps * warp * m.width() + of_thread * threads);
    kernel.special = special * m.rows * m.columns;
    kernel.life = first_load(memory, moved.missing) +
                  active * m.width() * step_element_clocks * units::cycle / memory.clock;
    return kernel;
}

}  // namespace

KernelTime bundled_row_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    constexpr double statistic = 4.0;  // bytes
    const Matrix m = matrix_of(op);
    const Code& code = code_of(op.kind);
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
    // exponentials and the result lie in four buffers; the first use of x follows the last run.
    const double before = l2 == L2State::warm ? memory.l2.found(4.0 * matrix) : 0.0;
    const std::array<double, 5> hits{before, memory.l2.found(2.0 * matrix),
                                     memory.l2.found(3.0 * matrix), memory.l2.found(2.0 * matrix),
                                     memory.l2.found(2.0 * matrix)};
    const std::array<double, 5> registers{0.0, m.vectors ? 31.0 : 32.0,
                                          !m.vectors ? 32.0 : (half ? 44.0 : 28.0), 0.0, 32.0};
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
                                 : step_kernel(memory, m, registers[i], i == 2 ? 1.0 : 0.0, moved);
        kernel.lanes = lanes_of(memory, op.type);
        sum += block_time(memory, kernel);
    }
    return sum;
}

}  // namespace ridge::model
