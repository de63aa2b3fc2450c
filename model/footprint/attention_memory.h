// The memory that attention allocates, from its inputs to its gradients, for each implementation.
//
// The result is a plan of allocations with lifetimes (model/allocator) in phases: the inputs, a
// forward pass without autograd, a training forward pass, the gradient of the output, the backward
// pass. The cache is emptied before each of the three passes, as in scripts/measure/torch-memory.py. The
// plans of PyTorch's backends follow its sources and were checked, allocation by allocation,
// against traces of PyTorch 2.11 (eq. V20 to V32 of docs/vram.md).
//
//   const auto outcome = attention_memory({.attention = op,
//                                          .software = AttentionSoftware::torch_flash});
//   std::get<AttentionMemory>(outcome).forward_peak   // bytes, beside the inputs
//
// Limits: PyTorch 2.11 with cuDNN 9.19 on sm_90, one stream, autograd of q, k and v, grad_out in
// the layout of the output, library workspaces already allocated. Other versions differ.
#pragma once

#include <cstdint>
#include <variant>

#include "model/allocator/memory_plan.h"
#include "model/core/prediction.h"
#include "model/footprint/attention_call.h"

namespace ridge::model {

namespace memory_phase {
inline constexpr std::string_view inputs = "inputs";
inline constexpr std::string_view inference = "inference";
inline constexpr std::string_view forward = "forward";
inline constexpr std::string_view grad_output = "grad_out";
inline constexpr std::string_view backward = "backward";
}  // namespace memory_phase

using AttentionPlan = std::variant<MemoryPlan, NotModelled>;

/// The allocations of an implementation; NotModelled with PyTorch's reason if a backend refuses the
/// call.
[[nodiscard]] AttentionPlan attention_plan(const AttentionCall& call);

/// Allocated bytes. All except inputs and reserved count from the level just before the call.
struct AttentionMemory {
    std::int64_t inputs = 0;
    std::int64_t inference_peak = 0;
    std::int64_t forward_peak = 0;    ///< with autograd
    std::int64_t forward_saved = 0;   ///< what then stays, including the output
    std::int64_t backward_peak = 0;   ///< above inputs, output, its gradient and what was saved
    std::int64_t backward_after = 0;  ///< gradients minus what backward released; may be negative
    std::int64_t reserved_inference = 0;  ///< everything reserved, including inputs
    std::int64_t reserved_forward = 0;
    std::int64_t reserved_backward = 0;
    std::int64_t total_training = 0;  ///< highest allocated level, including inputs
};

[[nodiscard]] AttentionMemory attention_memory(const MemoryTimeline& timeline);
[[nodiscard]] std::variant<AttentionMemory, NotModelled> attention_memory(
    const AttentionCall& call, AllocatorOptions options = {});

/// Bytes of library workspaces that a process holds beside the call: cuBLAS has one for each thread
/// that multiplies (the forward and the backward thread).
struct LibraryWorkspace {
    std::int64_t cublas_per_thread = 0;
    std::int64_t threads = 0;

    [[nodiscard]] std::int64_t total() const { return cublas_per_thread * threads; }
};
[[nodiscard]] LibraryWorkspace library_workspace(const AttentionCall& call, bool training,
                                                 std::int32_t compute_capability);

}  // namespace ridge::model
