// Whether attention fits into the GPU memory that a driver leaves free, and the largest size that
// does.
//
//   const Largest most = largest_that_fits(call, FitDimension::seq, MemoryPasses::training,
//                                          {.limit = usable_memory(gpu).bytes});
//
// Method: plans run through the caching allocator with a limit. The largest size is found by
// doubling and halving. Since splits and blocks make memory use rise unevenly, larger sizes near
// the boundary are then tried one by one.
// Limits: the memory is assumed to belong to this call alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hardware/description.h"
#include "model/footprint/attention_memory.h"

namespace ridge::model {

/// The passes that are asked about. `forward` and `training` are with autograd.
enum class MemoryPasses : std::uint8_t { inference, forward, training };

/// The plan with only the phases of these passes.
[[nodiscard]] MemoryPlan plan_of(const MemoryPlan& all, MemoryPasses passes);

/// `seq` sets both seq_q and seq_kv, `seq_kv` only the keys; `heads` keeps the group size.
enum class FitDimension : std::uint8_t { seq, seq_kv, batch, heads };

[[nodiscard]] AttentionCall resized(const AttentionCall& call, FitDimension dimension,
                                    std::int64_t size);

struct Largest {
    std::int64_t size = 0;               ///< 0: not even the smallest fits
    std::optional<std::string> refused;  ///< why the call is refused at the smallest size
    bool unbounded = false;              ///< more than 2^40 would fit: the size does not matter
};

/// The largest size that fits into `options.limit`.
[[nodiscard]] Largest largest_that_fits(const AttentionCall& call, FitDimension dimension,
                                        MemoryPasses passes, const AllocatorOptions& options);

/// The memory that a process can allocate: what is free once the driver has made its context.
struct UsableMemory {
    std::int64_t bytes = 0;
    bool measured = false;  ///< on this GPU; otherwise it is the share that an H100 leaves (eq.
                            ///< V15)
};
[[nodiscard]] UsableMemory usable_memory(const hardware::Description& gpu);

/// Bytes of a CUDA context with PyTorch's libraries; equal on an H100 and an H200 (eq. V15).
inline constexpr std::int64_t context_bytes = 552402944;

[[nodiscard]] std::string_view name_of(MemoryPasses passes);
[[nodiscard]] std::string_view name_of(FitDimension dimension);

}  // namespace ridge::model
