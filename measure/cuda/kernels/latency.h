// Latencies: a pointer chase over a range of sizes and in shared memory, and the cost of a launch.
//
// Method: one thread follows a cycle through `slots` places, `stride_bytes` apart, each holding the
// address of the next, so that only the load separates one step from the next. The cycle visits
// slot_of(0), slot_of(1), ..., a bijection of the indices (odd multiplications and shifts of the
// largest power of two in `slots`, whose odd part is visited in turn). It is therefore one
// random-looking cycle over the whole buffer, can be built in parallel, and the place after n steps
// is known exactly. A chase first walks `warm_steps` without timing, which loads the address
// translation and, if these steps cover all slots, the caches. A walk is a chase without warm-up:
// it continues where the last one stopped, so that successive walks see the whole buffer. The empty
// kernel does nothing: launched back to back or from a graph, its time is the cost of a launch.
//
// Example: latency in cycles = (span.last_cycle - span.first_cycle) / steps
// Units: stride_bytes is a multiple of 8; 128 or more gives one line per slot. The order looks
// random only if `slots` contains a large power of two.
// Limits: with 1 GiB a walk over all slots takes seconds, so translations are only as warm as
// building the chain and warm_steps made them.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/clock_span.h"
#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

enum class ChaseLevel { l1, l2 };  // first cache that may hit: ld.global.ca or ld.global.cg

struct ChaseBuild {
    std::uint64_t* chain = nullptr;  // slots x stride_bytes
    std::int64_t slots = 0;
    int stride_bytes = 128;
};

struct Chase {
    const std::uint64_t* chain = nullptr;
    ClockSpan* span = nullptr;           // one element
    std::uint64_t* last_slot = nullptr;  // one element: index of the slot where the walk ended
    std::int64_t slots = 0;
    int stride_bytes = 128;
    std::int64_t first_place = 0;  // the walk starts at scramble(first_place)
    std::int64_t warm_steps = 0;
    std::int64_t steps = 0;
    ChaseLevel level = ChaseLevel::l1;
};

struct Walk {
    std::uint64_t* position = nullptr;  // one element: address of the first slot, then of the last
    std::int64_t steps = 0;
};

// The same walk through 1024 words of shared memory, each holding the address of the next.
struct SharedChase {
    ClockSpan* span = nullptr;           // one element
    std::uint32_t* last_slot = nullptr;  // one element: index of the word where the walk ended
    std::int64_t steps = 0;
};

struct EmptyKernel {};

// Slot of the place-th step: a bijection of 0 .. slots - 1 if slots is a power of two.
[[nodiscard]] __host__ __device__ constexpr std::uint32_t scramble(std::uint32_t place,
                                                                   std::uint32_t slots) {
    const std::uint32_t mask = slots - 1;
    int half = 1;
    while ((slots >> half) > (1U << half)) ++half;
    std::uint32_t x = place & mask;
    for (int round = 0; round < 3; ++round) {
        x = (x * 2654435769U + 0x9e37U) & mask;
        x ^= x >> half;
    }
    return x;
}

// Slot of the place-th step of a cycle through `slots`.
[[nodiscard]] __host__ __device__ constexpr std::uint32_t slot_of(std::uint32_t place,
                                                                  std::uint32_t slots) {
    const std::uint32_t power = slots & (~slots + 1);
    const std::uint32_t odd = slots / power;
    place %= slots;
    return place % odd * power + scramble(place / odd, power);
}

[[nodiscard]] Launch launch_of(const ChaseBuild& build);
[[nodiscard]] Launch launch_of(const Chase& chase);
[[nodiscard]] Launch launch_of(const Walk& walk);
[[nodiscard]] Launch launch_of(const SharedChase& chase);
[[nodiscard]] Launch launch_of(const EmptyKernel& empty);

}  // namespace ridge::measure::cuda
