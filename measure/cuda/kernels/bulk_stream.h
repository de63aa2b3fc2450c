// DRAM ceilings of the bulk copy engine (cp.async.bulk, Hopper and later): read and copy without
// one load instruction per vector.
//
// Method: each block owns a ring of `stages` shared-memory buffers of `stage_bytes`. One thread
// requests whole buffers; an mbarrier signals when one has arrived. The read then sums the words
// from shared memory (16-byte loads), which proves that the data arrived and causes no DRAM
// traffic. The copy sends each buffer to its destination and, before reusing it, waits until the
// engine has read it.
//
// Example:
//   launch_of(BulkCopy{.source = a, .destination = b, .bytes = n,
//                      .plan = {.stages = 4, .stage_bytes = 16384}})(stream);
//
// Units: bytes, a multiple of 4; arrays 16-byte aligned; stage_bytes a multiple of 128 below 1 MiB.
// std::invalid_argument for a wrong plan, std::runtime_error on a device below compute
// capability 9.0.
// Limits: bytes after the last multiple of 16 are moved by plain loads.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

struct BulkPlan {
    int stages = 4;
    int stage_bytes = 16384;
    int multiprocessors = 132;
    int blocks_per_multiprocessor = 2;
};

// The fastest plans found by a sweep on an H200 with 2 GiB per array.
[[nodiscard]] constexpr BulkPlan bulk_read_plan(int multiprocessors) {
    return {.stages = 2,
            .stage_bytes = 16384,
            .multiprocessors = multiprocessors,
            .blocks_per_multiprocessor = 4};
}
[[nodiscard]] constexpr BulkPlan bulk_copy_plan(int multiprocessors) {
    return {.stages = 6,
            .stage_bytes = 4096,
            .multiprocessors = multiprocessors,
            .blocks_per_multiprocessor = 8};
}

struct BulkRead {
    const void* source = nullptr;
    std::uint32_t* partial_sums = nullptr;  // geometry_of(...).blocks() words
    std::int64_t bytes = 0;
    BulkPlan plan;
};

struct BulkCopy {
    const void* source = nullptr;
    void* destination = nullptr;
    std::int64_t bytes = 0;
    BulkPlan plan;
};

[[nodiscard]] Launch launch_of(const BulkRead& read);
[[nodiscard]] Launch launch_of(const BulkCopy& copy);
[[nodiscard]] bundled::LaunchGrid geometry_of(const BulkRead& read);
[[nodiscard]] bundled::LaunchGrid geometry_of(const BulkCopy& copy);

}  // namespace ridge::measure::cuda
