// The parts of `ridge vram`: any operation, attention by implementation, the key and value cache.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/options/gpu_options.h"
#include "cli/views/memory.h"
#include "hardware/quantity.h"

namespace ridge::cli {

[[nodiscard]] Action build_vram_attention(CommandLine& line,
                                          std::span<const std::string> arguments);
[[nodiscard]] Action build_vram_kv_cache(CommandLine& line);
/// A whole model: weights, cache, and the peak of a step.
[[nodiscard]] Action build_vram_model(CommandLine& line);

/// The memory to fit into: --capacity as given, or what a GPU's driver leaves usable.
struct MemoryLimit {
    std::string name;
    std::string label;  ///< on charts: "h200-sxm"
    Bytes capacity;
    Bytes usable;
    bool measured = false;
    std::int64_t multiprocessors = 0;  ///< 0 if only a capacity is given
    std::int32_t compute_capability = 0;
};

/// Nothing if neither --gpu nor --capacity is given.
[[nodiscard]] std::optional<MemoryLimit> memory_limit(const Context& context, const GpuOptions& gpu,
                                                      const std::string& capacity);
/// Of the capacity or all GPUs named or, without either, of some well-known GPUs.
[[nodiscard]] std::vector<MemoryLimit> memory_limits(const Context& context, const GpuOptions& gpu,
                                                     const std::string& capacity);
/// Of the memory of attention: PyTorch's kernels were compared with its own counts, to the byte
/// (docs/vram.md).
[[nodiscard]] MemoryEvidence attention_evidence(std::string_view implementation,
                                                const std::optional<MemoryLimit>& limit);
[[nodiscard]] MemoryLimit memory_limit_of(Machines& machines, const std::string& name);
/// What is known about the limit: whether its usable bytes were measured; empty without a GPU.
[[nodiscard]] std::optional<bool> usable_measured(const std::optional<MemoryLimit>& limit);
/// "141.2 GiB usable of NVIDIA H200 SXM 141GB (measured)".
[[nodiscard]] std::string text_of(const MemoryLimit& limit);

}  // namespace ridge::cli
