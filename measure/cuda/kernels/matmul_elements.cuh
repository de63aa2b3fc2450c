// The fp32 matrix products that give each thread one element of C: their launch, and the sum of one
// element read directly from global memory.
//
// Method: a kernel is described by its name, its function and its layout; grid x runs along m, y
// along n, z along the batch.
//
//   constexpr ElementKernel kernel{"matmul_naive", matmul_naive_kernel, bundled::matmul_naive, 16};
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
    bundled::MatmulKernel layout;
    std::int32_t threads_x;
};

inline Launch launch_of(const ElementKernel& kernel, const MatmulProblem& p) {
    constexpr std::int64_t most_tiles = 65535;
    require_matmul(kernel.name, p, false);
    const bundled::LaunchGrid grid = bundled::matmul_grid(kernel.layout, extents_of(p), 0);
    if (grid.y > most_tiles) {
        throw std::runtime_error(std::string(kernel.name) + ": n must be at most " +
                                 std::to_string(most_tiles * kernel.layout.tile.n));
    }
    LaunchShape shape = shape_of(grid);
    shape.block = dim3(static_cast<unsigned>(kernel.threads_x),
                       static_cast<unsigned>(grid.threads / kernel.threads_x));
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
