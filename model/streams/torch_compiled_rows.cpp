// Operations along rows and columns as torch.compile generates them: their kernels and grids (eq.
// B36, B38).
//
// The rules are those of torch/_inductor in PyTorch 2.11: choices.py (which rows are held in
// registers, which reductions are split) and runtime/triton_heuristics.py (rows and warps of a
// block).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "model/core/real.h"
#include "model/roof/block_time.h"
#include "model/streams/row_work.h"
#include "model/streams/torch_reduce.h"
#include "model/streams/torch_rows.h"

namespace ridge::model {
namespace {

constexpr std::int64_t held_elements = 1024;
constexpr std::int64_t loop_threads = 512;
constexpr std::int64_t loop_elements = 2048;  // elements of a step
constexpr std::int64_t most_losses = 8192;    // losses that one block adds up
constexpr std::int64_t most_whole = 8192;     // elements of a row that is not shared
constexpr std::int64_t lanes_of_warp = 32;

const GeneratedCode& generated_code(const MemoryParameters& memory, RowKind kind) {
    const TorchStreamCode& code = memory.torch->code;
    switch (kind) {
        case RowKind::layernorm:
            return code.normal;
        case RowKind::softmax:
        case RowKind::cross_entropy:
            return code.exponential;
        default:
            return code.sum;
    }
}

const GeneratedRowsCode& common_code(const MemoryParameters& memory) {
    return memory.torch->code.generated;
}

std::int64_t padded(std::int64_t count) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
}

/// Elements of a load: whole vectors if the rows are whole vectors and a thread has enough
/// elements.
std::int64_t elements_of_load(const RowWise& op, std::int64_t cols, std::int64_t of_thread) {
    std::int64_t elements = std::min(std::max<std::int64_t>(1, 16 / size_of(op.type)), of_thread);
    while (elements > 1 && (cols % elements != 0 || op.cols % elements != 0)) elements /= 2;
    return elements;
}

/// Matrices of the rows' size that a kernel writes, and vectors of a row's size that it reads.
double results_of_rows(const RowWise& op) {
    return is_reduction(op.kind) || op.kind == RowKind::cross_entropy ? 0.0 : 1.0;
}
double weights_of_rows(const RowWise& op) {
    return op.kind == RowKind::layernorm ? 2.0 : op.kind == RowKind::rmsnorm ? 1.0 : 0.0;
}
/// Reductions of a row, one after the other: two for a mean and a variance, or for a largest
/// element and a sum.
double reductions_of_row(const RowWise& op) {
    return is_reduction(op.kind) || op.kind == RowKind::rmsnorm ? 1.0 : 2.0;
}

/// The kernel from `moving`, except that data that loops read for the last time are evicted first.
TorchKernel moving_once(const MemoryParameters& memory, Bytes read, Bytes write, L2State l2) {
    TorchKernel kernel = moving(memory, read, write, l2);
    if (l2 != L2State::warm) return kernel;
    kernel.missing = 1.0 - memory.l2.found((read + write) / common_code(memory).evicted);
    kernel.dram_read = read * kernel.missing;
    return kernel;
}

/// If PyTorch times several configurations on the spot, it times whole calls of some 30 us. Among
/// configurations that differ by less than the scatter of the calls, the choice is random.
Time timed_on_the_spot(std::span<const KernelTime> times, Time scatter) {
    Time least = times.front().total;
    for (const KernelTime& each : times) least = std::min(least, each.total);
    double weights = 0.0;
    double sum = 0.0;
    for (const KernelTime& each : times) {
        const double weight = std::exp(-((each.total - least) / scatter));
        weights += weight;
        sum += weight * std::log(each.total / least);
    }
    return least * std::exp(sum / weights);
}

/// One of a few configurations that PyTorch times; the resources are those of the fastest.
class Timed {
  public:
    void add(const KernelTime& time) { times_[count_++] = time; }
    [[nodiscard]] KernelTime chosen(const MemoryParameters& memory) const {
        const std::span<const KernelTime> times(times_.data(), count_);
        KernelTime time = *std::min_element(
            times.begin(), times.end(),
            [](const KernelTime& a, const KernelTime& b) { return a.total < b.total; });
        time.total = timed_on_the_spot(times, common_code(memory).scatter);
        return time;
    }

