// Times of the backends of PyTorch's scaled_dot_product_attention: flash, efficient and cuDNN from
// the blocks of their kernels, math from the operations that it is made of.
//
//   torch_attention_time(op, Implementation::torch_cudnn, work, execution, machine).total
//
// Method (equation T18 of docs/model.md): every block of queries (backward: of keys) visits blocks
// of the other side. A visit takes time in its block and occupies the pipes of its multiprocessor:
//   t = launch + start + norm_p(longest block, busiest multiprocessor, DRAM)
// Clocks are those of the compiled kernels (`torch_attention_parameters.h`).
// Limits: needs `machine.torch_attention`; contiguous heads-first tensors. Visits cost the same
// under partial masks.
#pragma once

#include <optional>

#include "model/attention/work.h"
#include "model/core/implementation.h"
#include "model/machine/machine.h"

namespace ridge::model {

struct BackendTime {
    Time total{};
    Time blocks{};  ///< longest block: prologue and visits, one after the other
    Time pipes{};   ///< busiest multiprocessor
    Time dram{};
    Time launch{};  ///< empty kernel, start, further kernels
    std::int32_t kernels = 1;
    double splits = 1.0;
};

/// Time of torch_flash, torch_efficient or torch_cudnn.
[[nodiscard]] BackendTime torch_attention_time(const Attention& op, Implementation backend,
                                               const Work& work, const Execution& execution,
                                               const Machine& machine);

/// Predicts one of the operations that the math backend is made of.
using OperationPredictor = Outcome (*)(const Operation& operation, const Execution& execution,
                                       const Machine& machine);

/// Time of torch_math: casts, products in fp32, mask and softmax, each predicted by `predictor`.
/// Empty if one of them is not modelled.
[[nodiscard]] std::optional<BackendTime> torch_math_time(const Attention& op,
                                                         const Execution& execution,
                                                         const Machine& machine,
                                                         OperationPredictor predictor);

}  // namespace ridge::model
