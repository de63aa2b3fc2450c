// Geometry of the bundled kernels along rows: softmax, norms, sums, a softmax made of five kernels,
// and the softmax of standard attention.
//
//   row_plan(8192, 4)                           // a block of 512 threads, 4 vectors each
//   row_grid(4096, row_plan(1000, 2)).blocks()  // 512: eight rows each
//
// Method: a row in whole 16-byte vectors is held in registers, by a warp up to 2 KiB, else by a
// block. A row too long for that is read twice by its block. Rows that are not whole vectors are
// processed element by element, twice. Sums read their row once, by a warp up to 8 KiB.
//
// Limits: registers hold up to 32 floats per thread, so 32768 columns per block. On an H200 the
// second reading of a longer row comes from DRAM, not L2 (132 and more rows in flight exceed it),
// so such rows cost 1.5 times as much.
#pragma once

#include <algorithm>

#include "model/bundled/launch_grid.h"

namespace ridge::model::bundled {

enum class RowMethod : std::uint8_t {
    warp,          ///< one warp per row, row in registers
    block,         ///< one block per row, row in registers
    two_pass,      ///< one block per row, row read twice in 16-byte vectors
    element_pass,  ///< one block per row, row read twice element by element
};

struct RowPlan {
    RowMethod method = RowMethod::block;
    std::int32_t threads = 256;  ///< of the block
    std::int32_t vectors = 4;    ///< of 16 bytes held by each thread: 1, 2, 4 or 8

