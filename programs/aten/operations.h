// A call of a PyTorch operator as operations of the model.
//
//   const auto found = operations_of(parse_call("aten::mm", inputs));
//   found->steps[0].operation;      // Matmul{.m = 8, .n = 2, .k = 4, ...}
//   found->basis == Basis::shapes;  // not only the bytes of its arguments
//
// Method: a table of operators. Products, attention in its backends, rows (softmax, norms, losses,
// reductions, scans), pointwise chains with their types and broadcasts, copies, cat, gathers,
// optimizers, convolutions (as the product of im2col), batch norms and pooling are modelled by their shapes.
// Triton kernels and operators that the table lacks are modelled by the bytes of their arguments, as one
// streaming kernel, and marked so. A call without a tensor that has elements gives no operation.
//
// In a running program the inputs of an operator were mostly written by the one before, so streaming
// operators are asked for with a warm L2 cache (which holds what fits); products, gathers and
// optimizers read weights that nothing kept, with a cold one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/predict.h"
#include "programs/aten/call.h"
#include "programs/graph/kernel_work.h"
#include "programs/graph/program.h"

namespace ridge::programs {

enum class OperatorFamily : std::uint8_t {
    product,
    attention,
    softmax,
    normalisation,
    reduction,
    pointwise,
    copy,
    gather,
    dropout,
    loss,
    optimizer,
    fill,
    communication,
    generated,  ///< a kernel of torch.compile
    other
};
inline constexpr std::size_t family_count = 15;

/// What a prediction rests on: shapes, the bytes of the arguments, or the bytes that were counted.
enum class Basis : std::uint8_t { shapes, bytes, counters };

struct Understood {
    std::vector<model::Step> steps{};
    /// Where these steps are not how it is carried out: the kernels, which say how long it takes.
    std::vector<KernelWork> kernels{};
    /// What the steps leave out, one after the other with them: numbers drawn for dropout.
    std::optional<KernelWork> beside{};
    /// Where kernels take longer than these steps, each step with what it takes more.
    std::vector<Entry> entries{};
    OperatorFamily family = OperatorFamily::other;
    Basis basis = Basis::shapes;
    /// Bytes of the largest result and elements of it: what a fused neighbour would not write.
    std::int64_t result_bytes = 0;
    std::int64_t result_elements = 0;
};

/// One call on a GPU: what the steps say, with the time of the kernels where there are any.
struct CallPrediction {
    model::WorkloadPrediction answer{};  ///< without parts where there is no prediction
    Time lower_bound{};
    std::string_view bound{};
    std::string_view limiter{};
    std::string reason{};  ///< why there is no prediction
};
[[nodiscard]] CallPrediction predict(const Understood& call, const model::Machine& machine);

/// `hint` is the element type of lists of tensors, which a profiler does not record.
[[nodiscard]] std::optional<Understood> operations_of(const Call& call,
                                                      ElementType hint = ElementType::unknown);

/// An operator on lists of tensors whose shapes were not recorded, by the blocks of its launches: each takes
/// a chunk of 65536 elements, or what a small tensor has. Empty for other operators. (eq. S10)
[[nodiscard]] std::optional<Understood> lists_by_blocks(std::string_view name,
                                                        std::span<const std::int64_t> blocks,
                                                        ElementType type);

/// Whether the table knows the operator by its name.
[[nodiscard]] bool is_known(std::string_view name);

[[nodiscard]] std::string_view name_of(OperatorFamily family);
[[nodiscard]] std::string_view name_of(Basis basis);

}  // namespace ridge::programs