  private:
    std::array<KernelTime, 4> times_{};
    std::size_t count_ = 0;
};

/// Rows and warps of a block.
struct HeldBlock {
    std::int64_t rows;
    std::int64_t warps;
};

/// Time of blocks that hold their rows. (eq. B36)
KernelTime held_time(const MemoryParameters& memory, const RowWise& op, HeldBlock block,
                     L2State l2) {
    const Work work = row_work(op, Implementation::compiled);
    const GeneratedCode& code = generated_code(memory, op.kind);
    const GeneratedRowsCode& common = common_code(memory);
    const std::int64_t row = padded(op.cols);
    const std::int64_t threads = lanes_of_warp * block.warps;
    const std::int64_t elements = std::max<std::int64_t>(1, block.rows * row / threads);
    const std::int64_t together = elements_of_load(op, op.cols, std::min(elements, row));
    const std::int64_t across = std::clamp<std::int64_t>(row / together, 1, threads);
    const std::int64_t lanes = std::min(lanes_of_warp, across);
    const std::int64_t rows_of_thread = std::max<std::int64_t>(1, block.rows / (threads / across));
    const double levels = std::log2(real(lanes)) * real(rows_of_thread) * reductions_of_row(op);
    const double tensors = 1.0 + results_of_rows(op) + weights_of_rows(op);
    const double blocks = real(ceil_divide(op.rows, block.rows));
    TorchKernel kernel = moving(memory, work.dram_read, work.dram_write, l2);
    kernel.busy = busy_share(memory, blocks);
    kernel.chain = common.level * levels + code.held_chain * real(elements);
    kernel.slots = real(threads) * blocks *
                   (common.held_thread + code.held * real(elements) +
                    common.held_load * tensors * real(elements / together));
    return torch_kernel_time(memory, kernel, reducing);
}

/// Time of rows of up to 1024 elements, held in registers.
KernelTime held_rows_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    const std::int64_t row = padded(op.cols);
    const std::int64_t rows = padded(op.rows);
    if (!configurations_are_timed(memory, op)) {
        constexpr std::int64_t many = 1024;
        const std::int64_t warps = std::clamp<std::int64_t>(row / 128, 2, 8);
        const HeldBlock block = rows >= many ? HeldBlock{std::min<std::int64_t>(many / row, 8), 1}
                                             : HeldBlock{1, warps};
        return held_time(memory, op, block, l2);
    }
    constexpr std::int64_t most_elements = 4096;
    Timed configurations;
    configurations.add(held_time(memory, op, {1, 2}, l2));
    for (const std::int64_t each : {8, 32, 128}) {
        if (each <= rows && each * row <= most_elements) {
            configurations.add(held_time(memory, op, {each, 2}, l2));
        }
    }
    return configurations.chosen(memory);
}

/// Number of blocks that share a row: several for few rows of more than 8192 elements. (choices.py,
/// reduction_split_factor)
std::int64_t parts_of_row(const MemoryParameters& memory, const RowWise& op) {
    if (real(op.rows) >= 2.0 * memory.sm_count || op.cols <= most_whole) return 1;
    const double threads = memory.sm_count * memory.threads_per_sm;
    constexpr double least_of_thread = 32.0;
    constexpr double threads_of_block = 256.0;
    if (real(op.rows) * real(op.cols) <= least_of_thread * threads) {
        return ceil_divide(op.cols, most_whole);
    }
    const double blocks = std::floor(threads / (2.0 * threads_of_block));
    return static_cast<std::int64_t>(std::ceil(blocks / real(op.rows)));
}

/// Whether the operation has exponentials, which need the row's largest element first.
bool takes_exponentials(const RowWise& op) {
    return op.kind == RowKind::softmax || op.kind == RowKind::cross_entropy;
}

/// Passes of a loop over a row. The loss in fp32 keeps its largest element beside the sum, in one
/// pass.
double passes_of_loop(const RowWise& op) {
    const bool together = op.kind == RowKind::cross_entropy && size_of(op.type) == 4;
    return is_reduction(op.kind) || together ? 1.0 : 2.0;
}

/// This operation's share of an element's slots in a loop.
double share_of_slots(const GeneratedRowsCode& code, const RowWise& op, std::int64_t parts) {
    if (parts > 1 && takes_exponentials(op)) return code.first_pass;
    return op.kind == RowKind::softmax ? code.again : 1.0;
}

