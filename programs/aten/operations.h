// Turns a call of a PyTorch operator into operations of the model.
//
//   const auto found = operations_of(parse_call("aten::mm", inputs));
//   found->steps[0].operation;      // Matmul{.m = 8, .n = 2, .k = 4, ...}
//   found->basis == Basis::shapes;  // not derived only from the bytes of its arguments
//
// Method: a table of operators. Products, attention in its backends, rows (softmax, norms, losses,
// reductions, scans), pointwise chains with their types and broadcasts, copies, cat, gathers,
// optimizers, convolutions (as the product of im2col), batch norms and pooling are modelled by
// their shapes. Triton kernels and operators that are not in the table are modelled by the bytes of
// their arguments, as one streaming kernel, and marked as such. A call whose tensors have no
// elements gives no operation.
//
// In a running program the previous operator mostly wrote the inputs of the next one, so streaming
// operators are predicted with a warm L2 cache (which holds what fits). Products, gathers and
// optimizers read weights that no cache kept, so they are predicted with a cold one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/predict.h"
#include "programs/aten/call.h"
#include "programs/aten/kernel_parts.h"
#include "programs/aten/templates.h"
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

/// What a prediction is based on: shapes, the bytes of the arguments, or the bytes that counters
/// gave.
enum class Basis : std::uint8_t { shapes, bytes, counters };

/// What tells tensors apart in a trace without their identities.
struct TensorSize {
    std::int64_t elements = 0;
    std::int64_t bytes = 0;

    friend bool operator==(const TensorSize& a, const TensorSize& b) {
        return a.elements == b.elements && a.bytes == b.bytes;
    }
};

struct Understood {
    std::vector<model::Step> steps{};
    /// Kernels to use instead of the steps for the time, if the call is not carried out as these
    /// steps.
    std::vector<KernelWork> kernels{};
    /// Work that the steps leave out and that runs after them: the random numbers for dropout.
    std::optional<KernelWork> beside{};
    /// Used if kernels take longer than these steps: each step with its extra time.
    std::vector<Entry> entries{};
    /// The law that gives the time, and what it counts, for a template that is fitted as a whole.
    const Template* law = nullptr;
    /// The law that stands in for it where the call's kernels are known.
    const Template* by_launches = nullptr;
    /// The band of the sum of these kernels' own laws, which stands in for both. (docs/model.md S13)
    const Template* by_kernels = nullptr;
    std::vector<KernelPart> parts{};
    Counts counts{};
    std::string law_name{};
    bool ruled = false;  ///< the steps come from a rule, not only from the bytes of its arguments
    /// Its kernel is one that was never measured, of another compiler: the band is that of a roofline.
    bool foreign = false;
    OperatorFamily family = OperatorFamily::other;
    Basis basis = Basis::shapes;
    /// Sizes of the tensors that the call reads, to follow data from one call to the next.
    std::vector<TensorSize> inputs{};
    /// A copy that changes the order in memory but not the type.
    bool changes_layout = false;
    /// Bytes and elements of the largest result, which a fused neighbour would not write.
    std::int64_t result_bytes = 0;
    std::int64_t result_elements = 0;
};

/// One call on a GPU: the work of the steps, with the time of the kernels if there are any.
struct CallPrediction {
    model::WorkloadPrediction answer{};  ///< without parts if there is no prediction
    Time lower_bound{};
    Time rule{};  ///< by the model's own rule, where a law gives the time; zero: there is no rule
    std::string_view bound{};
    std::string_view limiter{};
    std::string reason{};  ///< why there is no prediction
};
[[nodiscard]] CallPrediction predict(const Understood& call, const model::Machine& machine);

/// `hint` is the element type of lists of tensors, which a profiler does not record.
[[nodiscard]] std::optional<Understood> operations_of(const Call& call,
                                                      ElementType hint = ElementType::unknown);

/// What the call says of its list of tensors; zeros if their shapes were not recorded.
struct ListSizes {
    std::int64_t all = 0;      ///< elements of one list
    std::int64_t largest = 0;  ///< of its largest tensor
};
[[nodiscard]] ListSizes list_sizes(const Call& call);

/// An operator on lists of tensors from the blocks of its launches: each block handles a chunk of 65536
/// elements, or a whole small tensor. Empty for other operators. (eq. S10)
[[nodiscard]] std::optional<Understood> lists_by_blocks(std::string_view name,
                                                        std::span<const std::int64_t> blocks,
                                                        ElementType type,
                                                        const ListSizes& sizes = {});

/// What the kernels of one call say of it: a law for launched calls replaces that of its shapes alone.
struct Launched {
    std::int64_t launches = 0;
    std::int64_t threads = 0;
    std::int64_t blocks = 0;
    std::int64_t longest_blocks = 0;  ///< of the longest kernel
    bool plane = false;               ///< its blocks form a plane
    std::string
        longest{};  ///< what of the longest kernel's name tells templates apart (kernel_key)
};
void take_launches(Understood& call, const Launched& kernels);
void add_launches(Counts& counts, const Launched& kernels);
/// The same for the kernels by their names, if each has a law and their sum is known to be better.
void take_kernels(Understood& call, std::vector<KernelPart> parts);

/// Whether the table contains the operator's name.
[[nodiscard]] bool is_known(std::string_view name);
/// Whether a fitted law has the operator's name.
[[nodiscard]] bool has_law(std::string_view name);

[[nodiscard]] std::string_view name_of(OperatorFamily family);
[[nodiscard]] std::string_view name_of(Basis basis);

}  // namespace ridge::programs
