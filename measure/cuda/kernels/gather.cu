// Embedding gather; see gather.h.
#include "measure/cuda/kernels/gather.h"

#include <stdexcept>

#include "model/bundled/streams.h"

namespace ridge::measure::cuda {
namespace {

constexpr int unroll = bundled::gather_unroll;

template <typename Access>
__global__ void gather_kernel(const Access* __restrict__ table,
                              const std::int64_t* __restrict__ indices,
                              Access* __restrict__ destination, std::int64_t rows,
                              std::int64_t accesses) {
    const std::int64_t row =
        blockIdx.x * static_cast<std::int64_t>(bundled::gather_rows_per_block) + threadIdx.x / 32;
    if (row >= rows) return;
    const Access* source = table + indices[row] * accesses;
    Access* target = destination + row * accesses;
    std::int64_t i = threadIdx.x % 32;
    for (; i + 32 * (unroll - 1) < accesses; i += 32 * unroll) {
        Access held[unroll];
#pragma unroll
        for (int j = 0; j < unroll; ++j) held[j] = __ldcg(source + i + 32 * j);
#pragma unroll
        for (int j = 0; j < unroll; ++j) target[i + 32 * j] = held[j];
    }
    for (; i < accesses; i += 32) target[i] = source[i];
}

}  // namespace

Launch launch_of(const EmbeddingGather& gather) {
    if (gather.rows <= 0 || gather.row_bytes <= 0 || gather.row_bytes % 2 != 0) {
        throw std::invalid_argument(
            "embedding gather: rows and row_bytes must be positive, row_bytes even");
    }
    const LaunchShape shape = shape_of(bundled::gather_grid(gather.rows));
    const auto with_access = [&](auto access) -> Launch {
        using Access = decltype(access);
        return [=](cudaStream_t stream) {
            gather_kernel<Access><<<shape.grid, shape.block, 0, stream>>>(
                static_cast<const Access*>(gather.table), gather.indices,
                static_cast<Access*>(gather.destination), gather.rows,
                gather.row_bytes / static_cast<std::int64_t>(sizeof(Access)));
            check(cudaGetLastError(), "embedding gather");
        };
    };
    switch (bundled::gather_access(gather.row_bytes)) {
        case 16:
            return with_access(uint4{});
        case 4:
            return with_access(std::uint32_t{});
        default:
            return with_access(std::uint16_t{});
    }
}

}  // namespace ridge::measure::cuda
