// DRAM ceilings: read, write, copy and triad with 16-byte vectors.
//
// Method: a block processes tiles of threads x unroll vectors and issues all loads of a tile before
// the first use. With `blocks_per_multiprocessor` = 0 there is one block per tile; otherwise a
// persistent grid walks the tiles in turn. The read sums all 32-bit words modulo 2^32, with one
// partial sum per block, so nothing can be elided and the result is exact in any order. The triad
// is a = b + scale * c in float, with one rounding.
//
// Example:
//   const StreamRead read{.source = d, .partial_sums = p, .bytes = n, .plan = read_plan(132)};
//   // p holds geometry_of(read).blocks() words; their sum modulo 2^32 is the sum of all words of d
//
// Units: bytes per array, a multiple of 4 except in a copy. Arrays are 16-byte aligned;
// std::invalid_argument otherwise.
// Limits: only compulsory bytes are counted. A write causes no DRAM reads, because whole sectors
// are written.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/cache_hint.h"
#include "measure/cuda/kernels/launch.h"
#include "model/bundled/streams.h"

namespace ridge::measure::cuda {

struct StreamPlan {
    int threads = 256;
    int unroll = 4;  // 1, 2, 4 or 8 vectors of 16 bytes
    int multiprocessors = 132;
    int blocks_per_multiprocessor = 0;  // 0: one block per tile
    CacheHint load_hint = CacheHint::cached;
    CacheHint store_hint = CacheHint::cached;  // not sector_prefetch
};

// The fastest plan of each operation, found by a sweep over all plans on an H200 with 2 GiB per
// array.
[[nodiscard]] constexpr StreamPlan read_plan(int multiprocessors) {
    return {.threads = 256,
            .unroll = 8,
            .multiprocessors = multiprocessors,
            .load_hint = CacheHint::streaming};
}
[[nodiscard]] constexpr StreamPlan write_plan(int multiprocessors) {
    return {.threads = 256, .unroll = 1, .multiprocessors = multiprocessors};
}
[[nodiscard]] constexpr StreamPlan copy_plan(int multiprocessors) {
    return {.threads = bundled::copy_threads,
            .unroll = bundled::copy_unroll,
            .multiprocessors = multiprocessors,
            .load_hint = CacheHint::l2_only};
}
[[nodiscard]] constexpr StreamPlan triad_plan(int multiprocessors) {
    return {.threads = 1024,
            .unroll = 1,
            .multiprocessors = multiprocessors,
            .load_hint = CacheHint::l2_only};
}

struct StreamRead {
    const void* source = nullptr;
    std::uint32_t* partial_sums = nullptr;  // geometry_of(...).blocks() words
    std::int64_t bytes = 0;
    StreamPlan plan;
};

struct StreamWrite {
    void* destination = nullptr;
    std::int64_t bytes = 0;
    std::uint32_t word = 0;
    StreamPlan plan;
};

struct StreamCopy {
    const void* source = nullptr;
    void* destination = nullptr;
    std::int64_t bytes = 0;
    StreamPlan plan;
};

struct StreamTriad {
    float* a = nullptr;
    const float* b = nullptr;
    const float* c = nullptr;
    float scale = 0;
    std::int64_t bytes = 0;  // of each array
    StreamPlan plan;
};

[[nodiscard]] Launch launch_of(const StreamRead& read);
[[nodiscard]] Launch launch_of(const StreamWrite& write);
[[nodiscard]] Launch launch_of(const StreamCopy& copy);
[[nodiscard]] Launch launch_of(const StreamTriad& triad);

[[nodiscard]] bundled::LaunchGrid geometry_of(const StreamRead& read);
[[nodiscard]] bundled::LaunchGrid geometry_of(const StreamWrite& write);
[[nodiscard]] bundled::LaunchGrid geometry_of(const StreamCopy& copy);
[[nodiscard]] bundled::LaunchGrid geometry_of(const StreamTriad& triad);

}  // namespace ridge::measure::cuda
