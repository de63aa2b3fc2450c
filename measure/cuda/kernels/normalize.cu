// Layer norm and RMS norm; see normalize.h.
#include "measure/cuda/kernels/normalize.h"

#include "measure/cuda/kernels/row.cuh"

namespace ridge::measure::cuda {
namespace {

template <typename T, Norm norm, int width>
__device__ __forceinline__ void scale_elements(float (&x)[width], const T* gamma, const T* beta,
                                               std::int64_t column, float mean, float factor) {
    float scale[width];
    load_elements<T, width>(gamma + column, scale);
    if constexpr (norm == Norm::layer) {
        float shift[width];
        load_elements<T, width>(beta + column, shift);
#pragma unroll
        for (int k = 0; k < width; ++k) x[k] = fmaf((x[k] - mean) * factor, scale[k], shift[k]);
    } else {
#pragma unroll
        for (int k = 0; k < width; ++k) x[k] = x[k] * factor * scale[k];
    }
}

template <typename T, Norm norm, int vectors, RowMethod method>
__global__ void __launch_bounds__(bundled::held_row_threads(method))
    held_row_kernel(const T* __restrict__ source, T* __restrict__ destination,
                    const T* __restrict__ gamma, const T* __restrict__ beta, std::int64_t rows,
                    int columns, float epsilon) {
    constexpr int count = Packed<T>::count;
    __shared__ float scratch[2][32];
    const RowShare share = my_share<method>();
    if (share.row >= rows) return;
    const int row_vectors = columns / count;
    PackedRow<T, vectors> held;
    held.load(source + share.row * columns, row_vectors, share);
    float mean = 0;
    if constexpr (norm == Norm::layer) {
        float sum = 0;
        held.visit([&](int, const float(&x)[count]) {
#pragma unroll
            for (int k = 0; k < count; ++k) sum += x[k];
        });
        mean = reduce_row<method>(sum, Add{}, 0.0F, scratch[0]) / static_cast<float>(columns);
    }
    float squares = 0;
    held.visit([&](int i, const float(&x)[count]) {
        if (share.thread + i * share.threads >= row_vectors) return;
#pragma unroll
        for (int k = 0; k < count; ++k) {
            const float difference = x[k] - mean;
            squares = fmaf(difference, difference, squares);
        }
    });
    squares = reduce_row<method>(squares, Add{}, 0.0F, scratch[1]);
    const float factor = rsqrtf(squares / static_cast<float>(columns) + epsilon);
    T* const out = destination + share.row * columns;
    held.visit([&](int i, float(&x)[count]) {
        const std::int64_t index = share.thread + i * share.threads;
        if (index >= row_vectors) return;
        scale_elements<T, norm>(x, gamma, beta, index * count, mean, factor);
        store16<row_store_hint>(reinterpret_cast<uint4*>(out) + index, pack<T>(x));
    });
}

struct Sums {
    float first;
    float second;
};

static_assert(sizeof(Sums) == bundled::norm_reduced);

struct AddSums {
    __device__ __forceinline__ Sums operator()(Sums left, Sums right) const {
        return {left.first + right.first, left.second + right.second};
    }
};

template <typename T, Norm norm, int width>
__global__ void __launch_bounds__(bundled::most_row_threads)
    two_pass_kernel(const T* __restrict__ source, T* __restrict__ destination,
                    const T* __restrict__ gamma, const T* __restrict__ beta, int columns,
                    float epsilon) {
    __shared__ Sums scratch[32];
    const T* in = source + static_cast<std::int64_t>(blockIdx.x) * columns;
    T* out = destination + static_cast<std::int64_t>(blockIdx.x) * columns;
    const float pivot = norm == Norm::layer ? to_float(in[0]) : 0.0F;
    Sums mine{0, 0};
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x) * width; i < columns;
         i += static_cast<int>(blockDim.x) * width) {
        float x[width];
        load_elements<T, width>(in + i, x);
#pragma unroll
        for (int k = 0; k < width; ++k) {
            const float difference = x[k] - pivot;
            mine.first += difference;
            mine.second = fmaf(difference, difference, mine.second);
        }
    }
    const Sums row = reduce_block(mine, AddSums{}, Sums{0, 0}, scratch);
    const float count = static_cast<float>(columns);
    const float offset = norm == Norm::layer ? row.first / count : 0.0F;
    const float factor = rsqrtf(fmaxf(row.second / count - offset * offset, 0.0F) + epsilon);
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x) * width; i < columns;
         i += static_cast<int>(blockDim.x) * width) {
        float x[width];
        load_elements<T, width>(in + i, x);
        scale_elements<T, norm>(x, gamma, beta, i, pivot + offset, factor);
        store_elements<T, width>(out + i, x);
    }
}

template <typename T, Norm norm>
Launch with_norm(const Normalize& normalize) {
    const RowPlan plan = bundled::row_plan(normalize.columns, bytes_per_element(normalize.type));
    const LaunchShape shape =
        shape_of(bundled::row_grid(normalize.rows, plan, bundled::norm_reduced));
    const auto held = [&](auto kernel) -> Launch {
        return [=](cudaStream_t stream) {
            kernel<<<shape.grid, shape.block, 0, stream>>>(
                static_cast<const T*>(normalize.source), static_cast<T*>(normalize.destination),
                static_cast<const T*>(normalize.gamma), static_cast<const T*>(normalize.beta),
                normalize.rows, static_cast<int>(normalize.columns), normalize.epsilon);
            check(cudaGetLastError(), "normalize");
        };
    };
    const auto two_pass = [&](auto kernel) -> Launch {
        return [=](cudaStream_t stream) {
            kernel<<<shape.grid, shape.block, 0, stream>>>(
                static_cast<const T*>(normalize.source), static_cast<T*>(normalize.destination),
                static_cast<const T*>(normalize.gamma), static_cast<const T*>(normalize.beta),
                static_cast<int>(normalize.columns), normalize.epsilon);
            check(cudaGetLastError(), "normalize");
        };
    };
    switch (plan.method) {
        case RowMethod::warp:
            return with_vectors<T>(plan.vectors, [&](auto v) {
                return held(held_row_kernel<T, norm, v(), RowMethod::warp>);
            });
        case RowMethod::block:
            return with_vectors<T>(plan.vectors, [&](auto v) {
                return held(held_row_kernel<T, norm, v(), RowMethod::block>);
            });
        case RowMethod::two_pass:
            return two_pass(two_pass_kernel<T, norm, Packed<T>::count>);
        case RowMethod::element_pass:
            return two_pass(two_pass_kernel<T, norm, 1>);
    }
    throw std::invalid_argument("normalize: unknown row method");
}

}  // namespace

Launch launch_of(const Normalize& normalize) {
    check_rows("normalize", normalize.rows, normalize.columns);
    return with_element(normalize.type, [&](auto element) -> Launch {
        using T = decltype(element);
        return normalize.norm == Norm::layer ? with_norm<T, Norm::layer>(normalize)
                                             : with_norm<T, Norm::rms>(normalize);
    });
}

}  // namespace ridge::measure::cuda
