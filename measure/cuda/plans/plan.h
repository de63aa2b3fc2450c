// What a case runs: a launch with its buffers, and the check of its result.
//
// Method: one function per family of operations turns operation and implementation into a `Plan`.
// Inputs are filled on the device (Philox, one seed per operand), so the same request always
// computes with the same numbers. What the kernels or libraries do not support throws `Refusal`, or
// from the kernels std::invalid_argument / std::runtime_error, which `prepare` turns into
// Unavailable.
//
//   Plan plan = plan_matmul(op, execution, context);
//   plan.launch(stream);
//   plan.verify();
//
// Limits: a plan belongs to the device that is current when it is made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "measure/cuda/kernels/launch.h"
#include "measure/cuda/memory/handles.h"
#include "measure/cuda/memory/read_back.h"
#include "measure/record/observation.h"
#include "model/core/data_type.h"
#include "model/core/implementation.h"
#include "model/core/operation.h"

namespace ridge::measure::cuda {

/// What every plan needs.
class Context {
  public:
    Context(cudaStream_t stream, DeviceLimits limits, DataPattern pattern)
        : stream_(stream), limits_(limits), pattern_(pattern) {}

    [[nodiscard]] cudaStream_t stream() const { return stream_; }
    [[nodiscard]] const DeviceLimits& limits() const { return limits_; }

    /// A buffer of `elements` filled with the pattern; `scale` is its standard deviation.
    [[nodiscard]] Buffer input(ElementType type, std::int64_t elements, std::uint64_t seed,
                               float scale = 1.0F) const;

  private:
    cudaStream_t stream_;
    DeviceLimits limits_;
    DataPattern pattern_;
};

struct Plan {
    model::Implementation implementation = model::Implementation::automatic;
    Launch launch;
    /// Poisons the output, runs once and compares the result with the CPU's.
    std::function<Verification()> verify;
    std::optional<model::Tile> tile{};
    std::int64_t split = 1;
    std::vector<Buffer> buffers{};

    [[nodiscard]] std::size_t bytes() const;
};

[[nodiscard]] ElementType element_of(model::DataType type);

/// Bytes of `elements` of this type, at least 16.
[[nodiscard]] std::size_t bytes_of(ElementType type, std::int64_t elements);

[[nodiscard]] Plan plan_matmul(const model::Matmul& op, const model::Execution& execution,
                               const Context& context);
[[nodiscard]] Plan plan_attention(const model::Attention& op, const model::Execution& execution,
                                  const Context& context);
[[nodiscard]] Plan plan_elementwise(const model::Elementwise& op, const model::Execution& execution,
                                    const Context& context);
[[nodiscard]] Plan plan_row_wise(const model::RowWise& op, const model::Execution& execution,
                                 const Context& context);
[[nodiscard]] Plan plan_transpose(const model::Transpose& op, const model::Execution& execution,
                                  const Context& context);
[[nodiscard]] Plan plan_copy(const model::Copy& op, const model::Execution& execution,
                             const Context& context);
[[nodiscard]] Plan plan_gather(const model::Gather& op, const model::Execution& execution,
                               const Context& context);
[[nodiscard]] Plan plan_access(const model::Access& op, const model::Execution& execution,
                               const Context& context);

/// Throws Refusal "IMPL is not a bundled implementation of OP".
[[noreturn]] void refuse(model::Implementation implementation, const char* operation);

}  // namespace ridge::measure::cuda
