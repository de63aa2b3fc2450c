// Fused softmax; see softmax.h.
#include "measure/cuda/kernels/softmax.h"

#include <cfloat>

#include "measure/cuda/kernels/exponential.cuh"
#include "measure/cuda/kernels/row.cuh"

namespace ridge::measure::cuda {
namespace {

// Maximum of x log2(e) and the sum of 2^(x log2(e) - maximum) over part of a row. The neutral
// maximum is finite, so that no difference of two maxima is NaN.
struct Partial {
    float maximum;
    float sum;
};
static_assert(sizeof(Partial) == bundled::softmax_reduced);

__device__ __forceinline__ Partial nothing() {
    return {-FLT_MAX, 0.0F};
}

struct MergePartials {
    __device__ __forceinline__ Partial operator()(Partial left, Partial right) const {
        const float maximum = fmaxf(left.maximum, right.maximum);
        return {maximum, left.sum * exp2_approximate(left.maximum - maximum) +
                             right.sum * exp2_approximate(right.maximum - maximum)};
    }
};

template <typename T, int vectors, RowMethod method>
__global__ void __launch_bounds__(bundled::held_row_threads(method))
    held_row_kernel(const T* __restrict__ source, T* __restrict__ destination, std::int64_t rows,
                    int columns) {
    constexpr int count = Packed<T>::count;
    __shared__ Partial scratch[32];
    const RowShare share = my_share<method>();
    if (share.row >= rows) return;
    const int row_vectors = columns / count;
    HeldRow<T, vectors> held;
    held.load(source + share.row * columns, row_vectors, share, -INFINITY);
    Partial mine = nothing();
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
#pragma unroll
        for (int k = 0; k < count; ++k)
            mine.maximum = fmaxf(mine.maximum, held.value[i][k] * log2_of_e);
    }
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
#pragma unroll
        for (int k = 0; k < count; ++k) {
            held.value[i][k] = exp2_approximate(fmaf(held.value[i][k], log2_of_e, -mine.maximum));
            mine.sum += held.value[i][k];
        }
    }
    const Partial row = reduce_row<method>(mine, MergePartials{}, nothing(), scratch);
    const float scale = exp2_approximate(mine.maximum - row.maximum) / row.sum;
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
#pragma unroll
        for (int k = 0; k < count; ++k) held.value[i][k] *= scale;
    }
    held.store(destination + share.row * columns, row_vectors, share);
}

template <typename T, int width>
__global__ void __launch_bounds__(bundled::most_row_threads)
    two_pass_kernel(const T* __restrict__ source, T* __restrict__ destination, int columns) {
    __shared__ Partial scratch[32];
    const T* row_source = source + static_cast<std::int64_t>(blockIdx.x) * columns;
    T* row_destination = destination + static_cast<std::int64_t>(blockIdx.x) * columns;
    Partial mine = nothing();
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x) * width; i < columns;
         i += static_cast<int>(blockDim.x) * width) {
        float x[width];
        load_elements<T, width>(row_source + i, x);
        Partial next = mine;
#pragma unroll
        for (int k = 0; k < width; ++k) next.maximum = fmaxf(next.maximum, x[k] * log2_of_e);
        next.sum *= exp2_approximate(mine.maximum - next.maximum);
#pragma unroll
        for (int k = 0; k < width; ++k)
            next.sum += exp2_approximate(fmaf(x[k], log2_of_e, -next.maximum));
        mine = next;
    }
    const Partial row = reduce_block(mine, MergePartials{}, nothing(), scratch);
    const float scale = 1.0F / row.sum;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x) * width; i < columns;
         i += static_cast<int>(blockDim.x) * width) {
        float x[width];
        load_elements<T, width>(row_source + i, x);
#pragma unroll
        for (int k = 0; k < width; ++k)
            x[k] = exp2_approximate(fmaf(x[k], log2_of_e, -row.maximum)) * scale;
        store_elements<T, width>(row_destination + i, x);
    }
}

}  // namespace

Launch launch_of(const Softmax& softmax) {
    check_rows("softmax", softmax.rows, softmax.columns);
    const RowPlan plan = bundled::row_plan(softmax.columns, bytes_per_element(softmax.type));
    const LaunchShape shape =
        shape_of(bundled::row_grid(softmax.rows, plan, bundled::softmax_reduced));
    const int columns = static_cast<int>(softmax.columns);
    return with_element(softmax.type, [&](auto element) -> Launch {
        using T = decltype(element);
        const auto* source = static_cast<const T*>(softmax.source);
        auto* destination = static_cast<T*>(softmax.destination);
        const auto held = [&](auto kernel) -> Launch {
            return [=, rows = softmax.rows](cudaStream_t stream) {
                kernel<<<shape.grid, shape.block, 0, stream>>>(source, destination, rows, columns);
                check(cudaGetLastError(), "softmax");
            };
        };
        const auto two_pass = [&](auto kernel) -> Launch {
            return [=](cudaStream_t stream) {
                kernel<<<shape.grid, shape.block, 0, stream>>>(source, destination, columns);
                check(cudaGetLastError(), "softmax");
            };
        };
        switch (plan.method) {
            case RowMethod::warp:
                return with_vectors<T>(plan.vectors, [&](auto v) {
                    return held(held_row_kernel<T, v(), RowMethod::warp>);
                });
            case RowMethod::block:
                return with_vectors<T>(plan.vectors, [&](auto v) {
                    return held(held_row_kernel<T, v(), RowMethod::block>);
                });
            case RowMethod::two_pass:
                return two_pass(two_pass_kernel<T, Packed<T>::count>);
            case RowMethod::element_pass:
                return two_pass(two_pass_kernel<T, 1>);
        }
        throw std::invalid_argument("softmax: unknown row method");
    });
}

}  // namespace ridge::measure::cuda
