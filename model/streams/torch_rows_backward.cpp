// Gradients of PyTorch's kernels along rows (eq. B37).
#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/streams/row_work.h"
#include "model/streams/torch_reduce.h"
#include "model/streams/torch_rows.h"

namespace ridge::model {
namespace {

Bytes matrix_bytes(const RowWise& op) {
    return real(op.rows) * real(op.cols) * real(size_of(op.type)) * units::B;
}

/// `kernel` plus the cost of the blocks of a softmax's gradient: a warp per row, or a block that
/// reads it twice.
KernelTime softmax_gradient_time(const MemoryParameters& memory, const RowWise& op,
                                 TorchKernel kernel) {
    constexpr double most_threads = 512.0;
    const GradientCode& code = memory.torch->code.gradient;
    if (row_fits_warp(op)) {
        const WarpRows warps = warp_rows_of(op);
        const RegisterCode& of_thread = memory.torch->code.registers_of;
        const double registers = of_thread.softmax + of_thread.gradient_element * warps.elements;
        kernel.busy = busy_share(memory, warps.blocks);
        kernel.slots = code.softmax_warp * real(op.rows) * warps.padded;
        kernel.rounds = further_rounds(
            memory, warps.blocks, std::min(16.0, memory.registers_per_sm / (128.0 * registers)));
        return torch_kernel_time(memory, kernel, in_step);
    }
    kernel.busy = busy_share(memory, real(op.rows));
    kernel.l2_read = 2.0 * kernel.l2_read;
    kernel.dram_read += lost_of_rows(memory, op, most_threads) * matrix_bytes(op);
    kernel.chain = code.softmax_element * real(op.cols) / most_threads;
    kernel.rounds = further_rounds(memory, real(op.rows), memory.threads_per_sm / most_threads);
    return torch_kernel_time(memory, kernel, in_step);
}

/// A product of gradient and result, then the kernel over rows of a softmax's gradient. Both of its
/// inputs have just passed through the L2.
TorchTime softmax_gradient(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    const Bytes matrix = matrix_bytes(op);
    TorchTime sum;
    sum.add(torch_kernel_time(memory, moving(memory, 2.0 * matrix, matrix, l2), free_running));
    sum.add(softmax_gradient_time(memory, op, moving(memory, 2.0 * matrix, matrix, L2State::warm)));
    return sum;
}

/// Zeros, one gradient for each row, then the gradient of log-softmax.
TorchTime loss_gradient(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    const Bytes matrix = matrix_bytes(op);
    TorchTime sum;
    sum.add(torch_kernel_time(memory, moving(memory, Bytes{}, matrix, l2), free_running));
    sum.add(row_losses_time(memory, op, l2, memory.torch->code.gradient.look_up));
    TorchKernel kernel = moving(memory, 2.0 * matrix, matrix, L2State::warm);
    if (l2 != L2State::warm) {
        kernel.dram_read = matrix + kernel.dram_read / 2.0;  // the zeros were just written
        kernel.missing = 1.0;
    }
    sum.add(softmax_gradient_time(memory, op, kernel));
    return sum;
}

// The gradient of a norm's rows: blocks of 128 threads read gradient and input twice. The gradients
// of its vectors: blocks of 32 columns, each alone on its multiprocessor.

KernelTime norm_rows_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    constexpr double columns_of_trip = 512.0;
    constexpr std::int64_t group = 4;
    const Bytes matrix = matrix_bytes(op);
    const double elements = real(op.rows) * real(op.cols);
    TorchKernel kernel = moving(memory, 2.0 * matrix, matrix, l2);
    kernel.l2_read = 2.0 * kernel.l2_read;
    const GradientCode& code = memory.torch->code.gradient;
    kernel.steps = code.norm_step * std::ceil(real(op.cols) / columns_of_trip);
    kernel.slots =
        (op.cols % group == 0 ? 0.0 : code.norm_single) * elements + code.norm_row * real(op.rows);
    return torch_kernel_time(memory, kernel, in_step);
}

/// PyTorch's rule: many rows of few columns are summed in parts of 32 rows, which reductions then
/// join.
bool sums_in_parts(const MemoryParameters& memory, const RowWise& op) {
    return op.rows > 65536 && real(op.cols) / 32.0 < memory.sm_count / 2.0;
}

void add_vector_gradients(const MemoryParameters& memory, const RowWise& op, TorchTime& sum) {
    constexpr std::int64_t columns_of_block = 32;
    const Bytes matrix = matrix_bytes(op);
    const double blocks = std::ceil(real(op.cols) / static_cast<double>(columns_of_block));
    TorchKernel kernel = moving(memory, 2.0 * matrix, Bytes{}, L2State::warm);
    const GradientCode& code = memory.torch->code.gradient;
    kernel.chain = code.column_chain;
    kernel.slots = code.column_slots * real(op.rows) * real(op.cols);
    if (sums_in_parts(memory, op)) {
        constexpr std::int64_t rows_of_part = 32;
        const RowWise join{.kind = RowKind::sum,
                           .rows = ceil_divide(op.rows, rows_of_part),
                           .cols = op.cols,
                           .type = op.type,
                           .axis = Axis::columns};
        kernel.steps = code.column_step;
        sum.add(torch_kernel_time(memory, kernel, reducing));
        const KernelTime joined = torch_reduce_time(memory, join, L2State::warm);
        sum.add(joined, op.kind == RowKind::layernorm ? 2 : 1);
        return;
    }
    constexpr double rows_of_step = 256.0;
    kernel.busy = std::min(1.0, code.alone * busy_share(memory, blocks));
    kernel.steps = code.column_step * std::ceil(real(op.rows) / rows_of_step);
    sum.add(torch_kernel_time(memory, kernel, reducing));
}

TorchTime norm_backward(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    TorchTime sum;
    sum.add(norm_rows_time(memory, op, l2));
    add_vector_gradients(memory, op, sum);
    return sum;
}

/// The gradient of a sum is a broadcast.
TorchTime spread(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    const Work work = row_work(op, Implementation::torch);
    TorchTime sum;
    sum.add(torch_kernel_time(memory, moving(memory, work.dram_read, work.dram_write, l2),
                              free_running));
    return sum;
}

}  // namespace

TorchTime torch_backward_rows_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    switch (op.kind) {
        case RowKind::softmax:
            return softmax_gradient(memory, op, l2);
        case RowKind::cross_entropy:
            return loss_gradient(memory, op, l2);
        case RowKind::layernorm:
        case RowKind::rmsnorm:
            return norm_backward(memory, op, l2);
        default:
            return spread(memory, op, l2);
    }
}

}  // namespace ridge::model
