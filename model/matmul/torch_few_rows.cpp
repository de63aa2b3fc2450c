#include "model/matmul/torch_few_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/core/product_rows.h"
#include "model/core/real.h"
#include "model/matmul/torch_products.h"
#include "model/matmul/work.h"
#include "model/roof/memory_time.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

/// How a kernel covers the result and walks along k. (eq. M26)
struct Kernel {
    double columns;       ///< of a block
    double rows;          ///< most rows of a block
    double depth;         ///< elements of k that a thread's load covers together with the loads
                          ///< beside it
    double step;          ///< time of a load that waits for the previous one, in steps of the GPU
    double resident;      ///< blocks per multiprocessor
    double result;        ///< clocks to form a block's results
    double slots;         ///< lane slots of a multiply-add
    double unpack = 0.0;  ///< additional slots for an element of B with 16 bits
};

/// The variant of dot products by rows: it is compiled for 2, 4, 6, 8, 10 or 14 rows; more rows
/// take two blocks. A variant with fewer rows than it was compiled for loads more slowly.
Kernel dots_kernel(const Matmul& op, const DotsCode& code) {
    const bool half = bits_of(op.type) == 16;
    const std::int64_t rows = op.m;
    const auto of = [&](double held, double step, double resident) {
        return Kernel{
            8, held, 128, step, resident, code.result, half ? code.half_slots : code.slots};
    };
    if (rows <= 2) return of(2, code.two, 6);
    if (rows == 3) return of(4, code.ten, 8);
    if (rows == 4) return of(4, code.four, 5);
    if (rows <= 6 || rows == 11 || rows == 12) return of(6, code.six, 5);
    if (rows <= 8 || rows > 14) return of(8, code.eight, 5);
    return of(rows <= 10 ? 10 : 14, code.ten, 5);
}

/// The walk for B by rows, with 128 or 256 threads: up to 8 rows of A in a block; more than 5 rows
/// take two blocks.
Kernel walk_kernel(const Matmul& op, const TorchProductCode& all) {
    const WalkThreadsChoice& choice = all.choice.walk_threads;
    const bool is_long = op.k > choice.long_depth && op.batch == 1;
    const bool half = bits_of(op.type) == 16;
    const WalkCode& code = is_long ? (half ? all.long_walk_16bit : all.long_walk)
                                   : (half ? all.short_walk_16bit : all.short_walk);
    const std::int64_t blocks = op.m <= choice.one_block ? 1 : 2;
    const double rows = real(ceil_divide(op.m, blocks));
    return {64, rows, 16, code.step, is_long ? 4.0 : 5.0, 0.0, code.slots, code.unpack};
}

/// The tiles that hold all rows.
Kernel thin_kernel(const Matmul& op, const TorchProductCode& all, bool tensor) {
    const bool narrow = op.type == DataType::fp16;
    const ThinTileCode& code = narrow ? all.thin_fp16 : all.thin_bf16;
    const double columns = narrow ? 32 : 64;
    return {columns, columns,     64,  code.step,
            6,       code.result, 0.0, tensor ? code.slots : all.thin.lanes};
}

/// Products that are cut along k into more parts than there are steps.
struct FineSplits {
    Tile tile;
    std::int32_t parts;
};
constexpr FineSplits wide_264{{32, 128, 8}, 264};
constexpr FineSplits wide_132{{32, 128, 8}, 132};
constexpr FineSplits square_88{{64, 64, 8}, 88};
constexpr FineSplits square_44{{64, 64, 8}, 44};
constexpr FineSplits narrow_176{{32, 32, 8}, 176};

/// For more than 16 rows: square tiles, three along the columns and one or two along the rows.
const FineSplits* square_fine_splits(const Matmul& op, const FineSplitsChoice& c) {
    const std::int64_t edge = square_88.tile.n;
    const bool three = op.n > 2 * edge && op.n <= c.square_columns;
    if (op.b_layout == Layout::row_major || !three) return nullptr;
    return op.m <= edge ? &square_88 : &square_44;
}

const FineSplits* shaped_fine_splits(const Matmul& op, const FineSplitsChoice& c) {
    if (op.m > most_few_rows) return square_fine_splits(op, c);
    if (op.k < c.least_depth) return nullptr;
    const bool by_rows = op.b_layout == Layout::row_major;
    if (op.n <= c.narrow) {
        return by_rows && op.n > 2 * narrow_176.tile.n ? &narrow_176 : nullptr;
    }
    if (op.m < c.least_rows) return nullptr;
    if (op.n <= c.columns_264) return &wide_264;
    return by_rows ? nullptr : &wide_132;
}

