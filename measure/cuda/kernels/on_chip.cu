// Bandwidth ceilings above DRAM; see on_chip.h.
#include <stdexcept>

#include "measure/cuda/kernels/bulk_copy.cuh"
#include "measure/cuda/kernels/clock_span.cuh"
#include "measure/cuda/kernels/on_chip.h"
#include "measure/cuda/kernels/reduce.cuh"
#include "measure/cuda/kernels/vector.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int unroll = 8;

__device__ __forceinline__ uint4 load_l2(const uint4* address) {
    uint4 value;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(address));
    return value;
}

__device__ __forceinline__ uint4 load_l1(const uint4* address) {
    uint4 value;
    asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(address));
    return value;
}

__device__ __forceinline__ uint4 load_shared(std::uint32_t address) {
    uint4 value;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "r"(address));
    return value;
}

__device__ __forceinline__ void finish(std::uint32_t sum, std::uint32_t* partial_sums,
                                       ClockSpan span, ClockSpan* spans) {
    close_span(span, spans);
    __shared__ std::uint32_t scratch[32];
    sum = reduce_block(sum, Add{}, 0U, scratch);
    if (threadIdx.x == 0) partial_sums[blockIdx.x] = sum;
}

__global__ void l2_read_kernel(const uint4* source, std::uint32_t* partial_sums, ClockSpan* spans,
                               int vectors, int iterations) {
    const ClockSpan span = open_span();
    const int threads = static_cast<int>(blockDim.x);
    int vector = static_cast<int>(first_l2_vector(blockIdx.x, gridDim.x, vectors)) +
                 static_cast<int>(threadIdx.x);
    if (vector >= vectors) vector -= vectors;
    std::uint32_t sum = 0;
    for (int i = 0; i < iterations; ++i) {
        uint4 held[unroll];
#pragma unroll
        for (int j = 0; j < unroll; ++j) {
            held[j] = load_l2(source + vector);
            vector += threads;
            if (vector >= vectors) vector -= vectors;
        }
#pragma unroll
        for (int j = 0; j < unroll; ++j) sum += sum_of_words(held[j]);
    }
    finish(sum, partial_sums, span, spans);
}

__global__ void l1_read_kernel(const uint4* source, std::uint32_t* partial_sums, ClockSpan* spans,
                               int tiles, int iterations) {
    const int tile_vectors = static_cast<int>(blockDim.x) * unroll;
    const uint4* own =
        source + static_cast<std::int64_t>(blockIdx.x) * tiles * tile_vectors + threadIdx.x;
    const ClockSpan span = open_span();
    std::uint32_t sum = 0;
    int tile = 0;
    for (int i = 0; i < iterations; ++i) {
        const uint4* first = own + tile * tile_vectors;
        uint4 held[unroll];
#pragma unroll
        for (int j = 0; j < unroll; ++j) held[j] = load_l1(first + j * blockDim.x);
#pragma unroll
        for (int j = 0; j < unroll; ++j) sum += sum_of_words(held[j]);
        tile = tile + 1 == tiles ? 0 : tile + 1;
    }
    finish(sum, partial_sums, span, spans);
}

__global__ void reread_kernel(const uint4* source, std::uint32_t* partial_sums, int vectors,
                              int tiles) {
    const int threads = static_cast<int>(blockDim.x);
    const int own = static_cast<int>(tiles_of_block(blockIdx.x, gridDim.x, tiles));
    int vector = static_cast<int>(first_l2_vector(blockIdx.x, gridDim.x, vectors)) +
                 static_cast<int>(threadIdx.x);
    if (vector >= vectors) vector -= vectors;
    std::uint32_t sum = 0;
    for (int i = 0; i < own; ++i) {
        uint4 held[unroll];
#pragma unroll
        for (int j = 0; j < unroll; ++j) {
            held[j] = load_l1(source + vector);
            vector += threads;
            if (vector >= vectors) vector -= vectors;
        }
#pragma unroll
        for (int j = 0; j < unroll; ++j) sum += sum_of_words(held[j]);
    }
    finish(sum, partial_sums, {}, nullptr);
}

template <int threads>
__global__ void __launch_bounds__(threads)
    shared_read_kernel(std::uint32_t* partial_sums, ClockSpan* spans, int buffer_bytes,
                       int iterations) {
    extern __shared__ __align__(16) std::uint32_t words[];
    for (int i = threadIdx.x; i < buffer_bytes / 4; i += threads) words[i] = hash_word(i);
    __syncthreads();
    const ClockSpan span = open_span();
    const std::uint32_t own = shared_address(words) + threadIdx.x * 16;
    const std::uint32_t mask = static_cast<std::uint32_t>(buffer_bytes) - 1;
    constexpr std::uint32_t tile = threads * unroll * 16;
    std::uint32_t offset = 0;
    std::uint32_t sum = 0;
#pragma unroll 2
    for (int i = 0; i < iterations; ++i) {
        uint4 held[unroll];
#pragma unroll
        for (int j = 0; j < unroll; ++j) held[j] = load_shared(own + offset + j * threads * 16);
#pragma unroll
        for (int j = 0; j < unroll; ++j) sum += sum_of_words(held[j]);
        offset = (offset + tile) & mask;
    }
    finish(sum, partial_sums, span, spans);
}

