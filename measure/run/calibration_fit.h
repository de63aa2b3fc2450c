// The size ramp of memory bandwidth: small transfers are bound by latency, large ones by bandwidth.
//
//   const RampFit fit = fit_ramp({{.bytes = 1e6, .seconds = 2.3e-6}, ...});
//   fit.bytes_in_flight = fit.latency x fit.bandwidth          // Little's law
//
// Model: t(V) = (latency^p + (V / bandwidth)^p)^(1/p). By Little's law (1961) the attained
// bandwidth V / t of a transfer that keeps V bytes in flight is V / latency until it saturates at
// `bandwidth`; p says how smoothly (p = 1: the times add up; p large: the larger one counts).
//
// Method: `least_squares` with plain squares of the relative errors,
// started from the smallest time, the largest rate and p = 2. Limits: p is kept within 0.5 to 16,
// beyond which the data cannot tell.
#pragma once

#include <span>

#include "hardware/quantity.h"
#include "measure/statistics/least_squares.h"

namespace ridge::measure {

struct RampPoint {
    Bytes bytes;
    Time time;
};

struct RampFit {
    Time latency;  ///< effective: kernel start, address translation, queues
    Bandwidth bandwidth;
    double exponent = 2.0;
    double error = 0.0;  ///< root mean square of the relative errors of the times
    FitStatus status = FitStatus::converged;
    double latency_error = 0.0;  ///< relative standard error of the latency

    /// Whether the points determine the latency and the fit found its minimum.
    [[nodiscard]] bool determined() const {
        return (status == FitStatus::converged || status == FitStatus::stalled) &&
               latency_error < 1.0;
    }

    [[nodiscard]] Bytes bytes_in_flight() const { return latency * bandwidth; }
    [[nodiscard]] Time time_of(Bytes bytes) const;
};

/// InputError when there are fewer than four points or one is not positive.
[[nodiscard]] RampFit fit_ramp(std::span<const RampPoint> points);

}  // namespace ridge::measure