const FineSplits* fine_splits_of(const Matmul& op, const FineSplitsChoice& c) {
    if (op.batch != 1 || op.epilogue != Epilogue::none) return nullptr;
    const FineSplits* const fine_splits = shaped_fine_splits(op, c);
    return fine_splits != nullptr && op.m * op.n * op.k <= c.most_work ? fine_splits : nullptr;
}

bool is_biased(const Matmul& op) {
    return op.epilogue != Epilogue::none && op.epilogue != Epilogue::accumulate;
}

/// Whether cuBLAS uses dot products: B by columns, 2 to 16 rows of fp32.
bool takes_dots(const Matmul& op, const DotsChoice& c) {
    if (op.batch > 1) return op.k > c.batch_depth;
    if (is_biased(op)) {
        if (op.m <= c.bias_rows) return true;
        return op.m * op.n <= c.bias_results &&
               (op.k <= c.bias_depth || real(op.k) <= c.bias_shape * real(op.n));
    }
    if (op.m <= c.few_rows) return op.n > c.few_columns || op.k <= c.few_depth;
    if (op.k <= c.short_depth) return op.n * op.k <= c.short_weights;
    return op.m <= c.most_rows && op.k <= op.n && op.n <= c.most_columns;
}

/// Whether cuBLAS walks along k where a bias does not let it compare kernels: B by rows.
bool walks_with_bias(const Matmul& op, const WalkChoice& c) {
    return real(op.k) <= c.bias_shape * real(op.n) || op.n * op.k <= c.bias_weights;
}

/// The kernel for 2 to 16 rows of bf16 that are not multiples of 16 bytes, B by columns.
FewRows by_columns_bf16(const Matmul& op, const ThinColumnsChoice& c) {
    if (op.batch > 1) {
        if (op.batch * op.n > c.batch_columns) return FewRows::lanes;
        return op.batch * op.m * op.n <= c.batch_results ? FewRows::dots : FewRows::whole;
    }
    if (c.flat * op.k <= op.n) return FewRows::whole;
    if (op.k > c.deep) return FewRows::parts;
    const bool few = op.m <= c.few_rows;
    if (op.n <= c.narrow) return few ? FewRows::parts : FewRows::dots;
    if (few) return op.k <= c.few_depth ? FewRows::whole : FewRows::dots;
    return op.m > c.most_rows || op.m * op.n <= c.most_results ? FewRows::parts : FewRows::dots;
}

/// The same for B by rows. With a bias and a k that is not too deep, k is cut into slices that add
/// up one after the other.
FewRows by_rows_bf16(const Matmul& op, const ThinRowsChoice& c) {
    if (op.batch > 1) return FewRows::walk;
    if (op.k <= c.short_depth) return FewRows::walk;
    if (op.n > c.wide) return FewRows::walk;
    const bool sliced = is_biased(op) && op.n >= c.slice_columns && op.k > c.slice_depth &&
                        real(op.k) <= c.slice_shape * real(op.n);
    return sliced ? FewRows::slices : FewRows::parts;
}

FewRows few_rows_fp16(const Matmul& op, const HalvesChoice& c) {
    if (op.batch > 1) return FewRows::whole;
    if (op.b_layout == Layout::column_major) {
        const bool deep = op.k > c.deep && op.n * op.k > c.fewest_weights;
        return deep ? FewRows::parts : FewRows::whole;
    }
    if (op.k > c.rows_deep) return FewRows::parts;
    return op.m <= c.walk_rows ? FewRows::walk : FewRows::whole;
}

FewRows few_halves(const Matmul& op, const TorchChoice& choice) {
    if (op.m > most_few_rows || row_alignment(op) >= 16) return FewRows::tiles;
    if (op.m == 1) return FewRows::vector;
    if (op.type == DataType::fp16) return few_rows_fp16(op, choice.halves);
    return op.b_layout == Layout::row_major ? by_rows_bf16(op, choice.thin_rows)
                                            : by_columns_bf16(op, choice.thin_columns);
}

/// Number of parts into which the library cuts k: enough for three rounds of the GPU, with 64
/// elements or more in each. If B is small and its k is not a multiple of 64, pieces of a few
/// vectors of 8.
double parts_of(const Matmul& op, const Kernel& kernel, const PartsChoice& c, double sms) {
    const bool rows = op.b_layout == Layout::row_major;
    const std::int64_t small = rows && op.type == DataType::bf16 ? c.small_rows : c.small;
    if (op.k % 64 != 0 && op.n * op.k <= small) {
        return real(
            ceil_divide(op.k, 8 * ceil_divide(op.k, rows ? c.rows_depth : c.columns_depth)));
    }
    const double wanted = std::round(3.0 * sms / std::ceil(real(op.n) / kernel.columns));
    return std::max(2.0, std::min(wanted, real(op.k / 64)));
}

/// Bytes of operands and results, and the share of them that misses the L2.
struct Moved {
    double operands;
    double results;
    double missing;
};

