// What the law `tiled_product` knows of one kernel of an engine (`model/engine/tiled_product.h`).
//
//   [model.engine.tiled_product.vllm.fp8]
//   start = { value = "2.4 us", source = "FIT" }
//   step_1 = { value = "180 clk", source = "FIT" }     // for lines of the dispatch with `step = 1`
//
// Times of work on a multiprocessor are in its clocks and rates are shares of the data sheet's, so that
// values carry over to a chip that nobody measured.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "hardware/quantity.h"
#include "model/machine/engine_law.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// Largest numbers that `step` and `end` may have in a dispatch.
inline constexpr std::size_t most_steps = 6;
inline constexpr std::size_t most_ends = 4;

struct TiledProduct {
    Time start{};
    std::array<Cycles, most_steps> step{};
    std::array<Cycles, most_ends> end{};
    double tensor = 0.0;
    double later_end = 1.0;
    double whole_waves = 1.0;
    double dram = 1.0;
    double kept = 1.0;
    double steepness = 4.0;
    BytesPerCycle l2{};
    Time split_start{};
    double reread = 0.0;
    BytesPerCycle edge{};
    double sustained = 0.0;
    double overlap = 4.0;
    Time quantise{};
    Cycles quantise_row{};
    Cycles quantise_start{};
    Cycles quantise_element{};
    double quantise_bytes = 0.0;
    Time host{};
    Time host_odd{};
};

[[nodiscard]] std::span<const Parameter<TiledProduct>> tiled_product_table();
[[nodiscard]] std::span<const LawAttribute> tiled_product_attributes();

/// The places of the attributes in `tiled_product_attributes()`.
enum class TileAttribute : std::uint8_t {
    rows,
    columns,
    depth,
    cluster_rows,
    cluster_columns,
    blocks,
    split,
    chooses,
    step,
    end,
    overlaps,
    quantises,
    quantise_rows,
    copies,
    rotates,
    alone,
    host_rows
};

}  // namespace ridge::model
