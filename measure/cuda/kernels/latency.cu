// Latencies; see latency.h.
#include <algorithm>
#include <stdexcept>

#include "measure/cuda/kernels/clock_span.cuh"
#include "measure/cuda/kernels/latency.h"

namespace ridge::measure::cuda {
namespace {

__global__ void build_kernel(std::uint64_t* chain, std::uint32_t slots, int stride_words) {
    const std::uint32_t place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= slots) return;
    const std::uint32_t here = slot_of(place, slots);
    const std::int64_t next = static_cast<std::int64_t>(slot_of(place + 1, slots)) * stride_words;
    chain[static_cast<std::int64_t>(here) * stride_words] =
        reinterpret_cast<std::uint64_t>(chain + next);
}

template <ChaseLevel level>
__device__ __forceinline__ std::uint64_t follow(std::uint64_t address) {
    std::uint64_t next;
    if constexpr (level == ChaseLevel::l1) {
        asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(address) : "memory");
    } else {
        asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(next) : "l"(address) : "memory");
    }
    return next;
}

template <ChaseLevel level>
__global__ void chase_kernel(const std::uint64_t* chain, ClockSpan* span, std::uint64_t* last_slot,
                             std::uint32_t first_slot, int stride_words, std::int64_t warm_steps,
                             std::int64_t steps) {
    std::uint64_t address = reinterpret_cast<std::uint64_t>(
        chain + static_cast<std::int64_t>(first_slot) * stride_words);
#pragma unroll 1
    for (std::int64_t i = 0; i < warm_steps; ++i) address = follow<level>(address);
    ClockSpan seen;
    seen.first_nanosecond = nanosecond_now();
    seen.first_cycle = cycle_now();
#pragma unroll 8
    for (std::int64_t i = 0; i < steps; ++i) address = follow<level>(address);
    *last_slot = (address - reinterpret_cast<std::uint64_t>(chain)) / 8 / stride_words;
    seen.last_cycle = cycle_now();
    seen.last_nanosecond = nanosecond_now();
    *span = seen;
}

__global__ void walk_kernel(std::uint64_t* position, std::int64_t steps) {
    std::uint64_t address = *position;
#pragma unroll 8
    for (std::int64_t i = 0; i < steps; ++i) address = follow<ChaseLevel::l1>(address);
    *position = address;
}

constexpr std::uint32_t shared_slots = 1024;

__global__ void shared_chase_kernel(ClockSpan* span, std::uint32_t* last_slot, std::int64_t steps) {
    __shared__ std::uint32_t chain[shared_slots];
    const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(chain));
    for (std::uint32_t place = 0; place < shared_slots; ++place) {
        chain[scramble(place, shared_slots)] = base + 4 * scramble(place + 1, shared_slots);
    }
    std::uint32_t address = base + 4 * scramble(0, shared_slots);
    ClockSpan seen;
    seen.first_nanosecond = nanosecond_now();
    seen.first_cycle = cycle_now();
#pragma unroll 8
    for (std::int64_t i = 0; i < steps; ++i) {
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(address) : : "memory");
    }
    *last_slot = (address - base) / 4;
    seen.last_cycle = cycle_now();
    seen.last_nanosecond = nanosecond_now();
    *span = seen;
}

__global__ void empty_kernel() {}

void check(std::int64_t slots, int stride_bytes) {
    if (slots < 2 || slots > (std::int64_t{1} << 31)) {
        throw std::invalid_argument("pointer chase: slots must be from 2 to 2^31");
    }
    if (stride_bytes < 8 || stride_bytes % 8 != 0) {
        throw std::invalid_argument("pointer chase: stride_bytes must be a positive multiple of 8");
    }
}

}  // namespace

Launch launch_of(const ChaseBuild& build) {
    check(build.slots, build.stride_bytes);
    return [=](cudaStream_t stream) {
        build_kernel<<<static_cast<unsigned>(ceil_div(build.slots, 256)), 256, 0, stream>>>(
            build.chain, static_cast<std::uint32_t>(build.slots), build.stride_bytes / 8);
        check(cudaGetLastError(), "pointer chain");
    };
}

Launch launch_of(const Chase& chase) {
    check(chase.slots, chase.stride_bytes);
    const auto kernel =
        chase.level == ChaseLevel::l1 ? chase_kernel<ChaseLevel::l1> : chase_kernel<ChaseLevel::l2>;
    const std::uint32_t first = slot_of(static_cast<std::uint32_t>(chase.first_place),
                                        static_cast<std::uint32_t>(chase.slots));
    return [=](cudaStream_t stream) {
        kernel<<<1, 1, 0, stream>>>(chase.chain, chase.span, chase.last_slot, first,
                                    chase.stride_bytes / 8, chase.warm_steps, chase.steps);
        check(cudaGetLastError(), "pointer chase");
    };
}

Launch launch_of(const Walk& walk) {
    return [=](cudaStream_t stream) {
        walk_kernel<<<1, 1, 0, stream>>>(walk.position, walk.steps);
        check(cudaGetLastError(), "walk");
    };
}

Launch launch_of(const SharedChase& chase) {
    return [=](cudaStream_t stream) {
        shared_chase_kernel<<<1, 1, 0, stream>>>(chase.span, chase.last_slot, chase.steps);
        check(cudaGetLastError(), "shared chase");
    };
}

Launch launch_of(const EmptyKernel&) {
    return [](cudaStream_t stream) {
        empty_kernel<<<1, 1, 0, stream>>>();
        check(cudaGetLastError(), "empty kernel");
    };
}

}  // namespace ridge::measure::cuda
