// Fits memory bandwidth over transfer size: latency bounds small transfers, bandwidth large ones.
//
//   const RampFit fit = fit_ramp({{.bytes = 1e6, .seconds = 2.3e-6}, ...});
//   fit.bytes_in_flight = fit.latency x fit.bandwidth          // Little's law
//
// Model: t(V) = (latency^p + (V / bandwidth)^p)^(1/p). By Little's law (1961), a transfer that
// keeps V bytes in flight attains the bandwidth V / t = V / latency until it saturates at
// `bandwidth`. p says how sharp the transition is (p = 1: the two times add up; large p: the longer
// one counts).
//
// Method: `least_squares` with plain squares of the relative errors, starting from the smallest
// time, the largest rate and p = 2.
// Limits: p is kept between 0.5 and 16; the data cannot distinguish values beyond that.
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
    Time latency;  ///< effective: includes kernel start, address translation and queues
    Bandwidth bandwidth;
    double exponent = 2.0;
    double error = 0.0;  ///< root mean square of the relative errors of the times
    FitStatus status = FitStatus::converged;
    double latency_error = 0.0;  ///< relative standard error of the latency

    /// Whether the points determine the latency and the fit reached its minimum.
    [[nodiscard]] bool determined() const {
        return (status == FitStatus::converged || status == FitStatus::stalled) &&
               latency_error < 1.0;
    }

    [[nodiscard]] Bytes bytes_in_flight() const { return latency * bandwidth; }
    [[nodiscard]] Time time_of(Bytes bytes) const;
};

/// InputError when there are fewer than four points or when a size or time is not positive.
[[nodiscard]] RampFit fit_ramp(std::span<const RampPoint> points);

}  // namespace ridge::measure