void check(std::int64_t bytes, const OnChipPlan& plan) {
    if (plan.threads < 32 || plan.threads > 1024 || plan.threads % 32 != 0 ||
        plan.iterations <= 0) {
        throw std::invalid_argument(
            "on-chip read: threads must be a multiple of 32 up to 1024, iterations positive");
    }
    if (bytes <= 0 || bytes % tile_bytes(plan) != 0) {
        throw std::invalid_argument(
            "on-chip read: the buffer must be whole tiles of threads x 128 bytes");
    }
}

bundled::LaunchGrid geometry(const OnChipPlan& plan, int shared_bytes) {
    return {.x = std::int64_t{plan.multiprocessors} * plan.blocks_per_multiprocessor,
            .threads = plan.threads,
            .shared_bytes = shared_bytes};
}

std::int64_t bytes_moved(const OnChipPlan& plan) {
    return geometry(plan, 0).blocks() * plan.iterations * tile_bytes(plan);
}

}  // namespace

bundled::LaunchGrid geometry_of(const L2Read& read) {
    return geometry(read.plan, 0);
}
bundled::LaunchGrid geometry_of(const L1Read& read) {
    return geometry(read.plan, 0);
}
bundled::LaunchGrid geometry_of(const SharedRead& read) {
    return geometry(read.plan, read.buffer_bytes);
}

KernelWork work_of(const L2Read& read) {
    return {.l2_bytes_read = bytes_moved(read.plan)};
}
KernelWork work_of(const L1Read& read) {
    return {.l1_bytes_read = bytes_moved(read.plan)};
}
KernelWork work_of(const SharedRead& read) {
    return {.shared_bytes_read = bytes_moved(read.plan)};
}

Launch launch_of(const L2Read& read) {
    check(read.bytes, read.plan);
    const bundled::LaunchGrid shape = geometry_of(read);
    const int vectors = static_cast<int>(read.bytes / 16);
    return [=](cudaStream_t stream) {
        l2_read_kernel<<<static_cast<unsigned>(shape.blocks()), shape.threads, 0, stream>>>(
            static_cast<const uint4*>(read.source), read.partial_sums, read.spans, vectors,
            read.plan.iterations);
        check(cudaGetLastError(), "L2 read");
    };
}

Launch launch_of(const L1Read& read) {
    check(read.bytes_per_block, read.plan);
    const bundled::LaunchGrid shape = geometry_of(read);
    const int tiles = static_cast<int>(read.bytes_per_block / tile_bytes(read.plan));
    return [=](cudaStream_t stream) {
        l1_read_kernel<<<static_cast<unsigned>(shape.blocks()), shape.threads, 0, stream>>>(
            static_cast<const uint4*>(read.source), read.partial_sums, read.spans, tiles,
            read.plan.iterations);
        check(cudaGetLastError(), "L1 read");
    };
}

Launch launch_of(const Reread& read) {
    const bundled::LaunchGrid shape = bundled::reread_grid(read.multiprocessors);
    constexpr std::int64_t most = (std::int64_t{1} << 35) - 16;  // vectors are counted in int
    if (read.bytes < shape.threads * 16 || read.bytes % 16 != 0 || read.bytes > most) {
        throw std::invalid_argument("reread: the buffer must be 8 KiB to 32 GiB, a multiple of 16");
    }
    const int vectors = static_cast<int>(read.bytes / 16);
    const int tiles = static_cast<int>(read.total_bytes / bundled::reread_tile);
    return [=](cudaStream_t stream) {
        reread_kernel<<<static_cast<unsigned>(shape.blocks()), shape.threads, 0, stream>>>(
            static_cast<const uint4*>(read.source), read.partial_sums, vectors, tiles);
        check(cudaGetLastError(), "reread");
    };
}

Launch launch_of(const SharedRead& read) {
    check(read.buffer_bytes, read.plan);
    if ((read.buffer_bytes & (read.buffer_bytes - 1)) != 0) {
        throw std::invalid_argument("shared read: buffer_bytes must be a power of two");
    }
    const bundled::LaunchGrid shape = geometry_of(read);
    const auto with_threads = [&](auto kernel) -> Launch {
        allow_shared_bytes("shared read", kernel, shape.shared_bytes);
        return [=](cudaStream_t stream) {
            kernel<<<static_cast<unsigned>(shape.blocks()), shape.threads, shape.shared_bytes,
                     stream>>>(read.partial_sums, read.spans, read.buffer_bytes,
                               read.plan.iterations);
            check(cudaGetLastError(), "shared read");
        };
    };
    switch (read.plan.threads) {
        case 256:
            return with_threads(shared_read_kernel<256>);
        case 512:
            return with_threads(shared_read_kernel<512>);
        case 1024:
            return with_threads(shared_read_kernel<1024>);
        default:
            throw std::invalid_argument("shared read: threads must be 256, 512 or 1024");
    }
}

}  // namespace ridge::measure::cuda
