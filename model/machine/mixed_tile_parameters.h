// What the law `mixed_tiles` knows of one kernel of an engine (`model/engine/mixed_tiles.h`).
//
//   [model.engine.mixed_tiles.vllm.fa2_mixed]
//   block = { value = "11000 clk", source = "FIT" }
//
// Clocks are those of 128 elements of a head; other head dimensions take theirs in proportion.
#pragma once

#include <cstdint>
#include <span>

#include "hardware/quantity.h"
#include "model/machine/engine_law.h"
#include "model/machine/parameter.h"

namespace ridge::model {

struct MixedTiles {
    Time start{};
    Cycles block{};
    Cycles decode_block{};
    Cycles alone{};
    Cycles tile{};
    double overlap = 2.0;
    double dram = 1.0;
    double held = 1.0;
    double again = 0.0;
};
[[nodiscard]] std::span<const Parameter<MixedTiles>> mixed_tiles_table();
[[nodiscard]] std::span<const LawAttribute> mixed_tiles_attributes();
enum class MixedAttribute : std::uint8_t { rows, keys };

}  // namespace ridge::model
