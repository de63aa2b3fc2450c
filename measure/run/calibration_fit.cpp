#include "measure/run/calibration_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

double log_time(double latency, double bandwidth, double exponent, double bytes) {
    const double a = exponent * std::log(latency);
    const double b = exponent * std::log(bytes / bandwidth);
    return (std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)))) / exponent;
}

/// Start of the fit: the smallest time, the largest rate and p = 2.
std::vector<double> start_of(std::span<const RampPoint> points) {
    double shortest = points.front().time.base();
    double fastest = 0.0;
    for (const RampPoint& point : points) {
        shortest = std::min(shortest, point.time.base());
        fastest = std::max(fastest, (point.bytes / point.time).base());
    }
    return {shortest, fastest, 2.0};
}

}  // namespace

Time RampFit::time_of(Bytes bytes) const {
    return Time::from_base(
        std::exp(log_time(latency.base(), bandwidth.base(), exponent, bytes.base())));
}

RampFit fit_ramp(std::span<const RampPoint> points) {
    if (points.size() < 4) throw InputError("a ramp needs at least four sizes");
    for (const RampPoint& point : points) {
        if (point.bytes <= Bytes{} || point.time <= Time{}) {
            throw InputError("a ramp needs positive sizes and times");
        }
    }
    const Residuals residuals = [points](std::span<const double> p) {
        std::vector<double> logs;
        for (const RampPoint& point : points) {
            logs.push_back(log_time(p[0], p[1], p[2], point.bytes.base()) -
                           std::log(point.time.base()));
        }
        return logs;
    };
    constexpr double any = std::numeric_limits<double>::max();
    constexpr double tiny = std::numeric_limits<double>::min();
    const LeastSquaresSummary fit =
        least_squares(residuals, start_of(points),
                      {.scale = std::numeric_limits<double>::infinity(),
                       .pull = 0.0,
                       .steps = 200,
                       .limits = {{tiny, any}, {tiny, any}, {0.5, 16.0}}});
    const auto count = static_cast<double>(points.size());
    return {.latency = Time::from_base(fit.values[0]),
            .bandwidth = Bandwidth::from_base(fit.values[1]),
            .exponent = fit.values[2],
            .error = std::sqrt(fit.cost / count),
            .status = fit.status,
            .latency_error = fit.standard_errors[0]};
}

}  // namespace ridge::measure
