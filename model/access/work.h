// What an access pattern moves and repeats, on any GPU.
//
//   const AccessWork eight = access_work({.pattern = AccessPattern::strided,
//                                         .elements = 1 << 26, .degree = 8}, {});
//   eight.work.dram_read   // 2.147 GB: a sector of 32 bytes for each word of 4
//   eight.useful           // 0.125
//
// Method: docs/model.md equations P1 to P4 (CUDA C++ programming guide: device memory accesses,
// shared memory, control flow). A warp is 32 threads. The sums that the reading kernels keep (4
// bytes for 2048 elements) are not counted.
#pragma once

#include <cstdint>

#include "model/core/operation.h"
#include "model/core/prediction.h"

namespace ridge::model {

struct AccessWork {
    Work work;
    Bytes skipped;         ///< between the pieces that DRAM delivers (strided)
    Bytes lines;           ///< bytes of the L2 that the words occupy, in whole lines of 128 bytes
    double sectors = 0.0;  ///< of one warp request (strided, misaligned)
    double useful = 1.0;   ///< bytes asked for / bytes between L2 and the SMs
    double passes = 1.0;   ///< times that a warp instruction is issued or its banks are read
};

/// The smallest pieces that move between the L2 and the multiprocessors, and out of DRAM.
struct Pieces {
    std::int64_t sector = 32;
    std::int64_t access = 64;  ///< a multiple of the sector
    Bytes most_skipped{};      ///< longest gap between them; words farther apart have a page of
                               ///< DRAM each
};
[[nodiscard]] AccessWork access_work(const Access& op, const Pieces& pieces);

}  // namespace ridge::model
