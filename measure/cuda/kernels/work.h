// What an on-chip benchmark kernel moves and computes, counted from its shape rather than
// estimated.
//
// A kernel is described by a plain struct of device pointers and sizes. Three overloaded functions
// read it:
//   launch_of(k)    -> Launch      enqueues it; throws std::invalid_argument for unsupported sizes
//   geometry_of(k)  -> LaunchGrid  its grid, threads and shared memory
//   work_of(k)      -> KernelWork  the bytes that it moves and the FLOP that it does
//
// Example:
//   const FmaPeak peak{.output = d, .plan = {}};
//   launch_of(peak)(stream);
//   const double flop = static_cast<double>(work_of(peak).flop);
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

struct KernelWork {
    std::int64_t l2_bytes_read = 0;  // re-reads that are meant to hit L2
    std::int64_t l1_bytes_read = 0;  // re-reads that are meant to hit L1
    std::int64_t shared_bytes_read = 0;
    std::int64_t flop = 0;                // an FMA counts 2
    std::int64_t special_operations = 0;  // ex2, rcp, rsqrt
};

}  // namespace ridge::measure::cuda
