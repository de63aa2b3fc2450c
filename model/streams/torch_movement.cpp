// Kernels of PyTorch that move data: copies, transposes, joins, look-ups, optimizer steps (eq.
// B33).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "model/core/real.h"
#include "model/streams/row_work.h"
#include "model/streams/torch_kernel.h"
#include "model/streams/torch_time.h"

namespace ridge::model {
namespace {

constexpr Bytes long_copy = 1.0 * units::MB;  // from this size on the driver's copy starts slower

constexpr double sector = 32.0;
constexpr double dram_piece = 64.0;

constexpr double l2_piece = 64.0;  // least bytes of a line that are read at once

// Views need an index of the source and one of the result for every element.
constexpr double view_threads = 512.0;
constexpr double view_blocks = 2.0;  // per multiprocessor and input

constexpr double gather_block_bytes = 4096.0;
constexpr double pick_items = 8.0;

constexpr double chunk = 65536.0;  // elements of a tensor that a block of an optimizer takes
constexpr double most_chunks =
    320.0;  // per launch: depth_to_max_blocks of PyTorch's MultiTensorApply.cuh
constexpr double chunk_threads = 512.0;

double bytes_of(DataType type) {
    return real(size_of(type));
}

double items_of(DataType type) {
    return size_of(type) <= 2 ? 4.0 : 2.0;
}

/// Time of a copy whose threads find their elements one by one; `sectors` are those of its reads at
/// the L2.
KernelTime loop_time(const MemoryParameters& memory, TorchKernel kernel, const ElementLoop& loop,
                     double elements, double items, double sectors) {
    kernel = looping(memory, kernel, loop, elements, items,
                     std::ceil(elements / items / pointwise_block_threads));
    kernel.l2_read = memory.torch->code.movement.sector * sectors * sector * units::B;
    return torch_kernel_time(memory, kernel, free_running);
}

/// Pieces of `unit` bytes that the sources of `results` consecutive results touch; sources lie in
/// runs.
double pieces_of(const Transpose& op, double results, std::int64_t unit) {
    const double element = bytes_of(op.type);
    const double inner = real(op.inner);
    const double bytes = results * element;
    const double runs = std::min(real(op.rows), std::max(1.0, std::floor(results / inner)));
    const double start = real(std::gcd(op.inner * size_of(op.type), unit));
    const double piece = real(unit);
    const double by_runs = runs * ((bytes / runs - start) / piece + 1.0);
    const double span = runs * real(op.cols) * inner * element / piece + 1.0;
    return std::max(bytes / piece, std::min(by_runs, span));
}

/// Columns of a row of the source that `bytes` hold.
double columns_of(const Transpose& op, double bytes) {
    return std::clamp(bytes / (real(op.inner) * bytes_of(op.type)), 1.0, real(op.cols));
}

/// Number of a thread's loads that fetch something new if `columns` elements, each of a different
/// column, lie together. Other threads have fetched the rest with earlier loads.
double new_loads(const Transpose& op, double loads, double columns) {
    const double apart = real(op.rows) * real(op.inner) / pointwise_block_threads;
    const auto items = static_cast<std::uint32_t>(items_of(op.type));
    const auto count = static_cast<std::int64_t>(std::ceil(columns));
    std::uint32_t seen = 0;
    for (std::int64_t column = 0; column < count; ++column) {
        seen |= 1U << (static_cast<std::uint32_t>(real(column) * apart) % items);
    }
    return std::max(1.0, loads / std::popcount(seen));
}

/// Further loads of a thread, in units of loads from where the first one came from.
double transpose_steps(const MemoryParameters& memory, const Transpose& op, double count,
                       double missing) {
    const double block = pointwise_block_threads * items_of(op.type);
    const double in_block = std::max(1.0, block / (real(op.rows) * real(op.inner)));
    const double from_l2 = std::min(
        count, new_loads(op, count + 1.0, std::min(in_block, columns_of(op, sector))) - 1.0);
    const double from_l1 = (count - from_l2) * memory.torch->code.movement.transpose_hit;
    if (missing <= 0.0) return from_l2 + from_l1;
    const double lost =
        std::min(from_l2, new_loads(op, count + 1.0, columns_of(op, dram_piece)) - 1.0);
    return lost + (from_l2 - lost + from_l1) * memory.torch->step_l2 / memory.torch->step_dram;
}

/// Each input gets the same number of threads, whatever its size; a thread takes one element after
/// the other.
TorchKernel joining_views(const MemoryParameters& memory, TorchKernel kernel, const Cat& op) {
    const double part = real(op.rows) * real(op.cols);
    const double run = std::min(sector, real(op.inner) * bytes_of(op.type));
    kernel.l2_read *= sector / run;
    kernel.chain = memory.views.chain;
    kernel.slots = real(op.inputs) * part * memory.views.slots;
    kernel.rounds = memory.views.rounds *
                    (std::ceil(part / (view_threads * view_blocks * memory.sm_count)) - 1.0);
    return kernel;
}

/// Chunks of all tensors, and elements of one chunk.
struct Chunks {
    double count;
    double elements;
};

Chunks chunks_of(const AdamW& op) {
    const double tensor = real(op.elements) / real(op.tensors);
    return {.count = real(op.tensors) * std::ceil(tensor / chunk),
            .elements = std::min(chunk, tensor)};
}

/// Lane slots of an element, and additional slots for each of its tensors if vectors cannot be
/// used.
struct Issue {
    double plain;
    double odd;
};

/// Time of one kernel over chunks of all parameters, which reads `reads` and writes `writes`
/// tensors of them.
KernelTime chunked_time(const MemoryParameters& memory, const AdamW& op, double reads,
                        double writes, double missing, Issue slots, L2State l2) {
    const Chunks chunks = chunks_of(op);
    const Bytes tensor = real(op.elements) * bytes_of(op.type) * units::B;
    TorchKernel kernel = moving(memory, reads * tensor, writes * tensor, l2);
    kernel.dram_read = missing * reads * tensor;
    const double steps = std::ceil(chunks.elements / (4.0 * chunk_threads));
    const ChunkCode& code = memory.torch->code.chunks;
    const Time step = code.step * step_of(memory, missing) +
                      (reads + writes) * code.tensor * memory.torch->step_l2;
    const Time life = memory.torch->first_l2 + steps * step;
    KernelTime time = torch_kernel_time(memory, kernel, free_running);
    const bool groups = op.elements / op.tensors % 4 == 0;
    const double issued = groups ? slots.plain : slots.odd * (reads + writes);
    time.fma = issued * real(op.elements) * units::cycle /
               (memory.fp32_lanes * memory.sm_count * memory.clock);
    time.latency = life;
    time.total = memory.launch.kernel * std::max(1.0, std::ceil(chunks.count / most_chunks)) +
                 combined({life, time.dram, time.fma}, overlap_of(memory, &OverlapCode::scan));
    return time;
}

}  // namespace

KernelTime driver_copy_time(const MemoryParameters& memory, Bytes bytes, L2State l2) {
    TorchKernel kernel = moving(memory, bytes, bytes, l2);
    kernel.chain = bytes >= long_copy ? memory.torch->code.movement.long_copy : 0.0;
    return torch_kernel_time(memory, kernel, free_running);
}

TorchTime torch_time(const MemoryParameters& memory, const Copy& op, Implementation, L2State l2) {
    const double element = bytes_of(op.type);
    const Bytes written = real(op.elements) * element * units::B;
    TorchTime sum;
    if (op.stride == 1) {
        sum.add(driver_copy_time(memory, written, l2));
        return sum;
    }
    const double apart = real(op.stride) * element;
    const Bytes read =
        real(op.elements) * std::min(apart, std::max(element, dram_piece)) * units::B;
    sum.add(loop_time(memory, moving(memory, read, written, l2), memory.torch->code.strided,
                      real(op.elements), items_of(op.type),
                      real(op.elements) * std::min(1.0, apart / sector)));
    return sum;
}

TorchTime torch_time(const MemoryParameters& memory, const Transpose& op, Implementation,
                     L2State l2) {
    constexpr double warp = 32.0;
    constexpr std::int64_t line = 128;
    const double elements = real(op.batch) * real(op.rows) * real(op.cols) * real(op.inner);
    const Bytes once = elements * bytes_of(op.type) * units::B;
    const double items = items_of(op.type);
    const double block = pointwise_block_threads * items;
    const double dimensions = 2.0 + (op.batch > 1 ? 1.0 : 0.0) + (op.inner > 1 ? 1.0 : 0.0);
    const MovementCode& code = memory.torch->code.movement;
    ElementLoop loop = memory.torch->code.transpose;
    loop.slots += code.transpose_dimension * dimensions;
    TorchKernel kernel = looping(memory, moving(memory, once, once, l2), loop, elements, items,
                                 std::ceil(elements / block));
    kernel.steps = transpose_steps(memory, op, kernel.steps, kernel.missing);
    const auto unit = static_cast<std::int64_t>(sector);
    const double sectors = elements / block * pieces_of(op, block, unit);
    const double fewest = pieces_of(op, block, line) / block;
    const double most = std::max(fewest, pieces_of(op, warp, line) / warp);
    const double lines = elements * (fewest + code.transpose_again * (most - fewest));
    kernel.l2_read = std::max(sectors * sector, lines * l2_piece) * units::B;
    TorchTime sum;
    sum.add(torch_kernel_time(memory, kernel, free_running));
    return sum;
}

TorchTime torch_time(const MemoryParameters& memory, const Cat& op, Implementation, L2State l2) {
    constexpr std::int64_t vector = 16;
    const double elements = real(op.inputs) * real(op.rows) * real(op.cols);
    const std::int64_t piece = op.axis == Axis::rows ? op.rows * op.cols : op.cols;
    const bool vectors = piece * size_of(op.type) % vector == 0;
    const Bytes once = elements * bytes_of(op.type) * units::B;
    TorchKernel kernel = moving(memory, once, once, l2);
    const MovementCode& code = memory.torch->code.movement;
    kernel.chain = op.axis == Axis::rows ? 0.0 : code.join_chain;
    const double odd = op.axis == Axis::rows ? code.join_slots : code.join_odd;
    kernel.slots = elements * (vectors ? code.join_slots * bytes_of(op.type) / 2.0 : odd);
    if (op.views()) kernel = joining_views(memory, kernel, op);
    TorchTime sum;
    sum.add(torch_kernel_time(memory, kernel, free_running));
    return sum;
}

TorchTime torch_time(const MemoryParameters& memory, const Gather& op, Implementation, L2State l2) {
    constexpr std::int64_t vector = 16;
    const double element = bytes_of(op.type);
    const double row = real(op.cols) * element;
    const Bytes indices = 8.0 * real(op.rows) * units::B;
    const Bytes output = real(op.rows) * row * units::B;
    TorchKernel kernel =
        moving(memory, indices + gather_distinct_rows(op) * row * units::B, output, l2);
    const GatherCode& code = memory.torch->code.gather;
    kernel.dram_read *= code.dram;
    kernel.l2_read = output;
    TorchTime sum;
    if (op.cols * size_of(op.type) % vector != 0) {
        kernel.chain = code.single;
        const double elements = real(op.rows) * real(op.cols);
        kernel.steps =
            code.step * (std::min(pick_items, std::ceil(elements / pointwise_block_threads)) - 1.0);
        kernel.slots = code.slots * elements;
        sum.add(torch_kernel_time(memory, kernel, free_running));
        return sum;
    }
    kernel.chain = kernel.missing > 0.5 ? code.chain : code.warm;
    const double blocks = real(op.rows) * std::ceil(row / gather_block_bytes);
    KernelTime time = torch_kernel_time(memory, kernel, free_running);
    const Time started = clocks_of(memory, blocks * code.block);
    const Time life = first_load_of(memory, kernel.missing) + clocks_of(memory, kernel.chain);
    time.latency = life + started;
    time.total = memory.launch.kernel + life + combined({time.dram, time.l2, started}, pipes);
    sum.add(time);
    return sum;
}

TorchTime torch_time(const MemoryParameters& memory, const AdamW& op, Implementation implementation,
                     L2State l2) {
    const ChunkCode& code = memory.torch->code.chunks;
    TorchTime sum;
    const Bytes all = 7.0 * real(op.elements) * bytes_of(op.type) * units::B;
    const double lost = 1.0 - memory.l2.found(all);
    const double first = l2 == L2State::warm ? lost : 1.0;
    if (implementation == Implementation::fused) {
        sum.add(torch_kernel_time(memory, {.chain = code.counter, .missing = 0.0}, free_running));
        sum.add(chunked_time(memory, op, 4.0, 3.0, first, {code.fused, code.odd_fused}, l2));
        return sum;
    }
    struct Part {
        double reads;
        double writes;
        bool first;
    };
    // decay, lerp, mul, addcmul, sqrt, div, add, addcdiv
    constexpr std::array parts{Part{1, 1, true},  Part{2, 1, true},  Part{1, 1, true},
                               Part{2, 1, false}, Part{1, 1, false}, Part{1, 1, false},
                               Part{1, 1, false}, Part{3, 1, false}};
    for (const Part& part : parts) {
        sum.add(chunked_time(memory, op, part.reads, part.writes, part.first ? first : lost,
                             {code.plain, code.odd_plain}, l2));
    }
    return sum;
}

}  // namespace ridge::model
