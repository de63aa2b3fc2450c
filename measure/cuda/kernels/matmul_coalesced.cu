// Matrix product, float32, one thread per element of C, coalesced: neighbouring threads on
// neighbouring columns.
//
// Method: blocks of 32 x 8 threads, threadIdx.x along n. A warp reads one element of A (a
// broadcast) and 128 contiguous bytes of B per step, and stores 128 contiguous bytes of C. Every
// operand still comes through L1 once per use: 2 loads per multiply-add.
#include "measure/cuda/kernels/matmul_elements.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int tile_n = bundled::matmul_coalesced.tile.n;
constexpr int tile_m = bundled::matmul_coalesced.tile.m;
static_assert(bundled::matmul_coalesced.threads == tile_m * tile_n);

__global__ void matmul_coalesced_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                        float* __restrict__ c, int m, int n, int k) {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * tile_m + threadIdx.y;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * tile_n + threadIdx.x;
    multiply_element(a, b, c, row, column, m, n, k);
}

constexpr ElementKernel kernel{"matmul_coalesced", matmul_coalesced_kernel,
                               bundled::matmul_coalesced, tile_n};

}  // namespace

Launch matmul_coalesced(const MatmulProblem& p) {
    return launch_of(kernel, p);
}

}  // namespace ridge::measure::cuda
