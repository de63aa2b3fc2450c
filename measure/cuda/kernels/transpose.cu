// Matrix transpose; see transpose.h.
#include "measure/cuda/kernels/transpose.h"

#include <stdexcept>

namespace ridge::measure::cuda {
namespace {

constexpr int threads = bundled::transpose_threads;

// Rows and columns of a tile of T.
template <TransposeMethod method, typename T>
constexpr int edge_of = bundled::transpose_edge(method, sizeof(T));

template <TransposeMethod method, typename T>
constexpr std::int64_t shared_bytes_of =
    bundled::transpose_grid(1, 1, sizeof(T), method).shared_bytes;

template <typename T>
__global__ void naive_kernel(const T* __restrict__ source, T* __restrict__ destination,
                             std::int64_t rows, std::int64_t columns) {
    constexpr int tile = edge_of<TransposeMethod::naive, T>;
    const std::int64_t column = blockIdx.x * std::int64_t{tile} + threadIdx.x % tile;
    const std::int64_t first_row = blockIdx.y * std::int64_t{tile} + threadIdx.x / tile;
    if (column >= columns) return;
#pragma unroll
    for (int i = 0; i < tile; i += threads / tile) {
        const std::int64_t row = first_row + i;
        if (row < rows) destination[column * rows + row] = source[row * columns + column];
    }
}

template <typename T>
__global__ void padded_kernel(const T* __restrict__ source, T* __restrict__ destination,
                              std::int64_t rows, std::int64_t columns) {
    constexpr int tile = edge_of<TransposeMethod::padded, T>;
    __shared__ T held[tile][tile + bundled::transpose_padding / sizeof(T)];
    static_assert(sizeof(held) == shared_bytes_of<TransposeMethod::padded, T>);
    const std::int64_t top = blockIdx.y * std::int64_t{tile};
    const std::int64_t left = blockIdx.x * std::int64_t{tile};
    const int across = threadIdx.x % tile;
    const int down = threadIdx.x / tile;
#pragma unroll
    for (int r = down; r < tile; r += threads / tile) {
        if (top + r < rows && left + across < columns)
            held[r][across] = source[(top + r) * columns + left + across];
    }
    __syncthreads();
#pragma unroll
    for (int c = down; c < tile; c += threads / tile) {
        if (left + c < columns && top + across < rows)
            destination[(left + c) * rows + top + across] = held[across][c];
    }
}

template <typename T>
__global__ void swizzled_kernel(const T* __restrict__ source, T* __restrict__ destination,
                                std::int64_t rows, std::int64_t columns) {
    constexpr int tile = edge_of<TransposeMethod::swizzled, T>;
    constexpr int vector = 16 / sizeof(T);
    constexpr int groups = tile / vector;
    constexpr int passes = tile * groups / threads;
    __shared__ __align__(16) T held[tile][tile];
    static_assert(sizeof(held) == shared_bytes_of<TransposeMethod::swizzled, T>);
    const std::int64_t top = blockIdx.y * std::int64_t{tile};
    const std::int64_t left = blockIdx.x * std::int64_t{tile};
    uint4 incoming[passes];
#pragma unroll
    for (int i = 0; i < passes; ++i) {
        const int r = static_cast<int>(threadIdx.x + i * threads) / groups;
        const int c = static_cast<int>(threadIdx.x) % groups * vector;
        if (top + r < rows && left + c < columns) {
            incoming[i] =
                __ldcg(reinterpret_cast<const uint4*>(source + (top + r) * columns + left + c));
        }
    }
#pragma unroll
    for (int i = 0; i < passes; ++i) {
        const int r = static_cast<int>(threadIdx.x + i * threads) / groups;
        const int group = static_cast<int>(threadIdx.x) % groups ^ (r / vector) % 8;
        *reinterpret_cast<uint4*>(&held[r][group * vector]) = incoming[i];
    }
    __syncthreads();
    // A warp takes 8 row groups x 4 columns: 32 different banks, and 8 x 16 contiguous bytes of
    // each destination row.
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < passes; ++i) {
        const int unit = warp + i * (threads / 32);
        const int group = lane % 8 + unit % (groups / 8) * 8;
        const int c = unit / (groups / 8) * 4 + lane / 8;
        union {
            T element[vector];
            uint4 whole;
        } outgoing;
#pragma unroll
        for (int j = 0; j < vector; ++j) {
            const int r = group * vector + j;
            outgoing.element[j] = held[r][(c / vector ^ (r / vector) % 8) * vector + c % vector];
        }
        if (left + c < columns && top + group * vector < rows) {
            *reinterpret_cast<uint4*>(destination + (left + c) * rows + top + group * vector) =
                outgoing.whole;
        }
    }
}

template <typename T>
Launch with_type(const Transpose& transpose) {
    const LaunchShape shape = shape_of(
        bundled::transpose_grid(transpose.rows, transpose.columns, sizeof(T), transpose.method));
    const auto kernel = transpose.method == TransposeMethod::naive    ? naive_kernel<T>
                        : transpose.method == TransposeMethod::padded ? padded_kernel<T>
                                                                      : swizzled_kernel<T>;
    return [=](cudaStream_t stream) {
        kernel<<<shape.grid, shape.block, 0, stream>>>(static_cast<const T*>(transpose.source),
                                                       static_cast<T*>(transpose.destination),
                                                       transpose.rows, transpose.columns);
        check(cudaGetLastError(), "transpose");
    };
}

}  // namespace

Launch launch_of(const Transpose& transpose) {
    if (transpose.rows <= 0 || transpose.columns <= 0 || transpose.rows > 65535LL * 32) {
        throw std::invalid_argument(
            "transpose: rows and columns must be positive, rows at most 2097120");
    }
    const int vector = 16 / (transpose.element_bytes == 2 ? 2 : 4);
    if (transpose.method == TransposeMethod::swizzled &&
        (transpose.rows % vector != 0 || transpose.columns % vector != 0)) {
        throw std::invalid_argument(
            "transpose: swizzled needs rows and columns that are multiples of 16 / element_bytes");
    }
    switch (transpose.element_bytes) {
        case 2:
            return with_type<std::uint16_t>(transpose);
        case 4:
            return with_type<std::uint32_t>(transpose);
        default:
            throw std::invalid_argument("transpose: elements of 2 or 4 bytes");
    }
}

}  // namespace ridge::measure::cuda