/// Rows that the blocks of a multiprocessor read again come from its L1 to the extent that they
/// fit, else from the L2. Rows of several steps may be processed whole by 1024 threads; this is
/// assumed for the data that the L2 loses.
void read_rows_again(const MemoryParameters& memory, const RowWise& op, std::int64_t rows_of_block,
                     Bytes read, TorchKernel& kernel) {
    const double blocks = std::floor(memory.threads_per_sm / real(loop_threads));
    const double rows =
        std::min(blocks * real(rows_of_block), std::ceil(real(op.rows) / memory.sm_count));
    const Bytes held = rows * real(op.cols) * real(size_of(op.type)) * units::B;
    kernel.l2_read += (1.0 - retained(held, memory.l1_size, memory.l2.steepness)) * read;
    const double threads = rows_of_block == 1 ? 2.0 * real(loop_threads) : real(loop_threads);
    kernel.dram_read += lost_of_rows(memory, op, threads) * read;
}

/// Slots of a thread for the elements of one step: arithmetic, loads and stores.
double slots_of_step(const MemoryParameters& memory, const RowWise& op, std::int64_t parts,
                     std::int64_t rows_of_block) {
    const GeneratedRowsCode& common = common_code(memory);
    const std::int64_t elements = rows_of_block * loop_elements / loop_threads;
    const std::int64_t together = elements_of_load(op, ceil_divide(op.cols, parts), elements);
    const double arithmetic =
        generated_code(memory, op.kind).looped * share_of_slots(common, op, parts);
    double loads = real(elements / together);
    if (parts == 1) {
        const std::int64_t of_weights = loop_elements / loop_threads;
        loads *= passes_of_loop(op) + results_of_rows(op);
        loads += weights_of_rows(op) * real(of_weights) /
                 real(elements_of_load(op, op.cols, of_weights));
    }
    return real(elements) * arithmetic + common.loop_load * loads;
}

/// A loop of 512 threads over each row, or over one of `parts` of it. (eq. B36)
TorchKernel looping_kernel(const MemoryParameters& memory, const RowWise& op, std::int64_t parts,
                           L2State l2) {
    const Work work = row_work(op, Implementation::compiled);
    const std::int64_t rows_of_block = op.cols <= loop_elements ? 2 : 1;
    const double steps = real(ceil_divide(ceil_divide(op.cols, parts), loop_elements));
    const double blocks = real(ceil_divide(op.rows, rows_of_block) * parts);
    TorchKernel kernel =
        moving_once(memory, work.dram_read, parts > 1 ? Bytes{} : work.dram_write, l2);
    kernel.busy = even_share(memory, blocks) / memory.sm_count;
    if (parts == 1 && passes_of_loop(op) > 1.0) {
        read_rows_again(memory, op, rows_of_block, work.dram_read, kernel);
    }
    kernel.slots = real(loop_threads) * blocks *
                   (generated_code(memory, op.kind).thread +
                    steps * slots_of_step(memory, op, parts, rows_of_block));
    return kernel;
}

/// Time of small kernels that join the results of the blocks of a row.
KernelTime joining_time(const MemoryParameters& memory) {
    return torch_kernel_time(memory, {.chain = common_code(memory).join, .missing = 0.0},
                             free_running);
}

/// Time of reading the rows once more, which the L2 still holds, and writing the results.
KernelTime mapping_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    const Bytes matrix = real(op.rows) * real(op.cols) * real(size_of(op.type)) * units::B;
    TorchKernel kernel = moving(memory, matrix, matrix, L2State::warm);
    kernel.dram_read = matrix * (1.0 - memory.l2.found(matrix));
    kernel.dram_write = memory.l2.written_back(matrix, 2.0 * matrix, l2);
    kernel.slots = common_code(memory).map * real(op.rows) * real(op.cols);
    return torch_kernel_time(memory, kernel, free_running);
}

