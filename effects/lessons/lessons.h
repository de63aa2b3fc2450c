// The plans of all effects; `list.cpp` lists them in reading order.
#pragma once

#include "effects/core/effect.h"

namespace ridge::effects {

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
