#include "model/attention_band.h"

#include <array>

namespace ridge::model {
namespace {

struct Ratios {
    double low;
    double high;
};

/// 10 % and 90 % points of measured over predicted time, by regime. flash3: H100 and H200 together,
/// flash2: A100; both from left-out groups of `ridge fit attention`. Backward and unfused: the
/// published figures and tables of FlashAttention and FlashAttention-2.
using Table = std::array<Ratios, attention_regime_count>;
constexpr Table flash3{{{0.964, 1.090},
                        {0.932, 1.078},
                        {0.925, 1.080},
                        {0.938, 1.058},
                        {0.957, 1.078},
                        {0.880, 1.060},
                        {0.923, 1.120},
                        {0.933, 1.055},
                        {0.933, 1.067},
                        {0.948, 1.047},
                        {0.90, 1.12},
                        {0.85, 1.30}}};
constexpr Table flash2{{{0.956, 1.070},
                        {0.942, 1.047},
                        {0.945, 1.048},
                        {0.973, 1.033},
                        {0.972, 1.042},
                        {0.880, 1.060},
                        {0.922, 1.077},
                        {0.938, 1.048},
                        {0.937, 1.040},
                        {0.973, 1.027},
                        {0.90, 1.12},
                        {0.85, 1.30}}};

void widen(AttentionBand& band, double low, double high) {
    band.low *= low;
    band.high *= high;
}

bool is_checked_shape(const Attention& op) {
    const bool known_dim =
        op.head_dim == 64 || op.head_dim == 128 || op.head_dim == 192 || op.head_dim == 256;
    return known_dim && size_of(op.type) == 2 && op.window == 0 &&
           (op.seq_q == 1 || op.seq_q == op.seq_kv);
}

}  // namespace

AttentionBand attention_band(const Attention& op, Implementation implementation,
                             const AttentionTime& time, bool own, const Machine& machine) {
    const Table& table = implementation == Implementation::flash3 ? flash3 : flash2;
    const Ratios ratios = table.at(static_cast<std::size_t>(time.regime));
    AttentionBand band{.low = ratios.low, .high = ratios.high};
    const bool measured_regime = time.regime < AttentionRegime::backward;
    if (!own && measured_regime) widen(band, 0.95, 1.06);
    const bool measured_family =
        machine.compute_capability == 80 || machine.compute_capability == 90;
    if (!measured_family) widen(band, 0.75, 1.4);
    if (measured_regime && !op.kv_write) {
        // Contiguous calls: 3 to 6 % mean and 8 to 11 % p90 against published throughput; what one
        // short call costs is not in those figures.
        band.low = std::min(band.low, 0.90);
        band.high = std::max(band.high, 1.12);
        if (time.launch > 0.25 * time.total) widen(band, 0.8, 1.2);
    }
    band.extrapolated = !is_checked_shape(op);
    if (band.extrapolated) widen(band, 0.9, 1.15);
    return band;
}

}  // namespace ridge::model
