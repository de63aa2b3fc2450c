// The exact bytes and FLOP of a bundled memory-bound kernel, as data.
//
// A kernel is described by a plain struct of device pointers and sizes. Three overloaded functions
// read it:
//   launch_of(k)    -> Launch          enqueues it; throws std::invalid_argument for sizes it
//   cannot do geometry_of(k)  -> KernelGeometry  block size, grid and bytes in flight, as a model
//   needs them work_of(k)      -> KernelWork      bytes and FLOP that it does, counted from the
//   shapes, not estimated
//
// Example:
//   const StreamCopy copy{.source = a, .destination = b, .bytes = n, .plan = copy_plan(132)};
//   launch_of(copy)(stream);
//   const double seconds_at_least = work_of(copy).dram_bytes() / 4.8e12;
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

// Compulsory bytes: each distinct byte once per pass that the kernel makes over it.
struct KernelWork {
    std::int64_t dram_bytes_read = 0;
    std::int64_t dram_bytes_written = 0;
    std::int64_t l2_bytes_read = 0;  // re-reads that are meant to hit L2
    std::int64_t l1_bytes_read = 0;  // re-reads that are meant to hit L1
    std::int64_t shared_bytes_read = 0;
    std::int64_t flop = 0;                // an FMA is 2
    std::int64_t special_operations = 0;  // ex2, rcp, rsqrt

    [[nodiscard]] double dram_bytes() const {
        return static_cast<double>(dram_bytes_read) + static_cast<double>(dram_bytes_written);
    }
};

}  // namespace ridge::measure::cuda
