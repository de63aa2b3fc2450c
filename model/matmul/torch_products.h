// What sets PyTorch's products apart: how their kernels differ from those to which the library's
// parameters were fitted, int8 products with int32 results by kernels of an earlier generation,
// epilogues that wait for a vector, and other data's dirty lines that must be written back first.
//
//   if (is_integer_product(op)) const MatmulTime t = integer_product_time(situation);
//   const MatmulParameters mine = parameters_of_torch(op, pipe, library, machine);
//
// Method (equation M25 of docs/model.md): factors on the library's parameters, by the kind of kernel
// that type and alignment ask for. int8 products take tiles of 64 x 64 to 256 x 128, whose steps
// along k come one after the other, one tile of a multiprocessor at a time; k is not split.
// The values are `model.torch.product`, from records of an H200 and an H100; other generations
// follow their clock. cuBLAS's choices for fp32 and batched tf32 follow no rule that the shape
// reveals; they are most of what error is left.
#pragma once

#include "model/matmul/time.h"

namespace ridge::model {

/// Clocks of compiled code at the GPU's boost clock.
[[nodiscard]] Time in_torch(double clocks, const Machine& machine);

/// int8 with int32 results, as torch._int_mm asks for it.
[[nodiscard]] bool is_integer_product(const Matmul& op);

/// The machine has `torch_product`.
[[nodiscard]] MatmulTime integer_product_time(const MatmulSituation& situation);

/// Parameters of PyTorch's kernels from those of the library; the machine has `torch_product` and `model.torch`.
[[nodiscard]] MatmulParameters parameters_of_torch(const Matmul& op, MatmulPipe pipe,
                                                   const MatmulParameters& library,
                                                   const Machine& machine);

/// Lines that a flush left to be written back, displaced by what a product reads and writes; the machine has
/// `torch_product`.
struct WriteBack {
    Bytes bytes;
    Time time;  ///< that the cold product takes longer
};
[[nodiscard]] WriteBack behind_write_back(const MatmulSituation& situation, const Work& cold,
                                          Time alone);

/// What an epilogue waits for a bias, or 8-bit operands for their scales; zero where there is
/// neither, or the GPU has no `model.torch`.
[[nodiscard]] Time vector_wait(const Matmul& op, L2State l2, const Machine& machine);

}  // namespace ridge::model
