// Joules of a program: of its ranges by the energy counter, and of its kernels by regression.
//
//   const ProgramEnergy found = energy_of(trace, readings);
//   found.classes[0].name, found.classes[0].energy      // the kernel that takes most
//   found.ranges[0].energy                              // of all ranges of one name
//
// Method (equation EN10 of docs/model.md). The counter moves in steps; between two of them the GPU took
// P_rest dt + sum of P_class t_class, where t_class is the time that kernels of a class ran. Least
// squares over all steps give the powers, none below zero. Classes that always run in the same
// proportion cannot be told apart: each power is pulled towards the mean power above rest by an
// expectation of half of it, and the standard error says how much the steps told. The energies are
// scaled so that they sum to what the counter counted. A range takes what the counter moved from its
// start to its end, between steps in proportion to time.
//
// Limits: one GPU. Steps are 20 to 100 ms apart, so a program needs seconds, and a range a third of
// one. What other programs on the GPU take is counted too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hardware/quantity.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

/// The energy counter just after a step.
struct EnergyReading {
    std::int64_t time_ns = 0;  ///< since 1970
    double joules = 0.0;
};

struct ClassEnergy {
    std::string
        name;  ///< of the kernel, short; "others", "rest" (while nothing runs, and under all)
    std::int64_t kernels = 0;
    Time busy;
    Energy energy;       ///< above rest; of "rest" itself
    double error = 0.0;  ///< standard error over the energy
};

struct RangeEnergy {
    std::string name;
    std::int64_t count = 0;
    Time time;
    Energy energy;
    double error = 0.0;  ///< of the ends, which lie between steps
};

struct ProgramEnergy {
    std::size_t steps = 0;
    Time span;
    Energy all;
    std::vector<ClassEnergy> classes;  ///< the largest first
    std::vector<RangeEnergy> ranges;   ///< long enough ones, the largest first
};

/// Without steps while kernels ran, everything is empty.
[[nodiscard]] ProgramEnergy energy_of(const Trace& trace, std::span<const EnergyReading> readings);

}  // namespace ridge::programs
