// Matrix product, float32, as it is first written down, and uncoalesced: one thread per element of
// C, with neighbouring threads of a warp on neighbouring rows.
//
// Method: block 16 x 16 threads, threadIdx.x along m. Every load of A and every store of C by a
// warp touches 16 different rows, so a 32-byte sector serves one thread. It shows what access order
// costs: matmul_coalesced differs in the index alone.
#include "measure/cuda/kernels/matmul.h"

namespace ridge::measure::cuda {
namespace {

constexpr int side = 16;

__global__ void matmul_naive_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                    float* __restrict__ c, int m, int n, int k) {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * side + threadIdx.x;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * side + threadIdx.y;
    if (row >= m || column >= n) return;
    const std::int64_t batch = blockIdx.z;
    a += (batch * m + row) * k;
    b += batch * k * n + column;
    float sum = 0.0F;
    for (int i = 0; i < k; ++i) sum = fmaf(a[i], b[static_cast<std::int64_t>(i) * n], sum);
    c[(batch * m + row) * n + column] = sum;
}

dim3 grid_of(const MatmulProblem& p) {
    return {static_cast<unsigned>(ceil_div(p.m, side)), static_cast<unsigned>(ceil_div(p.n, side)),
            static_cast<unsigned>(p.batch)};
}

}  // namespace

KernelGeometry matmul_naive_geometry(const MatmulProblem& p) {
    const dim3 grid = grid_of(p);
    return {.tile_m = side,
            .tile_n = side,
            .tile_k = 1,
            .threads = side * side,
            .blocks = static_cast<std::int64_t>(grid.x) * grid.y * grid.z,
            .function = reinterpret_cast<const void*>(matmul_naive_kernel)};
}

Launch matmul_naive(const MatmulProblem& p) {
    require_matmul("matmul_naive", p, false);
    if (ceil_div(p.n, side) > 65535)
        throw std::runtime_error("matmul_naive: n must be at most 1048560");
    const LaunchShape shape{.grid = grid_of(p), .block = dim3(side, side)};
    return [=](cudaStream_t stream) {
        launch_kernel("matmul_naive", matmul_naive_kernel, shape, stream,
                      static_cast<const float*>(p.a), static_cast<const float*>(p.b),
                      static_cast<float*>(p.c), static_cast<int>(p.m), static_cast<int>(p.n),
                      static_cast<int>(p.k));
    };
}

}  // namespace ridge::measure::cuda
