// Tiles of matrix-product kernels as data: those that a library may choose from, and those that are
// built into the bundled kernels.
//
//   library_tiles(MatmulPipe::tensor, 16, machine.compute_capability).tiles[0]
//   bundled_kernel(Implementation::tiled)->layout.tile      // 32 x 32 x 32
//
// Tile sizes are those that the instruction sets and public kernel names allow. Libraries have
// more, but longer lists did not predict better.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/bundled/matmul.h"
#include "model/core/implementation.h"
#include "model/machine/matmul_parameters.h"

namespace ridge::model {

/// The largest number of tiles in a list. Shorter lists are filled up with their last tile.
inline constexpr std::size_t most_library_tiles = 20;

/// A list of tiles with the values that a search over many shapes needs for each tile. They lie
/// side by side and in single precision, so that one instruction handles several tiles.
struct LibraryTiles {
    using Each = std::array<float, most_library_tiles>;

    std::size_t count;
    std::array<Tile, most_library_tiles> tiles;
    Each m, n;
    Each per_m, per_n;  ///< their reciprocals
    Each rim;           ///< (m + n) / (m n)
};

/// Output tiles of one block for elements of `bits` bits. `compute_capability` is 90 for 9.0. wgmma
/// takes 64 x 8 to 256 with either operand on the 64 side, so short sides can be covered finely;
/// mma.sync cannot.
[[nodiscard]] const LibraryTiles& library_tiles(MatmulPipe pipe, std::int64_t bits,
                                                std::int32_t compute_capability);

/// The library's kernels for misaligned rows (M6).
[[nodiscard]] constexpr bool falls_back(MatmulPipe pipe) {
    return pipe == MatmulPipe::align_4 || pipe == MatmulPipe::align_2;
}

/// A bundled kernel: how it divides its work, the pipe that it multiplies on, and its parameters.
/// For wgmma, which has two tiles, this is the large one.
struct BundledKernel {
    bundled::MatmulKernel layout;
    MatmulPipe pipe = MatmulPipe::vector;
    std::optional<BundledMatmul> BundledMatmuls::*parameters = nullptr;
};

/// Empty for an implementation that is not a bundled matmul kernel.
[[nodiscard]] std::optional<BundledKernel> bundled_kernel(Implementation implementation);

}  // namespace ridge::model