void add_looped_rows(const MemoryParameters& memory, const RowWise& op, L2State l2,
                     TorchTime& sum) {
    const std::int64_t parts = parts_of_row(memory, op);
    TorchKernel kernel = looping_kernel(memory, op, parts, l2);
    sum.add(torch_kernel_time(memory, kernel, reducing));
    if (parts == 1) return;
    sum.add(joining_time(memory));
    if (takes_exponentials(op)) {  // the largest element, then the sum
        kernel.dram_read = kernel.l2_read * (1.0 - memory.l2.found(kernel.l2_read));
        kernel.missing = 0.0;
        sum.add(torch_kernel_time(memory, kernel, reducing));
        sum.add(joining_time(memory));
    }
    if (results_of_rows(op) > 0.0) sum.add(mapping_time(memory, op, l2));
}

/// Adds the look-ups of the losses: one block for up to 8192 rows, 512 per turn.
void add_losses(const MemoryParameters& memory, const RowWise& op, TorchTime& sum) {
    const std::int64_t blocks = ceil_divide(op.rows, most_losses);
    KernelTime time = joining_time(memory);
    const double turns = std::ceil(real(ceil_divide(op.rows, blocks)) / real(loop_threads));
    const Time looking = common_code(memory).loss * turns * memory.torch->look_up;
    time.latency += looking;
    time.total += looking;
    sum.add(time);
    if (blocks > 1) sum.add(joining_time(memory));
}

/// Columns of a block, elements of each that it takes per step, and its warps.
/// (triton_heuristics.py)
struct ColumnBlock {
    std::int64_t columns;
    std::int64_t step;
    std::int64_t warps;
};

ColumnBlock column_block(std::int64_t columns, std::int64_t length) {
    constexpr std::int64_t held_length = 64;
    constexpr std::int64_t most_held = 4096;
    constexpr std::int64_t elements = 512;
    const std::int64_t all = padded(columns);
    const std::int64_t step = padded(length);
    const auto warps = [](std::int64_t tile, std::int64_t most) {
        return std::clamp<std::int64_t>(tile / 128, 2, most);
    };
    if (length <= held_length) {
        std::int64_t wide = 1;
        for (const std::int64_t each : {8, 32, 128}) {
            if (each <= all && each * step <= most_held) wide = each;
        }
        return {wide, step, warps(wide * step, 8)};
    }
    constexpr std::int64_t few = 1024;
    constexpr std::int64_t share = 4096;
    std::int64_t wide = 16;
    std::int64_t long_step = elements / wide;
    if (all <= few) {
        wide = std::max<std::int64_t>(std::min<std::int64_t>(all / 128, 8), 2);
        long_step = std::min(step, held_length);
    } else if (all / share > 8) {
        wide = std::clamp<std::int64_t>(all / share, 64, 256);
        long_step = elements / wide;
    }
    return {wide, long_step, warps(wide * long_step, 16)};
}

/// The divisor of `count` nearest to `wanted` and less than `limit` away; 0 if there is none.
std::int64_t near_divisor(std::int64_t count, std::int64_t wanted, std::int64_t limit) {
    for (std::int64_t away = 0; away < limit; ++away) {
        for (const std::int64_t each : {wanted - away, wanted + away}) {
            if (each >= 1 && count % each == 0) return each;
        }
    }
    return 0;
}

/// Parts into which columns are split so that all multiprocessors have work. (choices.py)
std::int64_t parts_of_columns(const MemoryParameters& memory, std::int64_t length,
                              std::int64_t columns) {
    constexpr std::int64_t least_of_thread = 32;
    constexpr std::int64_t most_of_thread = 512;
    constexpr std::int64_t values = 4;
    const double threads = memory.sm_count * memory.threads_per_sm;
    const double elements = real(length) * real(columns);
    if (real(columns) >= 2.0 * memory.sm_count * real(least_of_thread) || length <= least_of_thread)
        return 1;
    std::int64_t size = least_of_thread;
    if (elements >= real(most_of_thread) * threads) {
        const std::int64_t near = near_divisor(length, most_of_thread, 50);
        size = near > 0 ? near : most_of_thread;
    } else if (elements >= real(least_of_thread) * threads) {
        const double blocks =
            std::ceil(std::floor(threads / 256.0) / real(ceil_divide(columns, 128)));
        const auto wanted = static_cast<std::int64_t>(
            std::ceil(real(length) / (real(values) * std::max(1.0, blocks))));
        const std::int64_t near = near_divisor(length, wanted, 20);
        size = near > 0 ? std::max(near, least_of_thread) : wanted;
    }
    return ceil_divide(length, values * size);
}

