#include "programs/traffic/random.h"

#include <cmath>

namespace ridge::programs {
namespace {

constexpr double natural_log_of_two = 0.693147180559945309417;
constexpr double root_of_half = 0.707106781186547524401;

}  // namespace

double portable_log(double x) {
    int exponent = 0;
    double mantissa = std::frexp(x, &exponent);
    if (mantissa < root_of_half) {
        mantissa *= 2.0;
        --exponent;
    }
    // ln m = 2 atanh((m - 1) / (m + 1)), with |argument| < 0.172.
    const double z = (mantissa - 1.0) / (mantissa + 1.0);
    const double square = z * z;
    double sum = 0.0;
    double power = z;
    for (int n = 1; n <= 21; n += 2) {
        sum += power / n;
        power *= square;
    }
    return 2.0 * sum + exponent * natural_log_of_two;
}

double portable_exp(double x) {
    const double whole = std::floor(x / natural_log_of_two + 0.5);
    const double rest = x - whole * natural_log_of_two;
    double sum = 1.0;
    double term = 1.0;
    for (int n = 1; n <= 16; ++n) {
        term *= rest / n;
        sum += term;
    }
    return std::ldexp(sum, static_cast<int>(whole));
}

std::uint64_t Random::bits() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

double Random::uniform() {
    return std::ldexp(static_cast<double>(bits() >> 11U), -53);
}

double Random::exponential() {
    return -portable_log(1.0 - uniform());
}

double Random::normal() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
}

Random Random::split() {
    return Random(bits());
}

}  // namespace ridge::programs
