// The plans of all effects; `list.cpp` lists them in reading order.
#pragma once

#include "effects/core/effect.h"

namespace ridge::effects {

/// What a user may set; each effect lists its own in list.cpp.
namespace knob {
inline constexpr Knob rows{"rows", 1, 65536, 1, "roofline: rows of the product"};
inline constexpr Knob size{"size", 16, 32768, 4096, "precision: m = n = k of the product"};
inline constexpr Knob bytes{"bytes", 8192, 1073741824, 67108864, "memory-hierarchy: working set"};
inline constexpr Knob registers{"registers", 16, 248, 64, "occupancy: registers of a thread"};
inline constexpr Knob stride{"stride", 1, 128, 8, "coalescing: words between threads"};
inline constexpr Knob width{"width", 1, 64, 32, "bank-conflicts: words in a row"};
inline constexpr Knob paths{"paths", 1, 32, 4, "divergence: paths that a warp takes"};
inline constexpr Knob elements{"elements", 256, 268435456, 256, "launch: numbers in the tensor"};
inline constexpr Knob chain_elements{"elements", 1024, 1073741824, 67108864,
                                     "fusion: numbers in the tensor"};
inline constexpr Knob functions{"functions", 1, 8, 3, "recomputation: functions in the chain"};
inline constexpr Knob tiled_size{"size", 16, 16384, 2048, "tiling: m = n = k of the product"};
inline constexpr Knob blocks{"blocks", 0, 100000, 0,
                             "wave-quantization: tiles; 0: one more than SMs"};
inline constexpr Knob aligned_size{"size", 16, 16384, 2049, "alignment: m = n = k of the product"};
inline constexpr Knob cols{"cols", 128, 4096, 4096, "online-softmax: numbers in a row"};
inline constexpr Knob seq{"seq", 512, 8192, 4096, "flash-io: tokens of the one sequence"};
inline constexpr Knob tokens{"seq", 1024, 131072, 16384, "attention-vram: tokens"};
inline constexpr Knob batch{"batch", 1, 65536, 1024, "mlp: rows"};
inline constexpr Knob layer_width{"width", 16, 32768, 4096, "mlp: width of a layer"};
inline constexpr Knob layers{"layers", 1, 1024, 4, "mlp: layers"};
inline constexpr Knob steps{"steps", 1, 1000, 1, "mlp: training steps"};
}  // namespace knob

// machine.cpp: what a GPU is
[[nodiscard]] Plan roofline_plan(const Subject& subject);
[[nodiscard]] Plan precision_plan(const Subject& subject);
[[nodiscard]] Plan memory_hierarchy_plan(const Subject& subject);
[[nodiscard]] Plan occupancy_plan(const Subject& subject);

// access.cpp: how threads reach memory and branch
[[nodiscard]] Plan coalescing_plan(const Subject& subject);
[[nodiscard]] Plan bank_conflicts_plan(const Subject& subject);
[[nodiscard]] Plan divergence_plan(const Subject& subject);

// kernels.cpp: fewer kernels, fewer bytes
[[nodiscard]] Plan launch_plan(const Subject& subject);
[[nodiscard]] Plan fusion_plan(const Subject& subject);
[[nodiscard]] Plan recomputation_plan(const Subject& subject);

// products.cpp: matrix products
[[nodiscard]] Plan tiling_plan(const Subject& subject);
[[nodiscard]] Plan wave_quantization_plan(const Subject& subject);
[[nodiscard]] Plan alignment_plan(const Subject& subject);
[[nodiscard]] Plan matmul_mystery_plan(const Subject& subject);

// attention.cpp
[[nodiscard]] Plan online_softmax_plan(const Subject& subject);
[[nodiscard]] Plan flash_io_plan(const Subject& subject);
[[nodiscard]] Plan attention_vram_plan(const Subject& subject);

// systems.cpp: power, links, generations, whole networks
[[nodiscard]] Plan power_plan(const Subject& subject);
[[nodiscard]] Plan transfers_plan(const Subject& subject);
[[nodiscard]] Plan scaling_plan(const Subject& subject);
[[nodiscard]] Plan mlp_plan(const Subject& subject);

}  // namespace ridge::effects