Moved moved_of(const MatmulSituation& s) {
    const Matmul& op = s.op;
    const double batch = real(op.batch);
    const double operands = batch * real(size_of(op.type)) * real(op.k) * (real(op.m) + real(op.n));
    const double results = batch * real(size_of(op.output)) * real(op.m) * real(op.n);
    const bool warm = s.l2 == L2State::warm;
    return {operands, results,
            warm ? 1.0 - s.machine.l2.found(Bytes::from_base(operands + results)) : 1.0};
}

/// Launch and traffic, which every kernel has.
MatmulTime traffic_of(const MatmulSituation& s, const Moved& moved, double share) {
    const MemoryParameters& memory = *s.machine.memory;
    MatmulTime time;
    time.launch = s.machine.kernel_floor;
    time.dram_reads = Bytes::from_base(moved.missing * moved.operands);
    time.dram_writes = s.machine.l2.written_back(
        Bytes::from_base(moved.results), Bytes::from_base(moved.operands + moved.results), s.l2);
    time.dram = dram_time(memory, time.dram_reads, time.dram_writes);
    time.l2_reads = Bytes::from_base(moved.operands);
    time.l2 = time.l2_reads / (memory.l2_read * share);
    return time;
}

/// In 16 bits, the code for rows that are not multiples of 16 bytes.
const VectorCode& vector_code(const Matmul& op, const TorchProductCode& all) {
    const bool columns = op.b_layout == Layout::column_major;
    if (bits_of(op.type) == 16) {
        return columns ? all.vector_columns_16bit : all.vector_rows_16bit;
    }
    return columns ? all.vector_columns : all.vector_rows;
}

/// One row: B is read once, at the rate of DRAM or of the L2.
MatmulTime vector_time(const MatmulSituation& s) {
    const TorchProductCode& all = *s.machine.torch_product;
    const VectorCode& kernel = vector_code(s.op, all);
    const TorchCosts& torch = *s.machine.memory->torch;
    const bool warm = s.l2 == L2State::warm;
    const Time wait = warm ? torch.step_l2 : torch.step_dram;
    MatmulTime time = traffic_of(s, moved_of(s), 1.0);
    time.tile = {1, s.op.b_layout == Layout::column_major ? 4 : 64, 128};
    time.latency = (warm ? torch.first_l2 : torch.first_dram) + in_torch(kernel.start, s.machine) +
                   kernel.walk * std::sqrt(real(s.op.k) / 1000.0) * wait;
    time.total = time.launch + time.latency +
                 std::max(all.common.vector_dram * time.dram, kernel.l2 * time.l2);
    return time;
}

MatmulTime fine_splits_time(const MatmulSituation& s) {
    const TorchProductCode& all = *s.machine.torch_product;
    const FineSplits& chosen = *fine_splits_of(s.op, all.choice.fine_splits);
    MatmulTime time = traffic_of(s, moved_of(s), 1.0);
    time.tile = chosen.tile;
    time.split = chosen.parts;
    time.kernels = 2;
    const double clocks = &chosen == &narrow_176
                              ? all.fine_splits.narrow
                              : all.fine_splits.start + all.fine_splits.part * chosen.parts;
    time.total = in_torch(clocks, s.machine);
    time.latency = time.total - time.launch;
    return time;
}

/// Time of tiles of 64 columns whose slices of k wait for one another.
MatmulTime slices_time(const MatmulSituation& s) {
    const ThinTilesCode& code = s.machine.torch_product->thin;
    const PartsChoice& c = s.machine.torch_product->choice.cuts;
    constexpr std::int64_t width = 64;
    const double waves = 2.0 * s.machine.memory->sm_count;
    const double tiles = real(ceil_divide(s.op.n, width));
    const double slices =
        std::ceil(s.op.n <= c.thin_columns ? real(s.op.k) / 16.0
                                           : std::clamp(waves / tiles, 1.0, real(c.most_slices)));
    MatmulTime time = traffic_of(s, moved_of(s), 1.0);
    time.tile = {64, static_cast<std::int32_t>(width), 16};
    time.split = static_cast<std::int32_t>(slices);
    time.kernels = 2;
    time.latency = in_torch(code.slice * slices + code.element * real(s.op.k) / slices, s.machine);
    time.total = time.launch + std::max(time.latency, time.dram);
    return time;
}

Kernel kernel_of(const Matmul& op, const TorchProductCode& all, FewRows kernel) {
    if (kernel == FewRows::dots) return dots_kernel(op, all.dots);
    if (kernel == FewRows::walk) return walk_kernel(op, all);
    return thin_kernel(op, all, kernel != FewRows::lanes);
}

