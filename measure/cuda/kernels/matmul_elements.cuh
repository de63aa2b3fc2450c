// The fp32 matrix products that give each thread one element of C: their launch, and the sum of one
// element straight from global memory.
//
// Method: a kernel is described by its name, its function and the edges of its tile; grid x runs
// along m, y along n, z along the batch.
//
//   constexpr ElementKernel kernel{"matmul_naive", matmul_naive_kernel, 16, 16, 1, 16, 16};
//   const Launch run = launch_of(kernel, problem);
//
// Limits: n up to 65535 tiles.
#pragma once

#include <string>

#include "measure/cuda/kernels/matmul.h"

namespace ridge::measure::cuda {

struct ElementKernel {
    const char* name;
    void (*function)(const float* a, const float* b, float* c, int m, int n, int k);
    int tile_m;
    int tile_n;
    int tile_k;
    unsigned threads_x;
    unsigned threads_y;
};

inline dim3 grid_of(const ElementKernel& kernel, const MatmulProblem& p) {
    return {static_cast<unsigned>(ceil_div(p.m, kernel.tile_m)),
            static_cast<unsigned>(ceil_div(p.n, kernel.tile_n)), static_cast<unsigned>(p.batch)};
}

inline KernelGeometry geometry_of(const ElementKernel& kernel, const MatmulProblem& p) {
    const dim3 grid = grid_of(kernel, p);
    return {.tile_m = kernel.tile_m,
            .tile_n = kernel.tile_n,
            .tile_k = kernel.tile_k,
            .threads = static_cast<int>(kernel.threads_x * kernel.threads_y),
            .blocks = static_cast<std::int64_t>(grid.x) * grid.y * grid.z,
            .function = reinterpret_cast<const void*>(kernel.function)};
}

inline Launch launch_of(const ElementKernel& kernel, const MatmulProblem& p) {
    constexpr std::int64_t most_tiles = 65535;
    require_matmul(kernel.name, p, false);
    if (ceil_div(p.n, kernel.tile_n) > most_tiles) {
        throw std::runtime_error(std::string(kernel.name) + ": n must be at most " +
                                 std::to_string(most_tiles * kernel.tile_n));
    }
    const LaunchShape shape{.grid = grid_of(kernel, p),
                            .block = dim3(kernel.threads_x, kernel.threads_y)};
    return [=](cudaStream_t stream) {
        launch_kernel(kernel.name, kernel.function, shape, stream, static_cast<const float*>(p.a),
                      static_cast<const float*>(p.b), static_cast<float*>(p.c),
                      static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k));
    };
}

// c[row, column] of this block's batch, every operand from global memory.
__device__ __forceinline__ void multiply_element(const float* __restrict__ a,
                                                 const float* __restrict__ b, float* __restrict__ c,
                                                 std::int64_t row, std::int64_t column, int m,
                                                 int n, int k) {
    if (row >= m || column >= n) return;
    const std::int64_t batch = blockIdx.z;
    a += (batch * m + row) * k;
    b += batch * k * n + column;
    float sum = 0.0F;
    for (int i = 0; i < k; ++i) sum = fmaf(a[i], b[static_cast<std::int64_t>(i) * n], sum);
    c[(batch * m + row) * n + column] = sum;
}

}  // namespace ridge::measure::cuda
