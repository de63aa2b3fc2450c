// What distinguishes PyTorch's products: differences between their kernels and those to which the
// library's parameters were fitted, int8 products with int32 results by kernels of an earlier
// generation, epilogues that wait for a vector, and dirty lines of other data that must be written
// back first.
//
//   if (is_integer_product(op)) const MatmulTime t = integer_product_time(situation);
//   const MatmulParameters mine = parameters_of_torch(op, pipe, library, machine);
//
// Method (equation M25 of docs/model.md): factors on the library's parameters, by the kind of
// kernel that type and alignment require. int8 products use tiles of 64 x 64 to 256 x 128, whose
// steps along k run one after the other, one tile per multiprocessor at a time; k is not split. The
// values are `model.torch.product`, from records of an H200 and an H100; other generations scale
// with their clock. cuBLAS's choices for fp32 and batched tf32 follow no rule that the shape
// reveals; they are most of the remaining error.
#pragma once

#include "model/matmul/time.h"

namespace ridge::model {

/// Time of clocks of compiled code at the GPU's boost clock.
[[nodiscard]] Time in_torch(double clocks, const Machine& machine);

/// Whether the product has int8 operands and results of four bytes: torch._int_mm, whose results are
/// int32 whatever the question says, since PyTorch multiplies int8 in no other way.
[[nodiscard]] bool is_integer_product(const Matmul& op);

/// The machine must have `torch_product`.
[[nodiscard]] MatmulTime integer_product_time(const MatmulSituation& situation);

/// Derives the parameters of PyTorch's kernels from those of the library. The machine must have
/// `torch_product` and `model.torch`.
[[nodiscard]] MatmulParameters parameters_of_torch(const Matmul& op, MatmulPipe pipe,
                                                   const MatmulParameters& library,
                                                   const Machine& machine);

/// Lines that a flush left to be written back and that a product's reads and writes displace. The
/// machine must have `torch_product`.
struct WriteBack {
    Bytes bytes;
    Time time;  ///< by which the cold product takes longer
};
[[nodiscard]] WriteBack behind_write_back(const MatmulSituation& situation, const Work& cold,
                                          Time alone);

/// Time for which an epilogue waits for a bias, or 8-bit operands for their scales; zero if there
/// is neither, or if the GPU has no `model.torch`.
[[nodiscard]] Time vector_wait(const Matmul& op, L2State l2, const Machine& machine);

}  // namespace ridge::model
