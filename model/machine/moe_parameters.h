// Parameters of the time model of a block of experts (docs/model.md X5 to X7), read from a GPU
// description.
//
//   if (machine.moe) ... machine.moe->row_rate ...
//
// They are the fields `model.moe.*`. The products themselves use the parameters of `model.matmul`.
#pragma once

#include <optional>
#include <span>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/machine/evidence.h"
#include "model/machine/parameter.h"

namespace ridge::model {

struct MoeParameters {
    Time start{};                 ///< fixed times of the kernels of a block
    Time sort{};                  ///< additional time above the number of tokens that one thread
                                  ///< block sorts
    Time quantise{};              ///< additional time for experts of 8 bits and fewer
    Time step{};                  ///< 128 bytes along k of products that are not split
    Time expert{};                ///< of each expert that has rows
    double product_factor = 1.0;  ///< grouped products over products of the library
    double uneven = 0.0;          ///< additional share when loads follow a power law
    double overlap = 0.0;         ///< share of the shorter of DRAM and tensor time that is not
                                  ///< hidden
    BytesPerCycle row_rate{};     ///< rows between the kernels, per multiprocessor
    BytesPerCycle token_rate{};   ///< tokens in and out, per multiprocessor
    Evidence evidence = Evidence::foreign;
};

[[nodiscard]] std::span<const Section<MoeParameters>> moe_sections();

/// Empty if the description and its architecture state no values.
[[nodiscard]] std::optional<MoeParameters> read_moe_parameters(const hardware::Description& gpu);

}  // namespace ridge::model
