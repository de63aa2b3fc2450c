// Geometry of the bundled kernels without rows: elementwise expressions, copy, transpose, gather.
//
//   elementwise_grid(1'000'000, elementwise_width(2)).blocks()       // 245 blocks of 4096 elements
//   transpose_grid(4096, 4096, 2, TransposeMethod::swizzled).x       // 32 tiles of 128 x 128
//
// Method: a thread of an elementwise kernel takes two vectors of each operand, a thread of a copy
// takes one. A transpose goes through a tile in shared memory. A gather gives a warp to each row.
//
// Limits: grids of up to 2^31 blocks.
#pragma once

#include <algorithm>

#include "model/bundled/launch_grid.h"

namespace ridge::model::bundled {

inline constexpr std::int32_t elementwise_threads = 256;
inline constexpr std::int32_t elementwise_unroll = 2;  ///< vectors of a thread and operand

/// Elements of a broadcast vector, unless the tensor has fewer.
inline constexpr std::int64_t broadcast_elements = 4096;

/// Elements per access: 16 bytes of the narrowest type.
[[nodiscard]] constexpr std::int64_t elementwise_width(std::int64_t element) {
    return vector_bytes / element;
}
/// The same beside a broadcast of `columns` elements, whose end no access may cross.
[[nodiscard]] constexpr std::int64_t elementwise_width(std::int64_t element, std::int64_t columns) {
    const std::int64_t width = elementwise_width(element);
    return columns % width != 0 ? 1 : width;
}
[[nodiscard]] constexpr LaunchGrid elementwise_grid(std::int64_t elements, std::int64_t width) {
    return {.x = ceil_divide(elements, elementwise_threads * width * elementwise_unroll),
            .threads = elementwise_threads};
}

inline constexpr std::int32_t copy_threads = 256;
inline constexpr std::int32_t copy_unroll = 1;  ///< vectors of a thread

/// Blocks of a stream of `bytes` whose threads take `unroll` vectors each. The first block takes
/// the bytes after the last vector.
[[nodiscard]] constexpr std::int64_t stream_blocks(std::int64_t bytes, std::int64_t threads,
                                                   std::int64_t unroll) {
    return std::max<std::int64_t>(1, ceil_divide(bytes / vector_bytes, threads * unroll));
}
[[nodiscard]] constexpr LaunchGrid copy_grid(std::int64_t bytes) {
    return {.x = stream_blocks(bytes, copy_threads, copy_unroll), .threads = copy_threads};
}

enum class TransposeMethod : std::uint8_t { naive, padded, swizzled };

inline constexpr std::int32_t transpose_threads = 256;
inline constexpr std::int32_t transpose_padding = 4;  ///< bytes after a row of the padded tile

/// The method through tiles: in vectors if the rows of both matrices are whole vectors.
[[nodiscard]] constexpr TransposeMethod tiled_transpose(std::int64_t rows, std::int64_t columns,
                                                        std::int64_t element) {
    const bool vectors =
        rows * element % vector_bytes == 0 && columns * element % vector_bytes == 0;
    return vectors ? TransposeMethod::swizzled : TransposeMethod::padded;
}

/// Rows and columns of a block's tile.
[[nodiscard]] constexpr std::int64_t transpose_edge(TransposeMethod method, std::int64_t element) {
    constexpr std::int64_t swizzled_row = 256;  // bytes
    if (method == TransposeMethod::naive) return 32;
    if (method == TransposeMethod::padded) return 64;
    return swizzled_row / element;
}

[[nodiscard]] constexpr LaunchGrid transpose_grid(std::int64_t rows, std::int64_t columns,
                                                  std::int64_t element, TransposeMethod method) {
    const std::int64_t edge = transpose_edge(method, element);
    const std::int64_t padding = method == TransposeMethod::padded ? transpose_padding : 0;
    const bool tile = method != TransposeMethod::naive;
    return {.x = ceil_divide(columns, edge),
            .y = ceil_divide(rows, edge),
            .threads = transpose_threads,
            .shared_bytes = tile ? edge * (edge * element + padding) : 0};
}

inline constexpr std::int32_t gather_threads = 256;
inline constexpr std::int32_t gather_rows_per_block = gather_threads / warp_threads;
inline constexpr std::int32_t gather_unroll = 4;  ///< accesses of a lane in flight

/// Bytes of an access to a row of `row` bytes.
[[nodiscard]] constexpr std::int64_t gather_access(std::int64_t row) {
    if (row % vector_bytes == 0) return vector_bytes;
    return row % 4 == 0 ? 4 : 2;
}
[[nodiscard]] constexpr LaunchGrid gather_grid(std::int64_t rows) {
    return {.x = ceil_divide(rows, gather_rows_per_block), .threads = gather_threads};
}

}  // namespace ridge::model::bundled
