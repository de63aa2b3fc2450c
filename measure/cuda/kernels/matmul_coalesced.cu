// Matrix product, float32, one thread per element of C, coalesced: neighbouring threads on
// neighbouring columns.
//
// Method: block 32 x 8 threads, threadIdx.x along n. A warp reads one element of A (a broadcast)
// and 128 contiguous bytes of B per step, and stores 128 contiguous bytes of C. Every operand still
// comes through L1 once per use: 2 loads per multiply-add.
#include "measure/cuda/kernels/matmul.h"

namespace ridge::measure::cuda {
namespace {

constexpr int tile_n = 32;
constexpr int tile_m = 8;

__global__ void matmul_coalesced_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                        float* __restrict__ c, int m, int n, int k) {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * tile_m + threadIdx.y;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * tile_n + threadIdx.x;
    if (row >= m || column >= n) return;
    const std::int64_t batch = blockIdx.z;
    a += (batch * m + row) * k;
    b += batch * k * n + column;
    float sum = 0.0F;
    for (int i = 0; i < k; ++i) sum = fmaf(a[i], b[static_cast<std::int64_t>(i) * n], sum);
    c[(batch * m + row) * n + column] = sum;
}

dim3 grid_of(const MatmulProblem& p) {
    return {static_cast<unsigned>(ceil_div(p.m, tile_m)),
            static_cast<unsigned>(ceil_div(p.n, tile_n)), static_cast<unsigned>(p.batch)};
}

}  // namespace

KernelGeometry matmul_coalesced_geometry(const MatmulProblem& p) {
    const dim3 grid = grid_of(p);
    return {.tile_m = tile_m,
            .tile_n = tile_n,
            .tile_k = 1,
            .threads = tile_m * tile_n,
            .blocks = static_cast<std::int64_t>(grid.x) * grid.y * grid.z,
            .function = reinterpret_cast<const void*>(matmul_coalesced_kernel)};
}

Launch matmul_coalesced(const MatmulProblem& p) {
    require_matmul("matmul_coalesced", p, false);
    if (ceil_div(p.n, tile_n) > 65535)
        throw std::runtime_error("matmul_coalesced: n must be at most 2097120");
    const LaunchShape shape{.grid = grid_of(p), .block = dim3(tile_n, tile_m)};
    return [=](cudaStream_t stream) {
        launch_kernel("matmul_coalesced", matmul_coalesced_kernel, shape, stream,
                      static_cast<const float*>(p.a), static_cast<const float*>(p.b),
                      static_cast<float*>(p.c), static_cast<int>(p.m), static_cast<int>(p.n),
                      static_cast<int>(p.k));
    };
}

}  // namespace ridge::measure::cuda
