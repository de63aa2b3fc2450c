// Flushes the L2 cache; see l2_flush.h.
#include "measure/cuda/kernels/l2_flush.h"

#include <algorithm>

#include "measure/cuda/kernels/stream.h"

namespace ridge::measure::cuda {
namespace {

constexpr int blocks_per_multiprocessor = 8;

}  // namespace

L2Flush::L2Flush() {
    const DeviceLimits limits = device_limits();
    multiprocessors_ = limits.multiprocessors;
    bytes_ = std::max<std::int64_t>(256LL << 20, ceil_div(4 * limits.l2_bytes, 32) * 32);
    check(cudaMalloc(&buffer_, static_cast<std::size_t>(bytes_)), "cudaMalloc (L2 flush buffer)");
    const auto sums = static_cast<std::size_t>(multiprocessors_) * blocks_per_multiprocessor *
                      sizeof(std::uint32_t);
    const cudaError_t status = cudaMalloc(&partial_sums_, sums);
    if (status != cudaSuccess) cudaFree(buffer_);
    check(status, "cudaMalloc (L2 flush sums)");
}

L2Flush::~L2Flush() {
    cudaFree(partial_sums_);
    cudaFree(buffer_);
}

void L2Flush::operator()(cudaStream_t stream) {
    const StreamPlan plan{.multiprocessors = multiprocessors_,
                          .blocks_per_multiprocessor = blocks_per_multiprocessor};
    const std::int64_t half = bytes_ / 2;
    launch_of(StreamWrite{.destination = buffer_, .bytes = half, .word = ++flushes_, .plan = plan})(
        stream);
    launch_of(StreamRead{.source = static_cast<const char*>(buffer_) + half,
                         .partial_sums = partial_sums_,
                         .bytes = half,
                         .plan = plan})(stream);
}

}  // namespace ridge::measure::cuda
