// Work and traffic of attention by implementation. Conventions are in work.h, equations A1 to A12
// in docs/model.md.
#include "model/attention/work.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/checked.h"
#include "hardware/error.h"
#include "model/attention/bundled.h"

namespace ridge::model {
namespace {

constexpr double statistic_bytes = 4.0;    // one fp32 value per row of scores
constexpr double accumulator_bytes = 4.0;  // fp32

/// Sizes from which all counts are made, in bytes of whole tensors over batch and heads.
struct Sizes {
    double element;  ///< of queries and outputs
    double cached;   ///< of keys and values
    double rows;     ///< batch x heads x seq_q
    double head_dim;
    double q;         ///< T
    double kv;        ///< U
    double kv_seen;   ///< U of the keys that any query sees
    double expanded;  ///< K or V repeated for every query head
    double scores;    ///< S
};

Sizes sizes_of(const Attention& attention, const ScoreCounts& counts) {
    const auto batch = static_cast<double>(attention.batch);
    const auto heads = static_cast<double>(attention.heads);
    const auto kv_heads = static_cast<double>(attention.kv_heads);
    const auto keys = static_cast<double>(attention.seq_kv);
    Sizes sizes{};
    sizes.element = static_cast<double>(size_of(attention.type));
    sizes.cached = static_cast<double>(size_of(cache_type_of(attention)));
    sizes.rows = batch * heads * static_cast<double>(attention.seq_q);
    sizes.head_dim = static_cast<double>(attention.head_dim);
    sizes.q = sizes.rows * sizes.head_dim * sizes.element;
    const double per_key = batch * kv_heads * sizes.head_dim * sizes.cached;
    sizes.kv = per_key * keys;
    sizes.kv_seen = per_key * static_cast<double>(counts.visible_keys);
    sizes.expanded = sizes.kv * heads / kv_heads;
    sizes.scores = sizes.rows * keys * sizes.element;
    return sizes;
}

Bytes bytes(double count) {
    return Bytes::from_base(count);
}

bool is_forward(const Attention& attention) {
    return attention.direction == Direction::forward;
}

/// Matmuls per score (each 2 d FLOP), eq. A1.
double matmuls(const Attention& attention, Implementation implementation) {
    if (is_forward(attention)) return 2.0;
    return is_unfused(implementation) ? 4.0 : 5.0;
}

/// Vector FLOP for `scores` scores (eq. A5), with `blocks_per_row` key blocks per row of scores.
double vector_flop(const Attention& attention, Implementation implementation, const Sizes& sizes,
                   double scores, double rescaled) {
    const double rows = sizes.rows * sizes.head_dim;
    if (is_unfused(implementation)) return 5.0 * scores;
    if (is_forward(attention)) return 4.0 * scores + rescaled + rows;
    return 4.0 * scores + rescaled + 3.0 * rows;
}

double special_results(const Attention& attention, Implementation implementation,
                       const Sizes& sizes, double scores) {
    if (is_unfused(implementation)) {
        return is_forward(attention) ? scores + sizes.rows : 0.0;
    }
    return is_forward(attention) ? scores + 2.0 * sizes.rows : scores;
}

void count_arithmetic(AttentionWork& result, const Attention& attention,
                      Implementation implementation, const Sizes& sizes) {
    const ScoreCounts& scores = result.scores;
    const double d = sizes.head_dim;
    const double per_score = 2.0 * d * matmuls(attention, implementation);
    // One accumulator row is rescaled (forward) or added (backward) per row and key block.
    const double per_block = d / static_cast<double>(result.grid.blocks.kv);
    result.work.tensor = Flop::from_base(per_score * scores.exact);
    result.executed_tensor = Flop::from_base(per_score * scores.executed);
    result.work.fma = Flop::from_base(
        vector_flop(attention, implementation, sizes, scores.exact, per_block * scores.exact));
    result.executed_fma = Flop::from_base(vector_flop(
        attention, implementation, sizes, scores.executed, per_block * scores.executed));
    result.work.special = special_results(attention, implementation, sizes, scores.exact);
    result.executed_special = special_results(attention, implementation, sizes, scores.executed);
}

void count_compulsory(Work& work, const Attention& attention, const Sizes& sizes) {
    if (is_forward(attention)) {
        work.compulsory_read = bytes(sizes.q + 2.0 * sizes.kv_seen);
        work.compulsory_write = bytes(sizes.q);
    } else {
        work.compulsory_read = bytes(3.0 * sizes.q + 2.0 * sizes.kv_seen);
        work.compulsory_write = bytes(sizes.q + 2.0 * sizes.kv);
    }
}

/// L2 traffic of one batched matmul [m,k] x [k,n] in 128 x 128 tiles: each operand once per tile
/// row or column, the output once.
double matmul_l2(double batch, std::int64_t m, std::int64_t n, std::int64_t k, double element) {
    constexpr std::int64_t tile = 128;
    const auto rows = static_cast<double>(m);
    const auto columns = static_cast<double>(n);
    const double operands = rows * static_cast<double>(ceil_divide(n, tile)) +
                            columns * static_cast<double>(ceil_divide(m, tile));
    return batch * element * (static_cast<double>(k) * operands + rows * columns);
}

void count_standard(AttentionWork& result, const Attention& attention,
                    const AttentionContext& context, const Sizes& sizes) {
    Work& work = result.work;
    const double s = sizes.scores;
    const double mask = s / sizes.element;  // one byte per score
    const auto batch = static_cast<double>(attention.batch * attention.heads);
    const std::int64_t q = attention.seq_q;
    const std::int64_t kv = attention.seq_kv;
    const std::int64_t d = attention.head_dim;
    const double into_scores = matmul_l2(batch, q, kv, d, sizes.element);
    const double into_rows = matmul_l2(batch, q, d, kv, sizes.element);
    const double into_keys = matmul_l2(batch, kv, d, q, sizes.element);
    double read = 0.0;
    double write = 0.0;
    double l2 = is_forward(attention) ? into_scores + into_rows + 2.0 * s
                                      : into_scores + into_rows + 2.0 * into_keys + 3.0 * s;
    const std::span<const StandardKernel> kernels = standard_kernels(attention.direction);
    work.kernels = static_cast<std::int32_t>(kernels.size());
    for (const StandardKernel& kernel : kernels) {
        read += kernel.score_reads * s + kernel.query_reads * sizes.q + kernel.key_reads * sizes.kv;
        write +=
            kernel.score_writes * s + kernel.query_writes * sizes.q + kernel.key_writes * sizes.kv;
    }
    if (context.separate_mask && is_forward(attention)) {
        read += s;
        write += s;
        l2 += 2.0 * s;
        ++work.kernels;
    }
    if (context.dropout) {
        read += is_forward(attention) ? s : s + mask;
        write += is_forward(attention) ? s + mask : s;
        l2 += 2.0 * s + mask;
        ++work.kernels;
    }
    work.dram_read = bytes(read);
    work.dram_write = bytes(write);
    work.l2 = bytes(l2);
    result.scratch = bytes(2.0 * s + (context.dropout ? s + mask : 0.0));
    result.dram_growth = "Theta(N d + N^2)";
    result.chip_growth = "Theta(N^2 d / sqrt(M))";
}

void count_flash1(AttentionWork& result, const Attention& attention,
                  const AttentionContext& context, const Sizes& sizes) {
    Work& work = result.work;
    const double t = sizes.q;
    const double u = sizes.expanded;  // flash1 has no groups: every head reads its own K and V
    // Passes over the queries: Tc without a mask, fewer if whole blocks are masked.
    const double passes =
        std::max(1.0, result.scores.visits / static_cast<double>(result.scores.query_blocks));
    const double repeats = std::max(0.0, passes - 1.0);
    const Flash1Convention convention = context.flash1;
    const bool literal = convention == Flash1Convention::algorithm;
    // Forward keeps the maximum and the sum, and backward reads both; the kernel keeps one value of
    // 4 bytes.
    const bool kernel = convention == Flash1Convention::kernel;
    const double statistics = sizes.rows * statistic_bytes * (kernel ? 1.0 : 2.0);
    const double accumulator_reads = literal ? passes : repeats;
    double read = 0.0;
    double write = 0.0;
    double statistics_read = 0.0;
    double statistics_write = 0.0;
    if (is_forward(attention)) {
        read = 2.0 * u + passes * t + accumulator_reads * t;
        write = passes * t;
        statistics_read = accumulator_reads * statistics;
        statistics_write = passes * statistics;
        work.kernels = 1;
    } else {
        const double o_reads = kernel ? 1.0 : passes;
        read = 2.0 * u + (2.0 * passes + o_reads) * t + accumulator_reads * t;
        write = 2.0 * u + passes * t;
        statistics_read = passes * statistics;
        work.kernels = 2;
    }
    work.dram_read = bytes(read + statistics_read);
    work.dram_write = bytes(write + statistics_write);
    work.l2 = work.dram();
    result.statistics = bytes(statistics_read + statistics_write);
    const bool accumulates = attention.seq_kv > result.grid.blocks.kv;
    result.scratch = bytes(2.0 * sizes.rows * statistic_bytes +
                           (accumulates ? t / sizes.element * accumulator_bytes : 0.0));
    result.dram_growth = "Theta(N^2 d^2 / M)";
    result.chip_growth = "Theta(N^2 d^2 / M)";
}

/// Number of times that K and V come from DRAM: once to the extent that those of the running heads
/// stay in L2, else once per wave of thread blocks over one head (eq. A12).
double kv_passes(const Attention& attention, const AttentionContext& context,
                 const AttentionGrid& grid, const ScoreCounts& scores, double element) {
    if (context.sm_count == 0 || context.l2.size <= Bytes{}) return 1.0;
    const std::int64_t group = attention.heads / attention.kv_heads;
    const std::int64_t blocks = scores.query_blocks * (group / grid.pack);
    const std::int64_t running = ceil_divide(context.sm_count, blocks * grid.splits);
    const double set = static_cast<double>(running) * 2.0 *
                       static_cast<double>(scores.visible_keys) *
                       static_cast<double>(attention.head_dim) * element;
    const double density = scores.visits / (static_cast<double>(scores.query_blocks) *
                                            static_cast<double>(scores.key_blocks));
    const auto waves = static_cast<double>(ceil_divide(blocks, context.sm_count));
    const double again = std::max(1.0, density * waves) - 1.0;
    if (again <= 0.0) return 1.0;
    return 1.0 + again * (1.0 - context.l2.found(bytes(set), Readers::all));
}

void count_flash_forward(AttentionWork& result, const Sizes& sizes) {
    Work& work = result.work;
    const AttentionGrid& grid = result.grid;
    const double statistics = sizes.rows * statistic_bytes;
    double partial = 0.0;  // unnormalised outputs of the splits and their statistics
    if (grid.splits > 1) {
        partial = static_cast<double>(grid.splits) *
                  (sizes.rows * sizes.head_dim * accumulator_bytes + statistics);
    }
    work.dram_read = bytes(sizes.q + 2.0 * sizes.kv_seen * result.kv_dram_passes + partial);
    work.dram_write = bytes(sizes.q + statistics + partial);
    // Every visit of a key block loads its K and V; executed scores / Br is the number of keys
    // loaded. Zeros beyond the last key are made on chip.
    const std::int64_t whole_tiles = grid.tiles / grid.splits;
    const auto tiles = static_cast<double>(whole_tiles);
    const double keys = std::min(result.scores.executed / static_cast<double>(grid.blocks.q),
                                 tiles * static_cast<double>(result.scores.visible_keys));
    const double kv_loads = keys * sizes.head_dim * sizes.cached * 2.0;
    work.l2 = bytes(2.0 * sizes.q + kv_loads + statistics + 2.0 * partial);
    work.kernels = 1 + (grid.combines ? 1 : 0) + grid.query_copies;
    result.statistics = bytes(statistics);
    result.scratch = bytes(statistics + partial);
}

void count_flash_backward(AttentionWork& result, const Attention& attention,
                          Implementation implementation, const Sizes& sizes) {
    Work& work = result.work;
    const double statistics = sizes.rows * statistic_bytes;
    const double accumulator = sizes.rows * sizes.head_dim * accumulator_bytes;
    const bool grouped = attention.heads != attention.kv_heads;
    // Gradients per query head before they are summed over the group: in the input type (flash2) or
    // accumulated in fp32 per KV head (flash3).
    double partial_kv = 0.0;
    if (grouped && implementation == Implementation::flash2) partial_kv = 2.0 * sizes.expanded;
    if (grouped && implementation == Implementation::flash3) {
        partial_kv = 2.0 * sizes.kv / sizes.element * accumulator_bytes;
    }
    // The preparation reads O and dO, writes the row sums and clears dQ in fp32. The main kernel
    // reads Q, dO, K, V and both statistics and adds to dQ. The last kernel converts dQ.
    const double prepare_read = 2.0 * sizes.q;
    const double prepare_write = statistics + accumulator;
    const double main_read =
        2.0 * sizes.q + 2.0 * sizes.kv_seen * result.kv_dram_passes + 2.0 * statistics;
    const double main_write = accumulator + (grouped ? partial_kv : 2.0 * sizes.kv);
    const double finish_read = accumulator + partial_kv;
    const double finish_write = sizes.q + (grouped ? 2.0 * sizes.kv : 0.0);
    work.dram_read = bytes(prepare_read + main_read + finish_read);
    work.dram_write = bytes(prepare_write + main_write + finish_write);
    // Each visit loads Q and dO and adds to dQ by atomics, which read and write in L2.
    const double visited_rows = result.scores.executed / static_cast<double>(result.grid.blocks.kv);
    const double per_row =
        sizes.head_dim * (2.0 * sizes.element + 2.0 * accumulator_bytes) + 2.0 * statistic_bytes;
    work.l2 = bytes(prepare_read + prepare_write + visited_rows * per_row + 2.0 * sizes.expanded +
                    (grouped ? partial_kv : 2.0 * sizes.kv) + finish_read + finish_write);
    work.kernels = grouped ? 5 : 3;
    result.side_dram = bytes(prepare_read + prepare_write + finish_read + finish_write);
    result.statistics = bytes(3.0 * statistics);
    result.scratch = bytes(statistics + accumulator + partial_kv);
}

void count_flash(AttentionWork& result, const Attention& attention, Implementation implementation,
                 const AttentionContext& context, const Sizes& sizes) {
    result.kv_dram_passes =
        is_bundled_attention(implementation)
            ? bundled_kv_passes(attention, implementation, result.grid, context)
            : kv_passes(attention, context, result.grid, result.scores, sizes.cached);
    if (is_forward(attention)) {
        count_flash_forward(result, sizes);
        if (is_bundled_attention(implementation) && !result.grid.few_rows) {
            result.work.l2 = bundled_l2_bytes(attention, implementation, context, result.grid,
                                              result.scores.executed,
                                              static_cast<double>(result.scores.visible_keys));
        }
    } else {
        count_flash_backward(result, attention, implementation, sizes);
    }
    const bool repeats_lead = result.kv_dram_passes > 2.0;  // repeated reads exceed the first
    result.dram_growth = repeats_lead ? "Theta(N^2 d / (SMs Br))" : "Theta(N d)";
    result.chip_growth = "Theta(N^2 d^2 / M)";
}

/// The new tokens' K and V are read from the projection and written into the cache.
void count_kv_write(AttentionWork& result, const Attention& attention, const Sizes& sizes) {
    Work& work = result.work;
    const auto tokens = static_cast<double>(std::min(attention.seq_q, attention.seq_kv));
    const double written = 2.0 * sizes.kv * tokens / static_cast<double>(attention.seq_kv);
    const double read = written * sizes.element / sizes.cached;
    result.cache_read = bytes(read);
    result.cache_write = bytes(written);
    work.compulsory_read += bytes(read);
    work.compulsory_write += bytes(written);
    work.dram_read += bytes(read);
    work.dram_write += bytes(written);
    work.l2 += bytes(read + written);
    ++work.kernels;
}

/// Counts a call without masks that change nothing.
AttentionWork count(const Attention& attention, Implementation implementation,
                    const AttentionContext& context) {
    AttentionWork result;
    result.grid = attention_grid(attention, implementation, context);
    result.scores = count_scores(attention, result.grid);
    const bool standard = is_unfused(implementation);
    if (standard) result.scores.executed = result.scores.full;
    if (is_bundled_attention(implementation)) {
        result.scores.executed = bundled_executed_scores(attention, result.grid, result.scores);
    }
    const Sizes sizes = sizes_of(attention, result.scores);
    count_arithmetic(result, attention, implementation, sizes);
    if (is_bundled_attention(implementation)) {
        result.executed_special = bundled_executed_special(result.grid, result.scores.executed);
    }
    count_compulsory(result.work, attention, sizes);
    if (standard) {
        count_standard(result, attention, context, sizes);
    } else if (implementation == Implementation::flash1) {
        count_flash1(result, attention, context, sizes);
    } else {
        RIDGE_CONTRACT(
            implementation == Implementation::flash2 || implementation == Implementation::flash3 ||
            implementation == Implementation::flashinfer || is_bundled_attention(implementation));
        count_flash(result, attention, implementation, context, sizes);
    }
    if (attention.kv_write) count_kv_write(result, attention, sizes);
    return result;
}

}  // namespace

std::span<const StandardKernel> standard_kernels(Direction direction) {
    // S = Q K^T, P = softmax(S), O = P V.
    static constexpr std::array forward{
        StandardKernel{.score_writes = 1, .query_reads = 1, .key_reads = 1, .matmuls = 1},
        StandardKernel{.score_reads = 1, .score_writes = 1},
        StandardKernel{.score_reads = 1, .query_writes = 1, .key_reads = 1, .matmuls = 1}};
    // dV = P^T dO, dP = dO V^T, dS = P (dP - row sums), dQ = dS K, dK = dS^T Q.
    static constexpr std::array backward{
        StandardKernel{.score_reads = 1, .query_reads = 1, .key_writes = 1, .matmuls = 1},
        StandardKernel{.score_writes = 1, .query_reads = 1, .key_reads = 1, .matmuls = 1},
        StandardKernel{.score_reads = 2, .score_writes = 1},
        StandardKernel{.score_reads = 1, .query_writes = 1, .key_reads = 1, .matmuls = 1},
        StandardKernel{.score_reads = 1, .query_reads = 1, .key_writes = 1, .matmuls = 1}};
    if (direction == Direction::forward) return forward;
    return backward;
}

AttentionWork count_attention(const Attention& attention, Implementation implementation,
                              const AttentionContext& context) {
    if (lacks_idle_masks(attention)) return count(attention, implementation, context);
    return count(without_idle_masks(attention), implementation, context);
}

}  // namespace ridge::model
