// Parameters of the energy model (docs/model.md EN1 to EN8), read from a GPU description.
//
//   if (machine.energy) ... machine.energy->dram ...    // pJ per byte
//
// They are the fields `model.energy.*`, at the boost clock and for normal random numbers. A GPU on
// which nothing was measured takes those of another and scales them by the laws of EN8.
#pragma once

#include <optional>
#include <span>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/machine/evidence.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// A kind of operands on the tensor cores.
struct TensorEnergy {
    double flop = 0.0;     ///< pJ
    double ceiling = 0.0;  ///< share of the clock that a busy pipe loses, whatever it draws
    double burst = 0.0;    ///< the same in the short runs on which the model of time rests
};

/// What data that toggle less leave of each part.
struct DataEnergy {
    double tensor = 1.0;
    double active = 1.0;
    double vector = 1.0;
    double bytes = 1.0;
};

struct EnergyParameters {
    Power idle{};              ///< clocks up, at `temperature`
    Power running{};           ///< more while any kernel runs
    double leakage = 0.0;      ///< share of `idle` per kelvin
    double temperature = 0.0;  ///< degrees Celsius
    double dram = 0.0;         ///< pJ per byte
    double l2 = 0.0;
    double operands = 0.0;  ///< pJ per byte of L2 that tensor cores take
    double link = 0.0;
    double fma = 0.0;       ///< pJ per FLOP of 32 bits
    double special = 0.0;   ///< pJ each
    TensorEnergy wide{};    ///< 32 bits and more
    TensorEnergy half{};    ///< 16 bits
    TensorEnergy byte{};    ///< fp8
    TensorEnergy whole{};   ///< int8
    TensorEnergy four{};    ///< 4 bits
    Power tensor_active{};  ///< while tensor kernels feed their pipes
    Power fma_active{};     ///< the same of products on the vector pipe
    Power issue_active{};   ///< while all multiprocessors issue vector instructions
    Power waiting{};        ///< while the warps of a kernel wait for each other and for data
    double exponent = 0.0;  ///< of the clock, in the energy on the chip
    DataEnergy zeros{};
    DataEnergy constant{};
    Time gap{};              ///< between two runs
    double regulated = 1.0;  ///< share of the limit at which the power settles
    double slowest = 0.1;    ///< lowest clock over boost
    double band = 1.0;       ///< half-width of the 80 % band of the power
    double band_related = 1.0;
    double band_foreign = 1.0;
    Power of_limit{};  ///< of the GPU that was measured
    FlopRate of_peak{};
    Evidence evidence = Evidence::foreign;
};

[[nodiscard]] std::span<const Section<EnergyParameters>> energy_sections();

/// Empty if the description states no values or no power limit.
[[nodiscard]] std::optional<EnergyParameters> read_energy_parameters(
    const hardware::Description& gpu, FlopRate peak);

}  // namespace ridge::model
