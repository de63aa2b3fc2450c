// How the tokens of a block of experts are spread over experts and GPUs.
//
//   const MoeLoad load = moe_load(op);
//   load.pairs / load.active     // rows of an expert's products, on average
//
// Method (docs/model.md X1): loads of experts follow p(load) ~ load^-exponent from one token to 0.8
// of all (from 0.01 to 2 where there are fewer pairs than experts), scaled to their sum; beyond that
// the busiest GPU has no fewer pairs than where the first law ends. The busiest
// of `ep` GPUs is the expected largest of as many sums of experts / ep loads: a gamma distribution by
// Wilson and Hilferty, at the median rank of the largest by Blom. Loads are whole tokens, so that
// experts under half a token have none.
//
// Limits: expectations, no draw of one batch; experts are placed on GPUs at random.
#pragma once

#include "model/core/operation.h"

namespace ridge::model {

/// What the busiest GPU gets of the tokens.
struct MoeLoad {
    double pairs = 0.0;    ///< rows of its grouped products
    double experts = 0.0;  ///< that it holds
    double active = 0.0;   ///< of them, those that some token goes to
    double inner = 0.0;    ///< its share of the intermediate
};
[[nodiscard]] MoeLoad moe_load(const Moe& op);

}  // namespace ridge::model
