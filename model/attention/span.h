// The on-chip time of tiles on multiprocessors, shared by the forward and backward pass of
// attention (eq. T1, T3).
#pragma once

#include <algorithm>
#include <cmath>

#include "model/core/operation.h"
#include "model/machine/attention_parameters.h"
#include "model/machine/machine.h"

namespace ridge::model::detail {

/// Times of one block of scores.
struct BlockPrice {
    Time tensor;
    Time softmax;
    Time whole;  ///< including what loading adds
};

/// What one block of scores requires of its multiprocessor.
struct BlockWork {
    Flop flop;                     ///< of the matmuls
    double tensor_fraction = 1.0;  ///< share of the peak that they reach
    double scores = 0.0;           ///< one exp2 each
    Bytes moved{};                 ///< loaded or stored at `bandwidth`
    Bandwidth bandwidth{};         ///< 0: hidden
};

/// Matmuls, exponentials and loads of one block. (eq. T1)
[[nodiscard]] inline BlockPrice price_block(const Machine& machine, DataType type,
                                            const BlockWork& work, const FlashParameters& fitted) {
    const auto sms = static_cast<double>(machine.sm_count);
    const FlopRate peak = machine.tensor_peak(type)
                              ? *machine.tensor_peak(type)
                              : machine.vector_peak(type).value_or(FlopRate{});
    BlockPrice price;
    price.tensor = work.flop / (peak * (work.tensor_fraction / sms));
    if (machine.special_rate) {
        price.softmax =
            Time::from_base(fitted.softmax_fraction * work.scores * sms / *machine.special_rate);
    }
    price.whole = price.tensor + price.softmax;
    if (work.bandwidth > Bandwidth{}) {
        price.whole = std::max(price.whole, work.moved / work.bandwidth);
    }
    return price;
}

/// Tiles of one kernel, from the point of view of the multiprocessors.
struct TileLoad {
    double pieces = 0.0;  ///< thread blocks
    Time average{};       ///< work per SM
    Time longest{};       ///< of one piece
    Time shortest{};
    double tail = 0.0;        ///< share of the longest piece that may add to the average; 0: equal
                              ///< pieces
    double head_start = 0.0;  ///< share of the average that is done when the last long piece starts
};

/// Time of the busiest SM: the longest piece alone, or the average plus what runs on after it,
/// which is the idle part of the last wave of equal pieces or the tail of a causal piece. (eq. T3)
[[nodiscard]] inline Time span_of(const TileLoad& load, double sms) {
    const double waves = load.pieces / sms;
    const Time idle = (std::ceil(waves) - waves) * load.shortest;
    Time span = std::max(load.longest, load.average + idle);
    if (waves > 1.0 && load.tail > 0.0) {
        span = std::max(span, (1.0 - load.head_start) * load.average + load.tail * load.longest);
    }
    return span;
}

/// Slow-down of a long run as the power limit lowers the clock. (eq. T6)
[[nodiscard]] inline Time droop_of(Time run, const FlashParameters& fitted) {
    return fitted.droop * (run / (run + fitted.droop_time)) * run;
}

}  // namespace ridge::model::detail
