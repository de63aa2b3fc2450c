// The kernels of a library that carry a convolution out, each with the law of its class. (docs/model.md S13)
//
//   const auto parts = kernel_parts(call, ElementType::unknown, kernels);   // kernels as a trace names them
//   parts[0].law;                       // "kernel.xmma_wgrad.16"
//   parts[0].counts[Count::padded];     // products in whole tiles
//
// software/pytorch-2.11/kernel-classes.toml says which names form a class, which of the three products it
// computes and how its name states its tile; kernels.toml has the fitted laws (scripts/fit/kernels.py).
// Limits: a block is taken to compute one tile; the products of a class of either way are those forward.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/embedded.h"
#include "programs/aten/call.h"
#include "programs/aten/counts.h"

namespace ridge::programs {

/// The embedded file of classes; the build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_kernel_classes();

struct KernelSeen {
    std::string_view name;
    std::int64_t blocks = 0;
    std::int64_t threads = 0;  ///< of all blocks
    bool plane = false;        ///< blocks lie along two dimensions
    Time measured{};
};

/// The kernels of one class and tile in a call.
struct KernelPart {
    std::string law;
    Counts counts{};
    Time measured{};
};

struct Tile {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t depth = 0;   ///< of a step along k; 0: the name does not say
    std::int64_t groups = 1;  ///< of a convolution, side by side in a tile

    friend bool operator==(const Tile& a, const Tile& b) {
        return a.rows == b.rows && a.columns == b.columns && a.depth == b.depth &&
               a.groups == b.groups;
    }
};
/// The first "128x64" in a name, "128x64x32" or "128x64_32x3"; with `powers` exponents of two after the first number from 64 on in "<...>".
[[nodiscard]] std::optional<Tile> tile_of(std::string_view name, bool powers);

/// Empty for other operators.
[[nodiscard]] std::vector<KernelPart> kernel_parts(const Call& call, ElementType hint,
                                                   std::span<const KernelSeen> kernels);

}  // namespace ridge::programs
