// DRAM ceilings of the bulk copy engine; see bulk_stream.h. PTX forms: PTX ISA, cp.async.bulk and
// mbarrier.
#include <algorithm>
#include <stdexcept>

#include "measure/cuda/kernels/bulk_copy.cuh"
#include "measure/cuda/kernels/bulk_stream.h"
#include "measure/cuda/kernels/reduce.cuh"
#include "measure/cuda/kernels/vector.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int read_threads = 128;
constexpr int copy_threads = 32;
constexpr int barrier_bytes = 128;  // in front of the ring: up to 16 mbarriers

struct Ring {
    std::uint64_t* arrived;
    unsigned char* data;
    int stages;
    int stage_bytes;
};

[[maybe_unused]] __device__ __forceinline__ Ring make_ring(unsigned char* shared, int stages,
                                                           int stage_bytes) {
    const Ring ring{reinterpret_cast<std::uint64_t*>(shared), shared + barrier_bytes, stages,
                    stage_bytes};
    if (threadIdx.x == 0) {
        for (int i = 0; i < stages; ++i) barrier_init(ring.arrived + i, 1);
        fence_barrier_init();
    }
    __syncthreads();
    return ring;
}

struct Chunks {
    std::int64_t bulk_bytes;  // whole 16-byte vectors
    std::int64_t count;
    int chunk_bytes;

    __device__ std::uint32_t size(std::int64_t chunk) const {
        return static_cast<std::uint32_t>(
            min(static_cast<std::int64_t>(chunk_bytes), bulk_bytes - chunk * chunk_bytes));
    }
};

[[maybe_unused]] __device__ __forceinline__ Chunks make_chunks(std::int64_t bytes,
                                                               int chunk_bytes) {
    const std::int64_t bulk_bytes = bytes / 16 * 16;
    return {bulk_bytes, (bulk_bytes + chunk_bytes - 1) / chunk_bytes, chunk_bytes};
}

[[maybe_unused]] __device__ __forceinline__ void request(const Ring& ring, const Chunks& chunks,
                                                         int stage, const unsigned char* source,
                                                         std::int64_t chunk) {
    const std::uint32_t size = chunks.size(chunk);
    barrier_expect(ring.arrived + stage, size);
    bulk_load(ring.data + stage * ring.stage_bytes, source + chunk * chunks.chunk_bytes, size,
              ring.arrived + stage);
}

__global__ void bulk_read_kernel(const unsigned char* source, std::uint32_t* partial_sums,
                                 std::int64_t bytes, int stages, int stage_bytes) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char shared[];
    const Ring ring = make_ring(shared, stages, stage_bytes);
    const Chunks chunks = make_chunks(bytes, stage_bytes);
    if (threadIdx.x == 0) {
        for (int i = 0; i < stages; ++i) {
            const std::int64_t chunk = blockIdx.x + static_cast<std::int64_t>(i) * gridDim.x;
            if (chunk < chunks.count) request(ring, chunks, i, source, chunk);
        }
    }
    std::uint32_t sum = 0;
    int stage = 0;
    std::uint32_t phase = 0;
    for (std::int64_t chunk = blockIdx.x; chunk < chunks.count; chunk += gridDim.x) {
        barrier_wait(ring.arrived + stage, phase);
        const auto* vectors = reinterpret_cast<const uint4*>(ring.data + stage * stage_bytes);
        const std::uint32_t count = chunks.size(chunk) / 16;
        for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
            sum += sum_of_words(vectors[i]);
        __syncthreads();
        const std::int64_t next = chunk + static_cast<std::int64_t>(stages) * gridDim.x;
        if (threadIdx.x == 0 && next < chunks.count) request(ring, chunks, stage, source, next);
        if (++stage == stages) {
            stage = 0;
            phase ^= 1;
        }
    }
    const std::int64_t word = chunks.bulk_bytes / 4 + threadIdx.x;
    if (blockIdx.x == 0 && word < bytes / 4)
        sum += reinterpret_cast<const std::uint32_t*>(source)[word];
    __shared__ std::uint32_t scratch[32];
    sum = reduce_block(sum, Add{}, 0U, scratch);
    if (threadIdx.x == 0) partial_sums[blockIdx.x] = sum;
#endif
}

[[maybe_unused]] __device__ __forceinline__ void copy_tail(const unsigned char* source,
                                                           unsigned char* destination,
                                                           std::int64_t bytes) {
    const std::int64_t word = bytes / 16 * 4 + threadIdx.x;
    if (blockIdx.x == 0 && word < bytes / 4) {
        reinterpret_cast<std::uint32_t*>(destination)[word] =
            reinterpret_cast<const std::uint32_t*>(source)[word];
    }
}