/// Adds blocks that walk along k together and whose loads wait for one another.
void walk_along(MatmulTime& time, double filled, Time first, Time walk, const Machine& machine) {
    const TorchProductCode& all = *machine.torch_product;
    const Time walks = std::max(1.0, filled) * walk;
    const Time start = first + in_torch(all.walk.start, machine);
    const Time moved = combined({time.pipe, time.dram, time.l2}, Overlap{all.dots.moved});
    time.latency = start + walks;
    time.total = time.launch + start + combined({walks, moved}, Overlap{all.walk.overlap});
}

/// Time of blocks that keep `rows` of A while they go through B, and of the sum of the parts into
/// which k is cut.
MatmulTime blocks_time(const MatmulSituation& s, FewRows chosen) {
    const Matmul& op = s.op;
    const MemoryParameters& memory = *s.machine.memory;
    const TorchCosts& torch = *memory.torch;
    const TorchProductCode& all = *s.machine.torch_product;
    const Kernel kernel = kernel_of(op, all, chosen);
    const double parts =
        chosen == FewRows::parts ? parts_of(op, kernel, all.choice.cuts, memory.sm_count) : 1.0;
    const double batch = real(op.batch);
    const double groups = std::ceil(real(op.m) / kernel.rows);
    const double blocks = batch * std::ceil(real(op.n) / kernel.columns) * groups * parts;
    const double share = std::min(1.0, blocks / memory.sm_count);
    const bool warm = s.l2 == L2State::warm;
    const Time first = warm ? torch.first_l2 : torch.first_dram;
    const Time step = kernel.step * (warm ? torch.step_l2 : torch.step_dram);
    const double slots = kernel.slots * batch * real(op.m) * real(op.n) * real(op.k) +
                         kernel.unpack * batch * real(op.n) * real(op.k) * groups;
    const double filled = blocks / (kernel.resident * memory.sm_count);
    const double steps = std::ceil(real(op.k) / parts / kernel.depth);

    MatmulTime time = traffic_of(s, moved_of(s), share);
    time.tile = {static_cast<std::int32_t>(kernel.rows), static_cast<std::int32_t>(kernel.columns),
                 static_cast<std::int32_t>(kernel.depth)};
    time.pipe = slots * units::cycle / (memory.fp32_lanes * memory.sm_count * share * memory.clock);
    if (chosen == FewRows::walk) {
        walk_along(time, filled, first, steps * step, s.machine);
        return time;
    }
    const Time life = first + (steps - 1.0) * step + in_torch(kernel.result, s.machine);
    const double rounds = std::max(0.0, std::ceil(filled) - 1.0);
    time.latency = life * (1.0 + rounds);
    const Time moved = combined({time.pipe, time.dram, time.l2}, Overlap{all.dots.moved});
    time.total = time.launch + life + combined({rounds * life, moved}, Overlap{all.dots.rounds});
    if (chosen == FewRows::parts) {
        const Time sum = in_torch(all.thin.sum + all.thin.part * parts, s.machine);
        time.split = static_cast<std::int32_t>(parts);
        time.kernels = 2;
        time.latency += sum;
        time.total += sum;
    }
    return time;
}

/// Whether cuBLAS walks along k, B by rows: in batches always; without a bias if tiles would take longer with
/// a cold L2, since its choice does not depend on the state of the L2.
bool takes_walk(const MatmulSituation& asked) {
    if (asked.op.batch > 1) return true;
    if (is_biased(asked.op)) {
        return walks_with_bias(asked.op, asked.machine.torch_product->choice.walks);
    }
    MatmulSituation s = asked;
    s.l2 = L2State::cold;
    return few_rows_time(s, FewRows::walk).total < library_matmul_time(s).total;
}

}  // namespace

FewRows few_rows_kernel(const MatmulSituation& s) {
    const Matmul& op = s.op;
    const TorchChoice& choice = s.machine.torch_product->choice;
    if (bits_of(op.type) == 16) return few_halves(op, choice);
    const bool single = op.type == DataType::fp32;
    if (!single && op.type != DataType::tf32) return FewRows::tiles;
    if (op.m == 1) return FewRows::vector;
    if (!single) return FewRows::tiles;
    if (fine_splits_of(op, choice.fine_splits) != nullptr) return FewRows::fine_splits;
    if (op.m > most_few_rows) return FewRows::tiles;
    if (op.b_layout == Layout::column_major) {
        return takes_dots(op, choice.dots) ? FewRows::dots : FewRows::tiles;
    }
    return takes_walk(s) ? FewRows::walk : FewRows::tiles;
}

MatmulTime few_rows_time(const MatmulSituation& s, FewRows kernel) {
    if (kernel == FewRows::vector) return vector_time(s);
    if (kernel == FewRows::fine_splits) return fine_splits_time(s);
    if (kernel == FewRows::slices) return slices_time(s);
    return blocks_time(s, kernel);
}

}  // namespace ridge::model
