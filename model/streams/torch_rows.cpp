// PyTorch's kernels along rows: softmax by warps or blocks, norms, running sums, losses (eq. B35,
// B36).
#include <algorithm>
#include <bit>
#include <cmath>

#include "model/core/real.h"
#include "model/roof/block_time.h"
#include "model/streams/row_work.h"
#include "model/streams/torch_reduce.h"
#include "model/streams/torch_rows.h"

namespace ridge::model {
namespace {

constexpr double block_threads = 1024.0;

const SoftmaxCode& block_code(const TorchStreamCode& code, const RowWise& op) {
    constexpr std::int64_t most_in_registers = 8192;
    constexpr std::int64_t most_in_shared = 48 * 1024 - 256;
    const std::int64_t bytes = op.cols * size_of(op.type);
    if (op.cols <= most_in_registers) return code.registers;
    return bytes <= most_in_shared && bytes % 16 == 0 ? code.shared : code.loop;
}

/// Time of softmax or its logarithm.
KernelTime softmax_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    const Bytes matrix = real(op.rows) * real(op.cols) * real(size_of(op.type)) * units::B;
    TorchKernel kernel = moving(memory, matrix, matrix, l2);
    const TorchStreamCode& all = memory.torch->code;
    if (row_fits_warp(op)) {
        const SoftmaxCode& code = size_of(op.type) <= 2 ? all.warp_16bit : all.warp;
        const WarpRows warps = warp_rows_of(op);
        const RegisterCode& of_thread = all.registers_of;
        const double registers = of_thread.softmax + of_thread.softmax_element * warps.elements;
        kernel.busy = even_share(memory, warps.blocks) / memory.sm_count;
        kernel.chain = code.chain + code.element * warps.loaded;
        kernel.slots =
            code.slots * warps.loaded * 128.0 * warps.blocks + code.thread * 128.0 * warps.blocks;
        kernel.rounds = further_rounds(
            memory, warps.blocks, std::min(16.0, memory.registers_per_sm / (128.0 * registers)));
        return torch_kernel_time(memory, kernel, in_step);
    }
    const SoftmaxCode& code = block_code(all, op);
    const double passes = &code == &all.loop ? 3.0 : 1.0;
    kernel.busy = even_share(memory, real(op.rows)) / memory.sm_count;
    kernel.l2_read = passes * matrix;
    kernel.dram_read += (passes - 1.0) * lost_of_rows(memory, op, block_threads) * matrix;
    kernel.chain = code.chain + code.element * real(op.cols) / block_threads;
    kernel.slots =
        code.slots * real(op.rows) * real(op.cols) + code.thread * real(op.rows) * block_threads;
    kernel.rounds = further_rounds(memory, real(op.rows), memory.threads_per_sm / block_threads);
    return torch_kernel_time(memory, kernel, in_step);
}

// Norms: a block of 128 threads per row reads it twice if rows are whole groups of four. Otherwise
// there is one kernel for the statistics and one for the result. A mean is updated as elements
// arrive, with a division for each element, one after the other.
constexpr double columns_of_trip = 512.0;

KernelTime norm_time(const MemoryParameters& memory, const RowWise& op, Bytes read, Bytes write,
                     L2State l2) {
    const double trips = std::ceil(real(op.cols) / columns_of_trip);
    const bool mean = op.kind == RowKind::layernorm;
    const bool half = size_of(op.type) == 2;
    const TorchStreamCode& all = memory.torch->code;
    const NormCode& code =
        mean ? (half ? all.layer_16bit : all.layer) : (half ? all.root_16bit : all.root);
    const double blocks = mean && !half
                              ? std::floor(memory.registers_per_sm /
                                           (columns_of_trip / 4.0 * all.registers_of.moments))
                              : 16.0;
    TorchKernel kernel = moving(memory, read, write, l2);
    kernel.busy = busy_share(memory, real(op.rows));
    kernel.l2_read = 2.0 * read;
    kernel.chain = code.chain + code.trip * trips;
    kernel.steps = code.step * trips;
    kernel.slots = code.slots * real(op.rows) * real(op.cols) + code.row * real(op.rows);
    kernel.rounds = code.rounds * further_rounds(memory, real(op.rows), blocks);
    return torch_kernel_time(memory, kernel, in_step);
}

void add_norm(const MemoryParameters& memory, const RowWise& op, L2State l2, TorchTime& sum) {
    const Work work = row_work(op, Implementation::torch);
    constexpr std::int64_t group = 4;
    if (op.cols % group == 0) {
        sum.add(norm_time(memory, op, work.dram_read, work.dram_write, l2));
        return;
    }
    const double trips = std::ceil(real(op.cols) / columns_of_trip);
    const TorchStreamCode& all = memory.torch->code;
    const NormCode& code = op.kind == RowKind::layernorm ? all.layer_moments : all.root_moments;
    TorchKernel kernel = moving(memory, work.dram_read, work.dram_write, l2);
    kernel.busy = busy_share(memory, real(op.rows));
    kernel.l2_read = 2.0 * work.dram_read;
    kernel.chain = code.chain + code.trip * trips;
    kernel.steps = code.step * trips;
    kernel.slots = code.slots * real(op.rows) * real(op.cols) + code.row * real(op.rows);
    sum.add(torch_kernel_time(memory, kernel, free_running));
    sum.add(torch_kernel_time(memory, {.missing = 0.0}, free_running));
}

// Running sums: blocks of 512 threads take pieces of several rows in turn.
constexpr double scan_threads = 512.0;

/// Threads along a row. PyTorch's rule wraps round if rows are many and short.
double scan_width(const RowWise& op) {
    constexpr int all = 9;
    constexpr int least = 4;
    const auto levels = [](std::int64_t n) {
        return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
    };
    const int balance = all + levels(op.cols) - levels(op.rows);
    const int level = balance < 0 ? all : std::clamp(balance / 2, least, all);
    return static_cast<double>(1 << level);
}

KernelTime scan_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    const Bytes matrix = real(op.rows) * real(op.cols) * real(size_of(op.type)) * units::B;
    const double width = scan_width(op);
    const double pieces = std::ceil(real(op.cols) / (2.0 * width));
    const double blocks = std::ceil(real(op.rows) / (scan_threads / width));
    const double levels = std::log2(width);
    TorchKernel kernel = moving(memory, matrix, matrix, l2);
    const ScanCode& code = memory.torch->code.scan;
    kernel.chain = code.level * levels * pieces;
    kernel.steps = code.step * pieces;
    KernelTime time = torch_kernel_time(memory, kernel, in_step);
    const Time life = time.total - memory.launch.kernel -
                      combined({time.dram, time.l2, time.fma}, overlap_of(memory, free_running));
    const double turns = std::ceil(blocks / memory.sm_count);
    time.fma = clocks_of(memory, code.slots * turns * pieces * scan_threads / memory.fp32_lanes *
                                     (1.0 + code.level_slots * levels));
    time.latency = life;
    time.total = memory.launch.kernel +
                 combined({life, time.fma, time.dram}, overlap_of(memory, &OverlapCode::scan));
    return time;
}

