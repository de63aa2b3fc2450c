// Times of PyTorch's kernels for operations that stream their data: which kernels run, and in which
// grid.
//
//   torch_time(memory, op, Implementation::torch, L2State::cold).time.total
//
// Method: the rules by which PyTorch 2.11 chooses kernels, vectors and grids (equations B31 to B36
// of docs/model.md). Clocks and slots are those of the compiled code, fitted to records of an H200
// and an H100. Limits: contiguous, aligned inputs, unless the operation says otherwise.
#pragma once

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/machine/memory_parameters.h"
#include "model/roof/block_time.h"

namespace ridge::model {

/// All kernels together, each including the floor of an empty one.
struct TorchTime {
    KernelTime time{};
    std::int32_t kernels = 0;

    /// Adds `repeat` kernels that take the same time.
    void add(const KernelTime& one, std::int32_t repeat = 1) {
        for (std::int32_t i = 0; i < repeat; ++i) time += one;
        kernels += repeat;
    }
};

/// Time of a plain copy, which the driver makes. (eq. B33)
[[nodiscard]] KernelTime driver_copy_time(const MemoryParameters& memory, Bytes bytes, L2State l2);

/// Time of `torch`, with a kernel per function, or `compiled`, with one kernel.
[[nodiscard]] TorchTime torch_time(const MemoryParameters& memory, const Elementwise& op,
                                   Implementation implementation, L2State l2);
[[nodiscard]] TorchTime torch_time(const MemoryParameters& memory, const RowWise& op,
                                   Implementation implementation, L2State l2);
[[nodiscard]] TorchTime torch_time(const MemoryParameters& memory, const Transpose& op,
                                   Implementation implementation, L2State l2);
[[nodiscard]] TorchTime torch_time(const MemoryParameters& memory, const Copy& op,
                                   Implementation implementation, L2State l2);
[[nodiscard]] TorchTime torch_time(const MemoryParameters& memory, const Gather& op,
                                   Implementation implementation, L2State l2);
[[nodiscard]] TorchTime torch_time(const MemoryParameters& memory, const Cat& op,
                                   Implementation implementation, L2State l2);
/// Time of `torch`, with a kernel for each of eight operations, or `fused`, with one kernel and one
/// for the step counts.
[[nodiscard]] TorchTime torch_time(const MemoryParameters& memory, const AdamW& op,
                                   Implementation implementation, L2State l2);

}  // namespace ridge::model
