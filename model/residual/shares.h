// Building blocks of the features of several classes: logarithms, waves of blocks, and a time on a
// nominal GPU with the shares of compute and of memory in it. (docs/model.md K1)
//
//   const Waves waves = waves_of(rows * parts(n, 128.0), slots);
//   const Nominal nominal = nominal_of(flop, bytes);
//
// Limits: they depend on the GPU only through its number of multiprocessors, so more bandwidth does
// not change the features.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "model/core/real.h"
#include "model/residual/features.h"

namespace ridge::model {

[[nodiscard]] inline double log_of(std::int64_t value) {
    return std::log2(real(value));
}

/// log2 of the largest power of two, at most 2^`most`, that divides the value.
[[nodiscard]] inline double grain_of(std::int64_t value, int most) {
    return std::min(std::countr_zero(static_cast<std::uint64_t>(value)), most);
}

[[nodiscard]] inline double parts(double extent, double tile) {
    return std::ceil(extent / tile);
}

/// How full waves of `blocks` are on `slots` multiprocessors.
[[nodiscard]] inline double fullness(double blocks, double slots) {
    return blocks / (std::ceil(blocks / slots) * slots);
}

/// Blocks over multiprocessors, and how full their waves are.
struct Waves {
    double blocks = 0.0;
    double fullness = 0.0;
};

[[nodiscard]] inline Waves waves_of(double blocks, double slots) {
    return {std::log2(blocks / slots), model::fullness(blocks, slots)};
}

/// The time on a nominal GPU, and the shares of compute and memory in it.
struct Nominal {
    double compute = 0.0;
    double memory = 0.0;
    double us = 0.0;
};

[[nodiscard]] inline Nominal nominal_of(double flop, double bytes) {
    constexpr double flop_per_us = 5e8;
    constexpr double bytes_per_us = 3e6;
    constexpr double fixed_us = 4.0;
    const double compute = flop / flop_per_us;
    const double memory = bytes / bytes_per_us;
    const double whole = compute + memory + fixed_us;
    return {compute / whole, memory / whole, whole};
}

/// Whether a class is asked for; null asks for all.
[[nodiscard]] inline bool is_wanted(const Residuals* wanted, ResidualClass residual_class) {
    return wanted == nullptr || wanted->find(residual_class) != nullptr;
}

/// Features of bundled kernels and of library products that only records contain
/// (`features_kernels.cpp`).
[[nodiscard]] std::optional<ResidualFeatures> kernel_features_of(const Operation& operation,
                                                                 L2State l2,
                                                                 const Prediction& prediction,
                                                                 double slots,
                                                                 const Residuals* wanted);

}  // namespace ridge::model
