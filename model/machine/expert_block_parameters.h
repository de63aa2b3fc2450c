// What the law `expert_block` knows of one kernel of an engine (`model/engine/expert_block.h`).
//
//   [model.engine.expert_block.vllm.marlin_int4]
//   start = { value = "42 us", source = "FIT" }
//
// Times of work on a multiprocessor are in its clocks and rates are per clock or shares of the data
// sheet's, so that values carry over to a chip that nobody measured.
#pragma once

#include <cstdint>
#include <span>

#include "hardware/quantity.h"
#include "model/machine/engine_law.h"
#include "model/machine/parameter.h"

namespace ridge::model {

struct ExpertBlock {
    Time start{};
    Time expert{};
    Time sort{};
    Cycles route{};
    Cycles pair{};
    double dram = 1.0;
    double held = 1.0;
    Cycles depth{};
    BytesPerCycle load{};
    double tensor = 1.0;
    Cycles tile{};
    double blocks = 1.0;
    double whole_waves = 1.0;
    double overlap = 1.0;
    BytesPerCycle rows{};
    double rows_dram = 1.0;
    BytesPerCycle tokens{};
    double foreign = 0.0;
    Cycles skip{};
};

[[nodiscard]] std::span<const Parameter<ExpertBlock>> expert_block_table();
[[nodiscard]] std::span<const LawAttribute> expert_block_attributes();

/// The places of the attributes in `expert_block_attributes()`.
enum class ExpertAttribute : std::uint8_t { rows, columns, unpacked };

}  // namespace ridge::model
