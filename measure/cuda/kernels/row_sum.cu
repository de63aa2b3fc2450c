// Sums and maxima of rows; see row_sum.h.
#include "measure/cuda/kernels/row_sum.h"

#include <cfloat>

#include "measure/cuda/kernels/row.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int unroll = bundled::row_sum_unroll;
static_assert(sizeof(float) == bundled::sum_reduced);

template <Reduction reduction>
struct MergeOf {
    static constexpr float neutral = reduction == Reduction::sum ? 0.0F : -INFINITY;
    __device__ __forceinline__ float operator()(float left, float right) const {
        return reduction == Reduction::sum ? left + right : fmaxf(left, right);
    }
};

template <typename T, int width, RowMethod method, Reduction reduction>
__global__ void row_kernel(const T* __restrict__ source, float* __restrict__ destination,
                           std::int64_t rows, int columns) {
    using Merge = MergeOf<reduction>;
    __shared__ float scratch[32];
    const RowShare share = my_share<method>();
    if (share.row >= rows) return;
    const T* row = source + share.row * columns;
    const std::int64_t step = static_cast<std::int64_t>(share.threads) * width;
    float result[unroll];
#pragma unroll
    for (int i = 0; i < unroll; ++i) result[i] = Merge::neutral;
    std::int64_t column = static_cast<std::int64_t>(share.thread) * width;
    for (; column + (unroll - 1) * step < columns; column += unroll * step) {
        float x[unroll][width];
#pragma unroll
        for (int i = 0; i < unroll; ++i) load_elements<T, width>(row + column + i * step, x[i]);
#pragma unroll
        for (int i = 0; i < unroll; ++i) {
#pragma unroll
            for (int k = 0; k < width; ++k) result[i] = Merge{}(result[i], x[i][k]);
        }
    }
    for (; column < columns; column += step) {
        float x[width];
        load_elements<T, width>(row + column, x);
#pragma unroll
        for (int k = 0; k < width; ++k) result[0] = Merge{}(result[0], x[k]);
    }
    float mine = result[0];
#pragma unroll
    for (int i = 1; i < unroll; ++i) mine = Merge{}(mine, result[i]);
    mine = reduce_row<method>(mine, Merge{}, Merge::neutral, scratch);
    if (share.thread == 0) destination[share.row] = mine;
}

template <typename T, int width, Reduction reduction>
auto kernel_of(bool warp) {
    return warp ? row_kernel<T, width, RowMethod::warp, reduction>
                : row_kernel<T, width, RowMethod::block, reduction>;
}

template <typename T, int width>
auto kernel_of(bool warp, Reduction reduction) {
    return reduction == Reduction::sum ? kernel_of<T, width, Reduction::sum>(warp)
                                       : kernel_of<T, width, Reduction::maximum>(warp);
}

}  // namespace

Launch launch_of(const RowReduction& reduction) {
    check_rows("row reduction", reduction.rows, reduction.columns);
    const int bytes = bytes_per_element(reduction.type);
    const RowPlan plan = bundled::row_sum_plan(reduction.columns, bytes);
    const LaunchShape shape =
        shape_of(bundled::row_grid(reduction.rows, plan, bundled::sum_reduced));
    return with_element(reduction.type, [&](auto element) -> Launch {
        using T = decltype(element);
        const bool warp = plan.method == RowMethod::warp;
        const auto kernel = bundled::in_vectors(reduction.columns, bytes)
                                ? kernel_of<T, Packed<T>::count>(warp, reduction.reduction)
                                : kernel_of<T, 1>(warp, reduction.reduction);
        return [=](cudaStream_t stream) {
            kernel<<<shape.grid, shape.block, 0, stream>>>(static_cast<const T*>(reduction.source),
                                                           reduction.destination, reduction.rows,
                                                           static_cast<int>(reduction.columns));
            check(cudaGetLastError(), "row reduction");
        };
    });
}

}  // namespace ridge::measure::cuda
