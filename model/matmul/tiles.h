// Tiles of matrix-product kernels, as data: what a library may choose from, and what the bundled
// kernels have built in.
//
//   for (const Tile tile : library_tiles(MatmulPipe::tensor, 2, machine.compute_capability)) ...
//   bundled_kernel(Implementation::tiled)->tile      // 32 x 32 x 32
//
// Tile sizes are those that the instruction sets and public kernel names allow; libraries have
// more, but longer lists did not predict better.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/core/implementation.h"
#include "model/machine/matmul_parameters.h"

namespace ridge::model {

/// Output tiles of one block for elements of `element` bytes. `compute_capability` is 90 for 9.0:
/// wgmma takes 64 x 8 to 256 with either operand on the 64 side, so that short sides are fine
/// grained; mma.sync does not.
[[nodiscard]] std::span<const Tile> library_tiles(MatmulPipe pipe, std::int64_t element,
                                                  std::int32_t compute_capability);

/// The library's kernels for misaligned rows (M6).
[[nodiscard]] constexpr bool falls_back(MatmulPipe pipe) {
    return pipe == MatmulPipe::align_4 || pipe == MatmulPipe::align_2;
}

/// A bundled kernel: the piece of C that one block computes and its depth along k, the blocks that
/// share a multiprocessor, the rows of tiles that its grid walks together (0: all), and its
/// parameters.
struct BundledKernel {
    Tile tile;
    std::int32_t blocks_per_sm = 1;
    std::int32_t group_rows = 0;
    MatmulPipe pipe = MatmulPipe::vector;
    std::optional<BundledMatmul> BundledMatmuls::*parameters = nullptr;
    std::int32_t cluster = 1;                       ///< blocks, along m, that share B
    std::optional<Tile> small_tile = std::nullopt;  ///< for products of few tiles
};

/// Empty for an implementation that is not a bundled matmul kernel.
[[nodiscard]] std::optional<BundledKernel> bundled_kernel(Implementation implementation);

}  // namespace ridge::model
