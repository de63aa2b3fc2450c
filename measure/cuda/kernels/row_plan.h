// How a kernel over the rows of a matrix divides a row among threads.
//
// Method: rows whose bytes are whole 16-byte vectors are read in vectors. A row of at most 2 KiB
// belongs to one warp, a longer one to a block, both keeping the row in registers (read once); a
// row too long for that is read twice by its block. Rows that are not whole vectors go element by
// element, twice.
//
// Example: row_plan(8192, ElementType::float32) -> block, 512 threads x 4 vectors; bfloat16: 256
// threads x 4 Limits: registers hold up to 32 floats a thread, so 32768 columns per block. On an
// H200 the second reading of a longer row comes from DRAM, not L2 (132 and more rows in flight
// exceed it), so such rows cost 1.5 times as much.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

enum class RowMethod {
    warp,          // one warp per row, row in registers
    block,         // one block per row, row in registers
    two_pass,      // one block per row, row read twice in 16-byte vectors
    element_pass,  // one block per row, row read twice element by element
};

struct RowPlan {
    RowMethod method = RowMethod::block;
    int threads = 256;  // of the block
    int vectors = 4;    // of 16 bytes held by each thread: 1, 2, 4 or 8
};

inline constexpr int warp_rows_per_block = 8;

[[nodiscard]] constexpr RowPlan row_plan(std::int64_t columns, ElementType type) {
    const int bytes = bytes_per_element(type);
    const int most_vectors = bytes == 2 ? 4 : 8;
    if (columns * bytes % 16 != 0)
        return {.method = RowMethod::element_pass,
                .threads = columns <= 1024 ? 128 : 512,
                .vectors = 1};
    const std::int64_t row_vectors = columns * bytes / 16;
    if (row_vectors <= 32 * 4) {
        int vectors = 1;
        while (32 * vectors < row_vectors) vectors *= 2;
        return {.method = RowMethod::warp, .threads = 32 * warp_rows_per_block, .vectors = vectors};
    }
    if (row_vectors > 1024 * most_vectors)
        return {.method = RowMethod::two_pass, .threads = 1024, .vectors = 4};
    constexpr int wished = 4;
    const int vectors = row_vectors > 1024 * wished ? most_vectors : wished;
    return {.method = RowMethod::block,
            .threads = static_cast<int>(ceil_div(ceil_div(row_vectors, vectors), 32) * 32),
            .vectors = vectors};
}

[[nodiscard]] constexpr KernelGeometry row_geometry(std::int64_t rows, const RowPlan& plan,
                                                    ElementType type) {
    const int bytes = plan.method == RowMethod::element_pass ? bytes_per_element(type) : 16;
    return {.tile_m = plan.method == RowMethod::warp ? plan.threads / 32 : 1,
            .threads = plan.threads,
            .blocks = plan.method == RowMethod::warp ? ceil_div(rows, plan.threads / 32) : rows,
            .bytes_in_flight_per_thread = bytes * plan.vectors};
}

}  // namespace ridge::measure::cuda