    /// Whether the row is held in registers, and so is read once.
    [[nodiscard]] constexpr bool held() const {
        return method == RowMethod::warp || method == RowMethod::block;
    }
};

inline constexpr std::int32_t rows_per_block = 8;  ///< if each warp has one row
inline constexpr std::int32_t most_row_threads = 1024;

[[nodiscard]] constexpr bool in_vectors(std::int64_t columns, std::int64_t element) {
    return columns * element % vector_bytes == 0;
}

/// The plan for softmax and norms of rows of `columns` elements of `element` bytes.
[[nodiscard]] constexpr RowPlan row_plan(std::int64_t columns, std::int64_t element) {
    constexpr std::int32_t most_of_warp = 4;  // vectors of a thread
    constexpr std::int32_t wished = 4;
    const std::int32_t most = element == 2 ? 4 : 8;
    if (!in_vectors(columns, element)) {
        return {.method = RowMethod::element_pass,
                .threads = columns <= 1024 ? 128 : 512,
                .vectors = 1};
    }
    const std::int64_t vectors = columns * element / vector_bytes;
    if (vectors <= warp_threads * most_of_warp) {
        std::int32_t held = 1;
        while (warp_threads * held < vectors) held *= 2;
        return {
            .method = RowMethod::warp, .threads = warp_threads * rows_per_block, .vectors = held};
    }
    if (vectors > std::int64_t{most_row_threads} * most) {
        return {.method = RowMethod::two_pass, .threads = most_row_threads, .vectors = 4};
    }
    const std::int32_t held = vectors > most_row_threads * wished ? most : wished;
    return {
        .method = RowMethod::block,
        .threads = static_cast<std::int32_t>(rounded_up(ceil_divide(vectors, held), warp_threads)),
        .vectors = held};
}

/// Largest block of a kernel that holds its row in registers.
[[nodiscard]] constexpr std::int32_t held_row_threads(RowMethod method) {
    return method == RowMethod::warp ? warp_threads * rows_per_block : most_row_threads;
}

/// Rows that a block of this method takes.
[[nodiscard]] constexpr std::int64_t rows_of_block(RowMethod method) {
    return method == RowMethod::warp ? rows_per_block : 1;
}

/// If a block has a row, `reduced` bytes per warp are merged in shared memory.
[[nodiscard]] constexpr LaunchGrid row_grid(std::int64_t rows, const RowPlan& plan,
                                            std::int64_t reduced) {
    return {.x = ceil_divide(rows, rows_of_block(plan.method)),
            .threads = plan.threads,
            .shared_bytes = plan.method == RowMethod::warp ? 0 : reduction_bytes(reduced)};
}

/// Bytes that each warp of a block passes on: two floats for a softmax (maximum and sum) and for a
/// norm (a sum each for mean and variance), one for a sum.
inline constexpr std::int64_t softmax_reduced = 8;
inline constexpr std::int64_t norm_reduced = 8;
inline constexpr std::int64_t sum_reduced = 4;

inline constexpr std::int32_t row_sum_unroll = 4;  ///< accesses of a thread in flight

/// The plan for sums and maxima of rows, in vectors or element by element.
[[nodiscard]] constexpr RowPlan row_sum_plan(std::int64_t columns, std::int64_t element) {
    constexpr std::int64_t longest_of_warp = 8192;  // bytes
    constexpr std::int64_t longest_of_small_block = 65536;
    const std::int64_t row = columns * element;
    if (row <= longest_of_warp) {
        return {.method = RowMethod::warp,
                .threads = warp_threads * rows_per_block,
                .vectors = row_sum_unroll};
    }
    return {.method = RowMethod::block,
            .threads = row <= longest_of_small_block ? 256 : most_row_threads,
            .vectors = row_sum_unroll};
}

inline constexpr std::int32_t softmax_step_threads = 256;
inline constexpr std::int32_t softmax_step_unroll = 4;  ///< accesses of a thread

/// Elements per access of the kernels between the two reductions of a softmax in five kernels.
[[nodiscard]] constexpr std::int64_t softmax_step_width(std::int64_t columns,
                                                        std::int64_t element) {
    return in_vectors(columns, element) ? vector_bytes / element : 1;
}
[[nodiscard]] constexpr std::int64_t softmax_step_blocks_per_row(std::int64_t columns,
                                                                 std::int64_t element) {
    return ceil_divide(columns, std::int64_t{softmax_step_threads} * softmax_step_unroll *
                                    softmax_step_width(columns, element));
}
[[nodiscard]] constexpr LaunchGrid softmax_step_grid(std::int64_t rows, std::int64_t columns,
                                                     std::int64_t element) {
    return {.x = rows * softmax_step_blocks_per_row(columns, element),
            .threads = softmax_step_threads};
}

/// The plan for the softmax of standard attention: a block per row of scores.
struct ScoreSoftmaxPlan {
    std::int32_t threads = 256;
    std::int32_t vectors = 0;  ///< of 16 bytes held by each thread; 0: read twice, by elements
};

inline constexpr std::int32_t most_score_threads = 512;
inline constexpr std::int32_t most_score_vectors = 8;

/// The plan with the fewest vectors per thread that hold the row, and at least four warps.
[[nodiscard]] constexpr ScoreSoftmaxPlan score_softmax_plan(std::int64_t keys,
                                                            std::int64_t element) {
    constexpr std::int64_t fewest_threads = 128;
    if (!in_vectors(keys, element)) return {};
    const std::int64_t width = vector_bytes / element;
    for (std::int32_t vectors = 1; vectors <= most_score_vectors; vectors *= 2) {
        const std::int64_t most =
            std::min<std::int64_t>(most_score_threads, vectors * fewest_threads);
        const std::int64_t threads = rounded_up(ceil_divide(keys, width * vectors), warp_threads);
        if (threads > most) continue;
        return {.threads = static_cast<std::int32_t>(std::max(fewest_threads, threads)),
                .vectors = vectors};
    }
    return {};
}
[[nodiscard]] constexpr LaunchGrid score_softmax_grid(std::int64_t rows,
                                                      const ScoreSoftmaxPlan& plan) {
    return {.x = rows, .threads = plan.threads, .shared_bytes = reduction_bytes(sum_reduced)};
}

}  // namespace ridge::model::bundled
