// Softmax as five kernels; see softmax.h.
#include <array>
#include <cfloat>

#include "measure/cuda/kernels/exponential.cuh"
#include "measure/cuda/kernels/row.cuh"
#include "measure/cuda/kernels/row_sum.h"
#include "measure/cuda/kernels/softmax.h"

namespace ridge::measure::cuda {
namespace {

enum class Step { subtract, exponential, divide };

constexpr int threads = bundled::softmax_step_threads;
constexpr int unroll = bundled::softmax_step_unroll;

// One block does threads x unroll accesses in one row.
template <typename T, int width, Step step>
__global__ void element_kernel(const T* __restrict__ source, const float* __restrict__ row_value,
                               T* __restrict__ destination, int columns, int blocks_per_row) {
    const std::int64_t row = blockIdx.x / blocks_per_row;
    const int first = static_cast<int>(blockIdx.x % blocks_per_row) * threads * unroll +
                      static_cast<int>(threadIdx.x);
    const T* in = source + row * columns;
    T* out = destination + row * columns;
    const float operand = step == Step::exponential ? 0.0F : row_value[row];
    float x[unroll][width];
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
        const std::int64_t column = (first + i * static_cast<std::int64_t>(threads)) * width;
        if (column < columns) load_elements<T, width>(in + column, x[i]);
    }
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
        const std::int64_t column = (first + i * static_cast<std::int64_t>(threads)) * width;
        if (column >= columns) continue;
#pragma unroll
        for (int k = 0; k < width; ++k) {
            if constexpr (step == Step::subtract) x[i][k] -= operand;
            if constexpr (step == Step::exponential)
                x[i][k] = exp2_approximate(x[i][k] * log2_of_e);
            if constexpr (step == Step::divide) x[i][k] = __fdividef(x[i][k], operand);
        }
        store_elements<T, width>(out + column, x[i]);
    }
}

std::int64_t blocks_per_row(const UnfusedSoftmax& softmax) {
    return bundled::softmax_step_blocks_per_row(softmax.columns, bytes_per_element(softmax.type));
}

template <Step step>
Launch element_step(const UnfusedSoftmax& softmax, const void* source, const float* row_value,
                    void* destination) {
    return with_element(softmax.type, [&](auto element) -> Launch {
        using T = decltype(element);
        const std::int64_t width = bundled::softmax_step_width(softmax.columns, sizeof(T));
        const auto kernel =
            width == 1 ? element_kernel<T, 1, step> : element_kernel<T, Packed<T>::count, step>;
        const int per_row = static_cast<int>(blocks_per_row(softmax));
        const LaunchShape shape =
            shape_of(bundled::softmax_step_grid(softmax.rows, softmax.columns, sizeof(T)));
        return [=, columns = static_cast<int>(softmax.columns)](cudaStream_t stream) {
            kernel<<<shape.grid, shape.block, 0, stream>>>(static_cast<const T*>(source), row_value,
                                                           static_cast<T*>(destination), columns,
                                                           per_row);
            check(cudaGetLastError(), "softmax step");
        };
    });
}

RowReduction maximum_of(const UnfusedSoftmax& softmax) {
    return {.source = softmax.source,
            .destination = softmax.row_maximum,
            .rows = softmax.rows,
            .columns = softmax.columns,
            .type = softmax.type,
            .reduction = Reduction::maximum};
}

RowReduction sum_of(const UnfusedSoftmax& softmax) {
    return {.source = softmax.exponentials,
            .destination = softmax.row_sum,
            .rows = softmax.rows,
            .columns = softmax.columns,
            .type = softmax.type,
            .reduction = Reduction::sum};
}

// Maximum, subtract, exp, sum, divide.
std::array<Launch, 5> steps_of(const UnfusedSoftmax& softmax) {
    check_rows("unfused softmax", softmax.rows, softmax.columns);
    if (softmax.rows * blocks_per_row(softmax) > 2147483647)
        throw std::invalid_argument("unfused softmax: matrix too large");
    return {
        launch_of(maximum_of(softmax)),
        element_step<Step::subtract>(softmax, softmax.source, softmax.row_maximum, softmax.shifted),
        element_step<Step::exponential>(softmax, softmax.shifted, nullptr, softmax.exponentials),
        launch_of(sum_of(softmax)),
        element_step<Step::divide>(softmax, softmax.exponentials, softmax.row_sum,
                                   softmax.destination)};
}

}  // namespace

Launch launch_of(const UnfusedSoftmax& softmax) {
    return [steps = steps_of(softmax)](cudaStream_t stream) {
        for (const Launch& step : steps) step(stream);
    };
}

}  // namespace ridge::measure::cuda
