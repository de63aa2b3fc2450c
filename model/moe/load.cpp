#include "model/moe/load.h"

#include <algorithm>
#include <cmath>

#include "model/core/real.h"

namespace ridge::model {
namespace {

/// A power law between two bounds.
struct PowerLaw {
    double exponent;
    double least;
    double most;

    /// Integral of x^(power - exponent) from `low` to `most`.
    [[nodiscard]] double moment(double power, double low) const {
        const double s = power - exponent + 1.0;
        if (std::abs(s) < 1e-9) return std::log(most / low);
        return (std::pow(most, s) - std::pow(low, s)) / s;
    }
    [[nodiscard]] double mean() const { return moment(1.0, least) / moment(0.0, least); }
    /// Variance over the square of the mean.
    [[nodiscard]] double spread() const {
        const double first = mean();
        return moment(2.0, least) / moment(0.0, least) / (first * first) - 1.0;
    }
};

constexpr double least_share = 0.01;  ///< of loads, if there are at most as many pairs as experts
constexpr double most_share = 2.0;

/// Whether loads start at one token: there are more pairs than experts, and tokens to choose from.
bool has_many_pairs(const Moe& op) {
    return op.tokens * op.topk > op.experts && 0.8 * real(op.tokens) > 1.0;
}

/// The value below which a standard normal variable lies with `probability` >= 0.5. [Abramowitz and
/// Stegun, 26.2.23: within 4.5e-4]
double normal_quantile(double probability) {
    const double t = std::sqrt(-2.0 * std::log(1.0 - probability));
    const double above = 2.515517 + t * (0.802853 + t * 0.010328);
    const double below = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    return std::max(0.0, t - above / below);
}

/// Expected largest of `count` gamma variables of this mean and variance.
double largest_of(double count, double mean, double variance) {
    if (variance <= 0.0) return mean;
    const double shape = mean * mean / variance;
    const double rank = (count - 0.375) / (count + 0.25);
    const double root =
        1.0 - 1.0 / (9.0 * shape) + normal_quantile(rank) / (3.0 * std::sqrt(shape));
    return mean * std::pow(std::max(0.0, root), 3.0);
}

/// Pairs of the GPU that has the most of the `pairs` in all.
double busiest_pairs(const Moe& op, const PowerLaw& law, double pairs) {
    const double experts = real(op.experts);
    const double mine = experts / real(op.ep);
    if (op.ep == 1) return pairs;
    // Loads are shares of one sum, which lowers their spread.
    const double spread = law.spread() * (1.0 - 1.0 / experts) / (1.0 + law.spread() / experts);
    const double each = pairs / experts;
    const double apart = 1.0 - (mine - 1.0) / (experts - 1.0);
    return largest_of(real(op.ep), pairs / real(op.ep), mine * each * each * spread * apart);
}

/// Experts with at least half a token. The tokens that rounding leaves over go to one expert each.
double active_experts(const PowerLaw& law, double experts, double pairs) {
    const double token = law.mean() * experts / pairs;  // in units of the law
    const double half = std::clamp(0.5 * token, law.least, law.most);
    const double counted = experts * law.moment(0.0, half) / law.moment(0.0, law.least);
    const double left = pairs * (1.0 - law.moment(1.0, half) / law.moment(1.0, law.least));
    return left > counted ? left : counted;
}

struct Busiest {
    double pairs;
    double active;
};

Busiest busiest_of(const Moe& op, const PowerLaw& law, double pairs) {
    const double mine = std::max(1.0, busiest_pairs(op, law, pairs));
    return {.pairs = mine, .active = active_experts(law, real(op.experts / op.ep), mine)};
}

}  // namespace

MoeLoad moe_load(const Moe& op) {
    MoeLoad load;
    load.experts = real(op.experts / op.ep);
    load.inner = real(op.intermediate / op.tp);
    const double most = real(op.tokens) * std::min(load.experts, real(op.topk));
    if (op.load.balanced()) {
        load.pairs = std::max(1.0, real(op.tokens * op.topk) / real(op.ep));
        load.active = std::min(load.experts, load.pairs);
        return load;
    }
    const double exponent = op.load.exponent();
    const double pairs = real(op.tokens * op.topk);
    const PowerLaw few{.exponent = exponent, .least = least_share, .most = most_share};
    Busiest busiest = busiest_of(op, few, std::min(pairs, real(op.experts)));
    if (has_many_pairs(op)) {
        // The law for few pairs is the less even one; the maximum ensures that more tokens never
        // mean fewer pairs.
        const PowerLaw many{.exponent = exponent, .least = 1.0, .most = 0.8 * real(op.tokens)};
        const Busiest more = busiest_of(op, many, pairs);
        busiest = {.pairs = std::max(busiest.pairs, more.pairs),
                   .active = std::max(busiest.active, more.active)};
    }
    load.pairs = std::clamp(busiest.pairs, 1.0, std::max(1.0, most));
    load.active = std::clamp(busiest.active, 1.0, std::min(load.experts, load.pairs));
    return load;
}

double ExpertLoads::tiles(double rows_of_tile) const {
    constexpr double rounding = 1e-6;
    double sum = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        // Below one row, the load is the probability of a row.
        sum += rows[i] < 1.0 ? rows[i] : std::ceil((rows[i] - rounding) / rows_of_tile);
    }
    return experts * sum / real(static_cast<std::int64_t>(count));
}

ExpertLoads expert_loads(const Moe& op) {
    ExpertLoads loads;
    loads.pairs = moe_load(op).pairs;
    loads.experts = real(op.experts / op.ep);
    const double mean = loads.pairs / loads.experts;
    if (op.load.balanced()) {
        loads.count = 1;
        loads.rows[0] = mean;
        loads.active = std::min(1.0, mean) * loads.experts;
        return loads;
    }
    const bool many = has_many_pairs(op);
    const double least = many ? 1.0 : least_share;
    const double most = many ? 0.8 * real(op.tokens) : most_share;
    const double power = 1.0 - op.load.exponent();
    const bool logarithmic = std::abs(power) < 1e-9;
    const double low = logarithmic ? std::log(least) : std::pow(least, power);
    const double high = logarithmic ? std::log(most) : std::pow(most, power);
    double sum = 0.0;
    for (std::size_t i = 0; i < loads.count; ++i) {
        const double share = (real(static_cast<std::int64_t>(i)) + 0.5) /
                             real(static_cast<std::int64_t>(loads.count));
        const double at = low + share * (high - low);
        loads.rows[i] = logarithmic ? std::exp(at) : std::pow(at, 1.0 / power);
        sum += loads.rows[i];
    }
    double met = 0.0;
    for (double& each : loads.rows) {
        each *= mean * real(static_cast<std::int64_t>(loads.count)) / sum;
        met += std::min(1.0, each);
    }
    loads.active = met / real(static_cast<std::int64_t>(loads.count)) * loads.experts;
    return loads;
}

}  // namespace ridge::model
