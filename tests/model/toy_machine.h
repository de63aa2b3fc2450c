// A machine of round numbers, for times worked by hand.
#pragma once

#include "model/machine/machine.h"

namespace ridge::model {

/// 10 multiprocessors with 1000 FLOP and 10 exp2 per ns each, 1 GHz, 1 TB/s.
inline Machine toy() {
    Machine gpu;
    gpu.name = "toy";
    gpu.compute_capability = 90;
    gpu.sm_count = 10;
    gpu.boost_clock = 1e9 * units::Hz;
    gpu.tensor_clock = gpu.boost_clock;
    gpu.tensor[static_cast<std::size_t>(DataType::bf16)] = FlopRate::from_base(1e13);
    gpu.special_rate = 1e11;
    gpu.dram_bandwidth = units::TB / units::s;
    gpu.l2 = {.size = 100.0 * units::MB, .steepness = 10.0, .absorbed = 0.1145, .dirty = 0.3};
    return gpu;
}

}  // namespace ridge::model