/// Adds two kernels for a single row, which is summed by blocks that look back at each other.
void add_scan(const MemoryParameters& memory, const RowWise& op, L2State l2, TorchTime& sum) {
    if (op.rows > 1) {
        sum.add(scan_time(memory, op, l2));
        return;
    }
    const Bytes row = real(op.cols) * real(size_of(op.type)) * units::B;
    sum.add(torch_kernel_time(memory, {.missing = 0.0}, free_running));
    TorchKernel kernel = moving(memory, row, row, l2);
    kernel.chain = memory.torch->code.scan.look_back;
    sum.add(torch_kernel_time(memory, kernel, free_running));
}

void add_loss(const MemoryParameters& memory, const RowWise& op, L2State l2, TorchTime& sum) {
    sum.add(softmax_time(memory, op, l2));
    sum.add(row_losses_time(memory, op, l2));
}

/// Time of zeroing the positions of single elements.
KernelTime zeros_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    TorchKernel kernel =
        moving(memory, Bytes{}, row_work(op, Implementation::torch).dram_write, l2);
    kernel.missing = 0.0;
    return torch_kernel_time(memory, kernel, free_running);
}

}  // namespace

bool row_fits_warp(const RowWise& op) {
    const std::int64_t bytes = op.cols * size_of(op.type);
    return op.cols <= 2048 &&
           bytes <= (op.direction == Direction::forward || op.kind == RowKind::cross_entropy
                         ? 8192
                         : 4096);
}

WarpRows warp_rows_of(const RowWise& op) {
    constexpr double threads = 128.0;
    const double padded =
        real(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(op.cols))));
    const double rows_of_warp = padded <= 128.0 ? 2.0 : 1.0;
    const double lanes = std::min(32.0, padded);
    const double loads = std::ceil(real(op.cols) / lanes);
    return {.padded = padded,
            .loaded = loads * rows_of_warp,
            .elements = std::max(1.0, padded / 32.0) * rows_of_warp,
            .blocks = std::ceil(real(op.rows) / (threads / lanes * rows_of_warp))};
}

double lost_of_rows(const MemoryParameters& memory, const RowWise& op, double threads) {
    const double resident =
        std::min(real(op.rows), memory.sm_count * std::floor(memory.threads_per_sm / threads));
    return 1.0 - memory.l2.found(resident * real(op.cols) * real(size_of(op.type)) * units::B);
}

KernelTime row_losses_time(const MemoryParameters& memory, const RowWise& op, L2State l2,
                           double share) {
    const double wanted = std::exp2(std::round(std::log2(std::max(1.0, real(op.rows) / 16.0))));
    const double threads = std::clamp(wanted, 32.0, 1024.0);
    const double turns = std::ceil(real(op.rows) / threads);
    // The target comes from DRAM unless it is warm, the logarithm from the L2.
    const Time both = memory.torch->step_l2 + memory.torch->step_dram;
    const double quicker = l2 == L2State::warm ? 2.0 * memory.torch->step_l2 / both : 1.0;
    const Time looking = turns * share * quicker * memory.torch->look_up;
    KernelTime time = torch_kernel_time(memory, {.missing = 0.0}, free_running);
    time.latency += looking;
    time.total += looking;
    return time;
}

TorchTime torch_time(const MemoryParameters& memory, const RowWise& op,
                     Implementation implementation, L2State l2) {
    if (implementation == Implementation::compiled) {
        return torch_compiled_rows_time(memory, op, l2);
    }
    if (op.direction == Direction::backward) return torch_backward_rows_time(memory, op, l2);
    TorchTime sum;
    switch (op.kind) {
        case RowKind::softmax:
            sum.add(softmax_time(memory, op, l2));
            break;
        case RowKind::layernorm:
        case RowKind::rmsnorm:
            add_norm(memory, op, l2, sum);
            break;
        case RowKind::cross_entropy:
            add_loss(memory, op, l2, sum);
            break;
        case RowKind::scan:
            add_scan(memory, op, l2, sum);
            break;
        default:
            if (op.kind == RowKind::argmax && op.rows * op.cols == results_of(op)) {
                sum.add(zeros_time(memory, op, l2));
            } else {
                sum.add(torch_reduce_time(memory, op, l2));
            }
            break;
    }
    return sum;
}

}  // namespace ridge::model
