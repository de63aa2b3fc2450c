// Matrix product, float32, register tiled: 128 x 128 of C per block, 8 x 8 per thread, so that each
// value read from shared memory feeds 8 multiply-adds.
//
// Method: 256 threads. Slices of 8 along k are loaded as 16-byte vectors into registers while the
// previous slice is multiplied, then stored in the other of two shared-memory buffers, with A
// transposed so that both operands are read as vectors. A thread's 8 x 8 elements are four 4 x 4
// quarters, 64 rows and columns apart, so that a warp's vector reads touch all banks once. Edges:
// out-of-range elements load as zero. If k (for A) or n (for B) is not a multiple of 4, that
// operand is loaded by elements.
#include "measure/cuda/kernels/matmul.h"

namespace ridge::measure::cuda {
namespace {

constexpr bundled::MatmulKernel layout = bundled::matmul_register_tiled;
constexpr int tile_mn = layout.tile.m;
constexpr int tile_k = layout.tile.k;
constexpr int threads = layout.threads;
static_assert(layout.tile.n == tile_mn);
constexpr int quarter = 64;  // distance between the two 4-wide parts of a thread's rows and columns
// Keeps the transposing stores of A from conflicting in a bank.
constexpr int padding = bundled::register_tiled_padding;
constexpr int group_rows = layout.group_rows;

enum class Access { vector, element };

// Four consecutive elements of a row of `extent` elements, with zeros beyond its end.
template <Access Mode>
__device__ __forceinline__ float4 load_four(const float* row, int first, int extent,
                                            bool in_range) {
    if (!in_range || first >= extent) return {0.0F, 0.0F, 0.0F, 0.0F};
    if constexpr (Mode == Access::vector) return *reinterpret_cast<const float4*>(row + first);
    return {row[first], first + 1 < extent ? row[first + 1] : 0.0F,
            first + 2 < extent ? row[first + 2] : 0.0F, first + 3 < extent ? row[first + 3] : 0.0F};
}

struct Slices {
    float a[layout.stages][tile_k][tile_mn + padding];
    float b[layout.stages][tile_k][tile_mn];
};
static_assert(sizeof(Slices) == layout.shared_bytes && layout.stages == 2);

__device__ __forceinline__ void put(Slices& shared, int buffer, const float4& a, const float4& b) {
    const int thread = static_cast<int>(threadIdx.x);
    const int a_row = thread / 2;
    const int a_k = thread % 2 * 4;
    shared.a[buffer][a_k][a_row] = a.x;
    shared.a[buffer][a_k + 1][a_row] = a.y;
    shared.a[buffer][a_k + 2][a_row] = a.z;
    shared.a[buffer][a_k + 3][a_row] = a.w;
    *reinterpret_cast<float4*>(&shared.b[buffer][thread / 32][thread % 32 * 4]) = b;
}

__device__ __forceinline__ void multiply_slice(float (&sum)[8][8], const Slices& shared, int buffer,
                                               int row, int column) {
#pragma unroll
    for (int i = 0; i < tile_k; ++i) {
        float a[8];
        float b[8];
        *reinterpret_cast<float4*>(&a[0]) =
            *reinterpret_cast<const float4*>(&shared.a[buffer][i][row]);
        *reinterpret_cast<float4*>(&a[4]) =
            *reinterpret_cast<const float4*>(&shared.a[buffer][i][row + quarter]);
        *reinterpret_cast<float4*>(&b[0]) =
            *reinterpret_cast<const float4*>(&shared.b[buffer][i][column]);
        *reinterpret_cast<float4*>(&b[4]) =
            *reinterpret_cast<const float4*>(&shared.b[buffer][i][column + quarter]);
#pragma unroll
        for (int y = 0; y < 8; ++y)
#pragma unroll
            for (int x = 0; x < 8; ++x) sum[y][x] = fmaf(a[y], b[x], sum[y][x]);
    }
}

template <Access AMode, Access BMode>
__global__ void __launch_bounds__(threads, BMode == Access::vector ? layout.blocks_per_sm : 1)
    matmul_register_tiled_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ c, int m, int n, int k, int tile_rows,
                                 int tile_columns) {
    __shared__ Slices shared;
    const int thread = static_cast<int>(threadIdx.x);
    const int per_group = group_rows * tile_columns;
    const int group = static_cast<int>(blockIdx.x) / per_group;
    const int in_group = static_cast<int>(blockIdx.x) % per_group;
    const int rows_here = min(group_rows, tile_rows - group * group_rows);
    const int first_row = (group * group_rows + in_group % rows_here) * tile_mn;
    const int first_column = in_group / rows_here * tile_mn;
    const std::int64_t batch = blockIdx.y;

    const int a_row = first_row + thread / 2;
    const int b_column = first_column + thread % 32 * 4;
    const float* const a_line = a + (batch * m + a_row) * k;
    const float* const b_matrix = b + batch * k * n;
    const auto load_a = [&](int first) {
        return load_four<AMode>(a_line, first + thread % 2 * 4, k, a_row < m);
    };
    const auto load_b = [&](int first) {
        const int line = first + thread / 32;
        return load_four<BMode>(b_matrix + static_cast<std::int64_t>(line) * n, b_column, n,
                                line < k);
    };

    const int row = thread / 16 * 4;
    const int column = thread % 16 * 4;
    float sum[8][8] = {};
    put(shared, 0, load_a(0), load_b(0));
    __syncthreads();
    int buffer = 0;
    for (int first = 0; first < k; first += tile_k) {
        const float4 next_a = load_a(first + tile_k);
        const float4 next_b = load_b(first + tile_k);
        multiply_slice(sum, shared, buffer, row, column);
        buffer ^= 1;
        put(shared, buffer, next_a, next_b);
        __syncthreads();
    }

#pragma unroll
    for (int y = 0; y < 8; ++y) {
        const int c_row = first_row + row + y % 4 + y / 4 * quarter;
        if (c_row >= m) continue;
        float* const line = c + (batch * m + c_row) * n;
#pragma unroll
        for (int x = 0; x < 8; x += 4) {
            const int c_column = first_column + column + x / 4 * quarter;
            if (BMode == Access::vector) {
                if (c_column < n)
                    *reinterpret_cast<float4*>(line + c_column) = {sum[y][x], sum[y][x + 1],
                                                                   sum[y][x + 2], sum[y][x + 3]};
            } else {
                for (int i = 0; i < 4; ++i)
                    if (c_column + i < n) line[c_column + i] = sum[y][x + i];
            }
        }
    }
}

using Kernel = void (*)(const float*, const float*, float*, int, int, int, int, int);

bool aligned(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

Kernel choose(const MatmulProblem& p) {
    const bool a_vector = bundled::in_float_vectors(p.k) && aligned(p.a);
    const bool b_vector = bundled::in_float_vectors(p.n) && aligned(p.b) && aligned(p.c);
    if (a_vector)
        return b_vector ? matmul_register_tiled_kernel<Access::vector, Access::vector>
                        : matmul_register_tiled_kernel<Access::vector, Access::element>;
    return b_vector ? matmul_register_tiled_kernel<Access::element, Access::vector>
                    : matmul_register_tiled_kernel<Access::element, Access::element>;
}

}  // namespace

Launch matmul_register_tiled(const MatmulProblem& p) {
    require_matmul("matmul_register_tiled", p, false);
    const auto rows = static_cast<int>(bundled::units_down(layout, p.m));
    const auto columns = static_cast<int>(bundled::units_across(layout, p.n));
    const Kernel kernel = choose(p);
    const LaunchShape shape = shape_of(bundled::matmul_grid(layout, extents_of(p), 0));
    return [=](cudaStream_t stream) {
        launch_kernel("matmul_register_tiled", kernel, shape, stream,
                      static_cast<const float*>(p.a), static_cast<const float*>(p.b),
                      static_cast<float*>(p.c), static_cast<int>(p.m), static_cast<int>(p.n),
                      static_cast<int>(p.k), rows, columns);
    };
}

}  // namespace ridge::measure::cuda
