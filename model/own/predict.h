// A kernel of one's own, known by its figures: FLOP, bytes, launch. What it should take, and where
// the rest of a measured time may come from. The entry point is `model/predict.h`.
//
//   const OwnKernel product{.flop = 137'000'000'000, .type = DataType::bf16,
//                           .pipe = KernelPipe::tensor, .bytes = 101'000'000, .grid = 512,
//                           .block = 256, .registers = 168, .shared = 204'800};
//   const OwnTime time = own_time(product, machine);
//   time.waves, time.resident_warps          // 3.9 of 132 blocks, 8
//   gap_of(product, execution, machine, 240.0 * units::us)     // parts that sum to 240 us
//
// Method (equations KP1 to KP4 of docs/kernel.md): FLOP over the peak of their pipe, lengthened by
// the last wave; bytes over the rates of L2 and DRAM; DRAM also over what the resident warps can
// have in flight (Little). The terms join in a 4-norm.
//
// Limits: a roofline with waves and occupancy; nothing is fitted. Two thirds of the DRAM bytes count
// as read.
#pragma once

#include <string_view>
#include <vector>

#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"
#include "model/machine/occupancy.h"

namespace ridge::model {

/// The parts of the time, without the launch.
struct OwnTime {
    Time compute;   ///< FLOP at the peak of their pipe
    Time in_waves;  ///< the same, over the slots that hold a block
    Time dram;      ///< bytes at the rate of a good stream
    Time starved;   ///< the same, with no more in flight than the resident warps have
    Time l2;
    double overlap = 0.0;         ///< exponent of the norm that joins them; 0: the longest alone
    double waves = 0.0;           ///< 0: not known
    double wave_fill = 1.0;       ///< share of the slots of all waves that hold a block
    double resident_warps = 0.0;  ///< of a multiprocessor, with this grid; 0: not known
    OccupancyLimiter limiter = OccupancyLimiter::threads;

    /// All of them together. (eq. KP3)
    [[nodiscard]] Time joined() const;
};

/// The block must fit, and its type have a rate (`predict` says so otherwise).
[[nodiscard]] OwnTime own_time(const OwnKernel& op, const Machine& machine);

[[nodiscard]] Outcome predict(const OwnKernel& op, const Execution& execution,
                              const Machine& machine);

struct GapPart {
    std::string_view name;
    Time time;
};
/// Parts of a measured time: the roofline, what each step to the prediction adds, and what is left.
/// They sum to it. Empty if the kernel is not modelled. (eq. KP4)
[[nodiscard]] std::vector<GapPart> gap_of(const OwnKernel& op, const Execution& execution,
                                          const Machine& machine, Time measured);

}  // namespace ridge::model
