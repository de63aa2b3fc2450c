// The tile that DeepGEMM chooses for a product with scales by blocks.
//
//   const DeepGemmTile tile = deepgemm_tile(op, 132, DeepGemmKernels::hopper);
//
// Method: its own rules (deepseek-ai/DeepGEMM, csrc/jit_kernels/heuristics/sm90.hpp and sm100.hpp, 2026).
// On Hopper: the fewest cycles of the L2 and of shared memory over the waves' use, among tiles that fit.
// On Blackwell: one wave first, then pairs of multiprocessors, few waves, a full last wave, small tiles.
// Older releases chose by waves alone. Limits: row-major operands, results of 16 bits.
#pragma once

#include <cstdint>

#include "model/core/implementation.h"
#include "model/core/operation.h"

namespace ridge::model {

enum class DeepGemmKernels : std::uint8_t { hopper, blackwell };

struct DeepGemmTile {
    Tile tile;
    std::int32_t cluster_rows = 1;
    std::int32_t cluster_columns = 1;
};

[[nodiscard]] DeepGemmTile deepgemm_tile(const Matmul& op, std::int64_t sms,
                                         DeepGemmKernels kernels);

/// Whether its result fills so many registers that DeepGEMM runs it with three stages of operands, too.
[[nodiscard]] bool is_largest_on_hopper(const Tile& tile);

}  // namespace ridge::model
