// Sums of rows and of whole arrays; see row_sum.h.
#include "measure/cuda/kernels/row_sum.h"

#include <algorithm>
#include <cfloat>

#include "measure/cuda/kernels/row.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int unroll = 4;
constexpr int warp_threads = 256;
constexpr int whole_threads = 512;
constexpr int whole_unroll = 8;
constexpr int whole_blocks_per_multiprocessor = 4;

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

template <typename T>
__global__ void __launch_bounds__(whole_threads)
    whole_kernel(const T* __restrict__ source, float* __restrict__ partial_sums,
                 std::int64_t elements) {
    constexpr int width = Packed<T>::count;
    const std::int64_t vectors = elements / width;
    const auto* whole = reinterpret_cast<const uint4*>(source);
    constexpr std::int64_t tile = whole_threads * whole_unroll;
    float result[whole_unroll] = {};
    for (std::int64_t start = blockIdx.x * tile; start < vectors; start += gridDim.x * tile) {
        uint4 raw[whole_unroll];
#pragma unroll
        for (int i = 0; i < whole_unroll; ++i) {
            const std::int64_t index = start + threadIdx.x + i * whole_threads;
            raw[i] = index < vectors ? __ldcs(whole + index) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int i = 0; i < whole_unroll; ++i) {
            float x[width];
            unpack<T>(raw[i], x);
#pragma unroll
            for (int k = 0; k < width; ++k) result[i] += x[k];
        }
    }
    float mine = 0;
#pragma unroll
    for (int i = 0; i < whole_unroll; ++i) mine += result[i];
    const std::int64_t tail = vectors * width + threadIdx.x;
    if (blockIdx.x == 0 && tail < elements) mine += to_float(source[tail]);
    __shared__ float scratch[32];
    mine = reduce_block(mine, Add{}, 0.0F, scratch);
    if (threadIdx.x == 0) partial_sums[blockIdx.x] = mine;
}

__global__ void last_kernel(const float* partial_sums, float* destination, int count) {
    float mine = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) mine += partial_sums[i];
    __shared__ float scratch[32];
    mine = reduce_block(mine, Add{}, 0.0F, scratch);
    if (threadIdx.x == 0) *destination = mine;
}

bool is_warp_row(const RowReduction& reduction) {
    return reduction.columns * bytes_per_element(reduction.type) <= 8192;
}

bool is_vector_row(const RowReduction& reduction) {
    return reduction.columns * bytes_per_element(reduction.type) % 16 == 0;
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

int block_threads(const RowReduction& reduction) {
    return reduction.columns * bytes_per_element(reduction.type) <= 65536 ? 256 : 1024;
}

}  // namespace

KernelGeometry geometry_of(const RowReduction& reduction) {
    const bool warp = is_warp_row(reduction);
    const int bytes = is_vector_row(reduction) ? 16 : bytes_per_element(reduction.type);
    return {.tile_m = warp ? warp_threads / 32 : 1,
            .threads = warp ? warp_threads : block_threads(reduction),
            .blocks = warp ? ceil_div(reduction.rows, warp_threads / 32) : reduction.rows,
            .bytes_in_flight_per_thread = unroll * bytes};
}

KernelGeometry geometry_of(const WholeSum& sum) {
    const std::int64_t tiles =
        std::max<std::int64_t>(1, ceil_div(sum.elements * bytes_per_element(sum.type),
                                           std::int64_t{16} * whole_threads * whole_unroll));
    return {.threads = whole_threads,
            .blocks = std::min(tiles,
                               std::int64_t{sum.multiprocessors} * whole_blocks_per_multiprocessor),
            .bytes_in_flight_per_thread = 16 * whole_unroll};
}

KernelWork work_of(const RowReduction& reduction) {
    const std::int64_t elements = reduction.rows * reduction.columns;
    return {.dram_bytes_read = elements * bytes_per_element(reduction.type),
            .dram_bytes_written = 4 * reduction.rows,
            .flop = elements};
}

KernelWork work_of(const WholeSum& sum) {
    return {.dram_bytes_read = sum.elements * bytes_per_element(sum.type),
            .dram_bytes_written = 4,
            .flop = sum.elements};
}

Launch launch_of(const RowReduction& reduction) {
    check_rows("row reduction", reduction.rows, reduction.columns);
    const KernelGeometry shape = geometry_of(reduction);
    return with_element(reduction.type, [&](auto element) -> Launch {
        using T = decltype(element);
        const bool warp = is_warp_row(reduction);
        const auto kernel = is_vector_row(reduction)
                                ? kernel_of<T, Packed<T>::count>(warp, reduction.reduction)
                                : kernel_of<T, 1>(warp, reduction.reduction);
        return [=](cudaStream_t stream) {
            kernel<<<static_cast<unsigned>(shape.blocks), shape.threads, 0, stream>>>(
                static_cast<const T*>(reduction.source), reduction.destination, reduction.rows,
                static_cast<int>(reduction.columns));
            check(cudaGetLastError(), "row reduction");
        };
    });
}

Launch launch_of(const WholeSum& sum) {
    if (sum.elements <= 0) throw std::invalid_argument("whole sum: elements must be positive");
    const auto blocks = static_cast<unsigned>(geometry_of(sum).blocks);
    return with_element(sum.type, [&](auto element) -> Launch {
        using T = decltype(element);
        return [=](cudaStream_t stream) {
            whole_kernel<T><<<blocks, whole_threads, 0, stream>>>(static_cast<const T*>(sum.source),
                                                                  sum.partial_sums, sum.elements);
            check(cudaGetLastError(), "whole sum");
            last_kernel<<<1, 1024, 0, stream>>>(sum.partial_sums, sum.destination,
                                                static_cast<int>(blocks));
            check(cudaGetLastError(), "whole sum, last step");
        };
    });
}

}  // namespace ridge::measure::cuda
