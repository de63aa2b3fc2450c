// How far predictions of matrix products may be trusted: an 80 % band per kernel set and regime.
//
//   const ResidualBand band = matmul_band(MatmulKernels::hopper, MatmulRegime::memory);
//   low = time * band.low; high = time * band.high;
//
// Method: quantiles at 8 and 92 % of measured over predicted time, on rows that were held out of
// the fit; a little wider than 80 %, so that other rows do not fall below 75 %. A band is widened
// (in the logarithm) for what was not validated: other GPUs of the family, shapes outside the
// validated range, estimated parameters.
#pragma once

#include "model/matmul_model.h"

namespace ridge::model {

struct ResidualBand {
    double low = 1.0;  ///< measured over predicted
    double high = 1.0;

    /// Both sides moved away from 1 by `factor` in the logarithm.
    [[nodiscard]] ResidualBand widened(double factor) const;
};

/// Kernel sets whose residuals differ.
enum class MatmulKernels : std::uint8_t { hopper, ampere, eight_bit, vector };

/// The band of a regime; of the whole set where a regime had fewer than 20 rows.
[[nodiscard]] ResidualBand matmul_band(MatmulKernels kernels, MatmulRegime regime);

/// Widening factors of `widened`.
inline constexpr double unmeasured_gpu = 1.6;  ///< Hopper to Hopper 5 %, Volta to Ampere 17 %
inline constexpr double other_family = 2.5;    ///< parameters of another family
inline constexpr double outside_range = 1.5;
inline constexpr double estimated_cliff = 4.0;  ///< alignment shares are estimates

/// Whether the shape, type and state lie where residuals were taken.
[[nodiscard]] bool validated(const Matmul& op, MatmulPipe pipe, L2State l2);

}  // namespace ridge::model
