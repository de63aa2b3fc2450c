// How the tokens of a block of experts are distributed over experts and GPUs.
//
//   const MoeLoad load = moe_load(op);
//   load.pairs / load.active     // rows of an expert's products, on average
//
// Method (docs/model.md X1): loads of experts follow p(load) ~ load^-exponent from one token to 0.8
// of all tokens (from 0.01 to 2 if there are fewer pairs than experts), scaled to their sum. With
// more pairs than experts, the busiest GPU has no fewer pairs than the law for few pairs gives at
// its end. The load of the busiest of `ep` GPUs is the expected largest of `ep` sums of experts /
// ep loads: a gamma distribution by Wilson and Hilferty, at the median rank of the largest by Blom.
// Loads are whole tokens, so experts with less than half a token have none.
//
// Limits: expected values, not a draw of one batch; experts are placed on GPUs at random.
#pragma once

#include <array>
#include <cstddef>

#include "model/core/operation.h"

namespace ridge::model {

/// The busiest GPU's part of the tokens.
struct MoeLoad {
    double pairs = 0.0;    ///< rows of its grouped products
    double experts = 0.0;  ///< experts that it holds
    double active = 0.0;   ///< experts among them that some token goes to
    double inner = 0.0;    ///< its share of the intermediate
};
[[nodiscard]] MoeLoad moe_load(const Moe& op);

/// The rows of each expert of the busiest GPU, as equally likely values of their law. (X8)
struct ExpertLoads {
    static constexpr std::size_t quantiles = 64;
    double pairs = 0.0;    ///< of all experts of the GPU
    double experts = 0.0;  ///< that the GPU holds
    double active = 0.0;   ///< expected number of those with rows
    std::array<double, quantiles> rows{};
    std::size_t count = quantiles;  ///< of `rows` that differ; 1 if the load is balanced

    /// Expected number of tiles of so many rows that cover every expert's rows.
    [[nodiscard]] double tiles(double rows_of_tile) const;
};
[[nodiscard]] ExpertLoads expert_loads(const Moe& op);

}  // namespace ridge::model
