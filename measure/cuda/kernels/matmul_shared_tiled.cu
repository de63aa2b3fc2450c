// Matrix product, float32, through shared memory: 32 x 32 tiles of A and B, each element loaded
// from global memory once per tile.
//
// Method: blocks of 32 x 32 threads, one element of C each. Per step of 32 along k every thread
// loads one element each of A and B and reads 64 from shared memory. Global traffic falls by a
// factor of 32 against matmul_coalesced, and shared-memory bandwidth becomes the limit.
#include "measure/cuda/kernels/matmul_elements.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr bundled::MatmulKernel layout = bundled::matmul_shared_tiled;
constexpr int tile = layout.tile.m;
static_assert(layout.tile.n == tile && layout.tile.k == tile);
static_assert(layout.threads == tile * tile);
static_assert(layout.shared_bytes == 2 * tile * tile * sizeof(float));

__global__ void __launch_bounds__(tile* tile)
    matmul_shared_tiled_kernel(const float* __restrict__ a, const float* __restrict__ b,
                               float* __restrict__ c, int m, int n, int k) {
    __shared__ float a_tile[tile][tile];
    __shared__ float b_tile[tile][tile];
    const int x = static_cast<int>(threadIdx.x);
    const int y = static_cast<int>(threadIdx.y);
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * tile + y;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * tile + x;
    const std::int64_t batch = blockIdx.z;
    a += (batch * m + row) * k;
    b += batch * k * n + column;

    float sum = 0.0F;
    for (int first = 0; first < k; first += tile) {
        a_tile[y][x] = row < m && first + x < k ? a[first + x] : 0.0F;
        b_tile[y][x] =
            column < n && first + y < k ? b[static_cast<std::int64_t>(first + y) * n] : 0.0F;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < tile; ++i) sum = fmaf(a_tile[y][i], b_tile[i][x], sum);
        __syncthreads();
    }
    if (row < m && column < n) c[(batch * m + row) * n + column] = sum;
}

constexpr ElementKernel kernel{"matmul_shared_tiled", matmul_shared_tiled_kernel, layout, tile};

}  // namespace

Launch matmul_shared_tiled(const MatmulProblem& p) {
    return launch_of(kernel, p);
}

}  // namespace ridge::measure::cuda