// Half of the ring is for loads in flight, half for stores in flight: the slot refilled at step i
// is the one whose store began stages / 2 steps earlier.
__global__ void bulk_copy_kernel(const unsigned char* source, unsigned char* destination,
                                 std::int64_t bytes, int stages, int stage_bytes) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char shared[];
    const Ring ring = make_ring(shared, stages, stage_bytes);
    const Chunks chunks = make_chunks(bytes, stage_bytes);
    copy_tail(source, destination, bytes);
    if (threadIdx.x != 0) return;
    const int ahead = stages - stages / 2;
    for (int i = 0; i < ahead; ++i) {
        const std::int64_t chunk = blockIdx.x + static_cast<std::int64_t>(i) * gridDim.x;
        if (chunk < chunks.count) request(ring, chunks, i, source, chunk);
    }
    int stage = 0;
    std::uint32_t phase = 0;
    for (std::int64_t chunk = blockIdx.x; chunk < chunks.count; chunk += gridDim.x) {
        barrier_wait(ring.arrived + stage, phase);
        bulk_store(destination + chunk * stage_bytes, ring.data + stage * stage_bytes,
                   chunks.size(chunk));
        bulk_store_commit();
        const std::int64_t next = chunk + static_cast<std::int64_t>(ahead) * gridDim.x;
        if (next < chunks.count) {
            bulk_store_wait_read(stages / 2);
            request(ring, chunks, (stage + ahead) % stages, source, next);
        }
        if (++stage == stages) {
            stage = 0;
            phase ^= 1;
        }
    }
    bulk_store_wait();
#endif
}

void check(std::int64_t bytes, const BulkPlan& plan) {
    if (bytes <= 0 || bytes % 4 != 0)
        throw std::invalid_argument("bulk stream: bytes must be a positive multiple of 4");
    if (plan.stages < 2 || plan.stages > 16)
        throw std::invalid_argument("bulk stream: stages must be 2 to 16");
    if (plan.stage_bytes <= 0 || plan.stage_bytes % 128 != 0 || plan.stage_bytes >= 1 << 20) {
        throw std::invalid_argument(
            "bulk stream: stage_bytes must be a multiple of 128 below 1 MiB");
    }
    require_bulk_copy_engine("bulk stream");
}

bundled::LaunchGrid geometry(std::int64_t bytes, const BulkPlan& plan, int threads) {
    const std::int64_t chunks = std::max<std::int64_t>(1, ceil_div(bytes, plan.stage_bytes));
    return {
        .x = std::min(chunks, std::int64_t{plan.multiprocessors} * plan.blocks_per_multiprocessor),
        .threads = threads,
        .shared_bytes = barrier_bytes + plan.stages * plan.stage_bytes};
}

}  // namespace

bundled::LaunchGrid geometry_of(const BulkRead& read) {
    return geometry(read.bytes, read.plan, read_threads);
}
bundled::LaunchGrid geometry_of(const BulkCopy& copy) {
    return geometry(copy.bytes, copy.plan, copy_threads);
}

Launch launch_of(const BulkRead& read) {
    check(read.bytes, read.plan);
    const bundled::LaunchGrid shape = geometry_of(read);
    allow_shared_bytes("bulk read", bulk_read_kernel, shape.shared_bytes);
    return [=](cudaStream_t stream) {
        bulk_read_kernel<<<static_cast<unsigned>(shape.blocks()), shape.threads, shape.shared_bytes,
                           stream>>>(static_cast<const unsigned char*>(read.source),
                                     read.partial_sums, read.bytes, read.plan.stages,
                                     read.plan.stage_bytes);
        check(cudaGetLastError(), "bulk read");
    };
}

Launch launch_of(const BulkCopy& copy) {
    check(copy.bytes, copy.plan);
    const bundled::LaunchGrid shape = geometry_of(copy);
    allow_shared_bytes("bulk copy", bulk_copy_kernel, shape.shared_bytes);
    return [=](cudaStream_t stream) {
        bulk_copy_kernel<<<static_cast<unsigned>(shape.blocks()), shape.threads, shape.shared_bytes,
                           stream>>>(static_cast<const unsigned char*>(copy.source),
                                     static_cast<unsigned char*>(copy.destination), copy.bytes,
                                     copy.plan.stages, copy.plan.stage_bytes);
        check(cudaGetLastError(), "bulk copy");
    };
}

}  // namespace ridge::measure::cuda
