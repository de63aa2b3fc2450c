// Matrix product, float32, in its simplest form and uncoalesced: one thread per element of C, with
// neighbouring threads of a warp on neighbouring rows.
//
// Method: blocks of 16 x 16 threads, threadIdx.x along m. Every load of A and every store of C by a
// warp touches 16 different rows, so a 32-byte sector serves one thread. This shows the cost of
// access order: matmul_coalesced differs only in the index.
#include "measure/cuda/kernels/matmul_elements.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int side = bundled::matmul_naive.tile.m;
static_assert(bundled::matmul_naive.tile.n == side);
static_assert(bundled::matmul_naive.threads == side * side);

__global__ void matmul_naive_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                    float* __restrict__ c, int m, int n, int k) {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * side + threadIdx.x;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * side + threadIdx.y;
    multiply_element(a, b, c, row, column, m, n, k);
}

constexpr ElementKernel kernel{"matmul_naive", matmul_naive_kernel, bundled::matmul_naive, side};

}  // namespace

Launch matmul_naive(const MatmulProblem& p) {
    return launch_of(kernel, p);
}

}  // namespace ridge::measure::cuda
