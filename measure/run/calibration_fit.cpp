#include "measure/run/calibration_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

using Parameters = Eigen::Vector3d;  ///< log latency, log bandwidth, log exponent

double log_time(const Parameters& x, double bytes) {
    const double p = std::exp(x[2]);
    const double a = p * x[0];
    const double b = p * (std::log(bytes) - x[1]);
    const double larger = std::max(a, b);
    return (larger + std::log1p(std::exp(-std::abs(a - b)))) / p;
}

Eigen::VectorXd residuals(const Parameters& x, std::span<const RampPoint> points) {
    Eigen::VectorXd r(static_cast<Eigen::Index>(points.size()));
    for (Eigen::Index i = 0; i < r.size(); ++i) {
        const RampPoint& point = points[static_cast<std::size_t>(i)];
        r[i] = log_time(x, point.bytes.base()) - std::log(point.time.base());
    }
    return r;
}

Eigen::MatrixXd jacobian(const Parameters& x, std::span<const RampPoint> points) {
    constexpr double step = 1e-6;
    Eigen::MatrixXd j(static_cast<Eigen::Index>(points.size()), 3);
    for (Eigen::Index column = 0; column < 3; ++column) {
        Parameters up = x;
        Parameters down = x;
        up[column] += step;
        down[column] -= step;
        j.col(column) = (residuals(up, points) - residuals(down, points)) / (2.0 * step);
    }
    return j;
}

Parameters start(std::span<const RampPoint> points) {
    double shortest = points.front().time.base();
    double fastest = 0.0;
    for (const RampPoint& point : points) {
        shortest = std::min(shortest, point.time.base());
        fastest = std::max(fastest, (point.bytes / point.time).base());
    }
    return {std::log(shortest), std::log(fastest), std::log(2.0)};
}

Parameters bounded(Parameters x) {
    x[2] = std::clamp(x[2], std::log(0.5), std::log(16.0));
    return x;
}

Parameters levenberg_marquardt(std::span<const RampPoint> points) {
    constexpr int most_steps = 200;
    Parameters x = start(points);
    double damping = 1e-3;
    double cost = residuals(x, points).squaredNorm();
    for (int step = 0; step < most_steps && damping < 1e12; ++step) {
        const Eigen::MatrixXd j = jacobian(x, points);
        const Eigen::Matrix3d normal = j.transpose() * j;
        const Eigen::Vector3d gradient = j.transpose() * residuals(x, points);
        Eigen::Matrix3d damped = normal;
        damped.diagonal() += damping * (normal.diagonal().array() + 1e-12).matrix();
        const Parameters next = bounded(x - damped.ldlt().solve(gradient));
        const double next_cost = residuals(next, points).squaredNorm();
        if (!(next_cost < cost)) {
            damping *= 10.0;
            continue;
        }
        const bool settled = cost - next_cost <= 1e-14 * cost;
        x = next;
        cost = next_cost;
        damping = std::max(damping / 10.0, 1e-12);
        if (settled) break;
    }
    return x;
}

}  // namespace

Time RampFit::time_of(Bytes bytes) const {
    return Time::from_base(std::exp(log_time(
        {std::log(latency.base()), std::log(bandwidth.base()), std::log(exponent)}, bytes.base())));
}

RampFit fit_ramp(std::span<const RampPoint> points) {
    if (points.size() < 4) throw InputError("a ramp needs at least four sizes");
    for (const RampPoint& point : points) {
        if (point.bytes <= Bytes{} || point.time <= Time{}) {
            throw InputError("a ramp needs positive sizes and times");
        }
    }
    const Parameters x = levenberg_marquardt(points);
    const Eigen::VectorXd r = residuals(x, points);
    return {.latency = Time::from_base(std::exp(x[0])),
            .bandwidth = Bandwidth::from_base(std::exp(x[1])),
            .exponent = std::exp(x[2]),
            .error = std::sqrt(r.squaredNorm() / static_cast<double>(points.size()))};
}

}  // namespace ridge::measure
