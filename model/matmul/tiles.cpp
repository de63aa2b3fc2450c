#include "model/matmul/tiles.h"

#include <algorithm>
#include <array>

#include "model/machine/features.h"

namespace ridge::model {
namespace {

template <std::size_t count>
constexpr LibraryTiles library(const std::array<Tile, count>& tiles) {
    static_assert(count <= most_library_tiles);
    LibraryTiles made{};
    made.count = count;
    for (std::size_t i = 0; i < most_library_tiles; ++i) {
        const Tile& tile = tiles[std::min(i, count - 1)];
        const auto m = static_cast<float>(tile.m);
        const auto n = static_cast<float>(tile.n);
        made.tiles[i] = tile;
        made.m[i] = m;
        made.n[i] = n;
        made.per_m[i] = 1.0F / m;
        made.per_n[i] = 1.0F / n;
        made.rim[i] = (m + n) / (m * n);
    }
    return made;
}

// The depth along k is 128 bytes of a 16-bit type on tensor cores, and 8 elements in FMA kernels.
constexpr LibraryTiles wgmma_tiles =
    library(std::array{Tile{8, 64, 64}, Tile{8, 128, 64}, Tile{16, 64, 64}, Tile{32, 64, 64},
                       Tile{48, 128, 64}, Tile{64, 64, 64}, Tile{64, 128, 64}, Tile{96, 128, 64},
                       Tile{128, 64, 64}, Tile{64, 256, 64}, Tile{128, 128, 64}, Tile{192, 128, 64},
                       Tile{128, 256, 64}, Tile{192, 192, 64}, Tile{128, 320, 64}});
// tcgen05 takes 128 rows on one multiprocessor or 256 on a pair by up to 256 columns, with either
// operand on the side of the rows. A pair's tile counts as two of 128 rows that share an operand.
constexpr LibraryTiles umma_tiles = library(std::array{
    Tile{8, 64, 64}, Tile{8, 128, 64}, Tile{16, 64, 64}, Tile{16, 128, 64}, Tile{32, 64, 64},
    Tile{32, 128, 64}, Tile{48, 128, 64}, Tile{64, 64, 64}, Tile{64, 128, 64}, Tile{96, 128, 64},
    Tile{128, 64, 64}, Tile{64, 256, 64}, Tile{128, 128, 64}, Tile{128, 192, 64},
    Tile{192, 128, 64}, Tile{128, 256, 64}, Tile{256, 128, 64}});
constexpr LibraryTiles mma_tiles =
    library(std::array{Tile{64, 64, 32}, Tile{64, 128, 32}, Tile{128, 64, 32}, Tile{128, 128, 32},
                       Tile{128, 256, 32}, Tile{256, 128, 32}});
// Accumulators of 8 bytes leave registers only for small tiles.
constexpr LibraryTiles double_tiles =
    library(std::array{Tile{64, 64, 16}, Tile{64, 128, 16}, Tile{128, 64, 16}});
// Rows that are not multiples of 16 bytes also have kernels with small tiles.
constexpr LibraryTiles fallback_tiles = library(std::array{
    Tile{32, 32, 32}, Tile{32, 64, 32}, Tile{64, 32, 32}, Tile{64, 64, 32}, Tile{64, 128, 32},
    Tile{128, 64, 32}, Tile{128, 128, 32}, Tile{128, 256, 32}, Tile{256, 128, 32}});
constexpr LibraryTiles fma_tiles =
    library(std::array{Tile{32, 32, 8}, Tile{64, 32, 8}, Tile{32, 128, 8}, Tile{128, 32, 8},
                       Tile{64, 64, 8}, Tile{128, 64, 8}, Tile{128, 128, 8}});

constexpr std::int64_t double_bits = 64;

}  // namespace

const LibraryTiles& library_tiles(MatmulPipe pipe, std::int64_t bits,
                                  std::int32_t compute_capability) {
    if (pipe == MatmulPipe::vector) return fma_tiles;
    if (bits == double_bits) return double_tiles;
    if (falls_back(pipe)) return fallback_tiles;
    if (pipe == MatmulPipe::tf32) return mma_tiles;
    if (features_of(compute_capability).tensor_memory) return umma_tiles;
    return features_of(compute_capability).wide_tiles ? wgmma_tiles : mma_tiles;
}

std::optional<BundledKernel> bundled_kernel(Implementation implementation) {
    using B = BundledMatmuls;
    constexpr MatmulPipe vector = MatmulPipe::vector;
    constexpr MatmulPipe tensor = MatmulPipe::tensor;
    switch (implementation) {
        case Implementation::naive:
            return BundledKernel{bundled::matmul_naive, vector, &B::naive};
        case Implementation::coalesced:
            return BundledKernel{bundled::matmul_coalesced, vector, &B::naive};
        case Implementation::tiled:
            return BundledKernel{bundled::matmul_shared_tiled, vector, &B::tiled};
        case Implementation::register_tiled:
            return BundledKernel{bundled::matmul_register_tiled, vector, &B::register_tiled};
        case Implementation::mma:
            return BundledKernel{bundled::matmul_mma_sync, tensor, &B::mma};
        case Implementation::wgmma:
            return BundledKernel{bundled::matmul_wgmma_large, tensor, &B::wgmma};
        default:
            return std::nullopt;
    }
}

}  // namespace ridge::model