/// Time of `columns` of `length` elements; a load takes elements that lie side by side. (eq. B38)
KernelTime columns_time(const MemoryParameters& memory, TorchKernel kernel, std::int64_t columns,
                        std::int64_t length, const ColumnBlock& block, bool even = true) {
    const GeneratedRowsCode& code = common_code(memory);
    const double threads = real(lanes_of_warp * block.warps);
    const double blocks = real(ceil_divide(columns, block.columns));
    const double steps = real(ceil_divide(length, block.step));
    const double elements = std::max(1.0, std::floor(real(block.columns * block.step) / threads));
    kernel.busy = even_share(memory, blocks) / memory.sm_count;
    kernel.steps = code.column_step * (steps - 1.0);
    kernel.rounds =
        code.column_rounds * further_rounds(memory, blocks, memory.threads_per_sm / threads);
    kernel.slots = threads * blocks *
                   (code.column_thread + (even ? 0.0 : code.column_uneven) * steps * elements);
    return torch_kernel_time(memory, kernel, reducing);
}

/// Time of many columns, or of short ones, whose configurations are timed on the spot.
KernelTime timed_columns_time(const MemoryParameters& memory, const RowWise& op, const Work& work,
                              L2State l2) {
    constexpr std::int64_t held_length = 64;
    constexpr std::int64_t most_held = 4096;
    Timed configurations;
    const auto add = [&](const TorchKernel& kernel, const ColumnBlock& block) {
        configurations.add(columns_time(memory, kernel, op.cols, op.rows, block));
    };
    if (op.rows > held_length) {
        const TorchKernel kernel = moving_once(memory, work.dram_read, work.dram_write, l2);
        add(kernel, {64, 64, 16});
        add(kernel, {64, 4, 8});
        add(kernel, column_block(op.cols, op.rows));
        return configurations.chosen(memory);
    }
    const TorchKernel kernel = moving(memory, work.dram_read, work.dram_write, l2);
    const std::int64_t step = padded(op.rows);
    for (const std::int64_t each : {1, 8, 32, 128}) {
        if (each > 1 && (each > padded(op.cols) || each * step > most_held)) continue;
        add(kernel, {each, step, std::clamp<std::int64_t>(each * step / 128, 2, 8)});
    }
    return configurations.chosen(memory);
}

void add_columns(const MemoryParameters& memory, const RowWise& op, L2State l2, TorchTime& sum) {
    const Work work = row_work(op, Implementation::compiled);
    if (configurations_are_timed(memory, op)) {
        sum.add(timed_columns_time(memory, op, work, l2));
        return;
    }
    const std::int64_t parts = parts_of_columns(memory, op.rows, op.cols);
    const std::int64_t columns = op.cols * parts;
    const std::int64_t length = ceil_divide(op.rows, parts);
    const Bytes results = parts > 1 ? 4.0 * real(columns) * units::B : work.dram_write;
    const ColumnBlock block = column_block(columns, length);
    const TorchKernel first = length > block.step ? moving_once(memory, work.dram_read, results, l2)
                                                  : moving(memory, work.dram_read, results, l2);
    sum.add(columns_time(memory, first, columns, length, block, op.rows % parts == 0));
    if (parts == 1) return;
    sum.add(columns_time(memory, moving(memory, results, work.dram_write, L2State::warm), op.cols,
                         parts, column_block(op.cols, parts)));
}

}  // namespace

bool configurations_are_timed(const MemoryParameters& memory, const RowWise& op) {
    constexpr std::int64_t shortest = 32;  // shortest column that is split
    constexpr std::int64_t timed_up_to = 128;
    if (op.axis != Axis::columns) return op.cols <= timed_up_to;
    return op.cols >= 2 * static_cast<std::int64_t>(memory.sm_count) * shortest ||
           op.rows <= shortest;
}

TorchTime torch_compiled_rows_time(const MemoryParameters& memory, const RowWise& op, L2State l2) {
    TorchTime sum;
    if (op.axis == Axis::columns) {
        add_columns(memory, op, l2, sum);
    } else if (op.cols <= held_elements) {
        sum.add(held_rows_time(memory, op, l2));
    } else {
        add_looped_rows(memory, op, l2, sum);
    }
    if (op.kind == RowKind::cross_entropy) add_losses(memory, op, sum);
    return sum;
}

}  // namespace ridge::model
