// PyTorch's reductions: how a matrix is divided among threads and blocks, and the time.
//
//   const ReduceGrid grid = reduce_grid({.kind = RowKind::sum, .rows = 65536, .cols = 272,
//                                        .type = DataType::fp32, .axis = Axis::columns}, 132);
//   grid.blocks, grid.parts   // 3 x 704 blocks; the last of 704 adds up the parts of the others
//
// Method: setReduceConfig of ATen/native/cuda/Reduce.cuh (PyTorch 2.11), for contiguous matrices;
// equation B34 of docs/model.md. Limits: multiprocessors of 2048 threads.
#pragma once

#include <cstdint>

#include "model/core/operation.h"
#include "model/machine/memory_parameters.h"
#include "model/roof/memory_time.h"

namespace ridge::model {

struct ReduceGrid {
    std::int64_t width = 1;   ///< threads of a block along the contiguous dimension
    std::int64_t height = 1;  ///< threads across it
    std::int64_t vector = 1;  ///< neighbouring results of a thread
    std::int64_t blocks = 1;  ///< along the results
    std::int64_t parts = 1;   ///< blocks that share a result
    std::int64_t values = 1;  ///< elements of a thread, for each of its results
    bool along_rows = true;   ///< whether the contiguous dimension is reduced
    bool whole_vectors = false;
    bool high = false;  ///< whether threads across share a result

    [[nodiscard]] std::int64_t threads() const { return width * height; }
};

[[nodiscard]] ReduceGrid reduce_grid(const RowWise& op, std::int64_t sm_count);

/// Time of sum, mean, max or argmax, including the zeroing of its semaphores if blocks share
/// results.
[[nodiscard]] KernelTime torch_reduce_time(const MemoryParameters& memory, const RowWise& op,
                                           L2State l2);

}  // namespace ridge::model
