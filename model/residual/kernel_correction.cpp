#include "model/residual/kernel_correction.h"

#include <algorithm>
#include <cmath>

#include "model/residual/correction.h"
#include "model/residual/shares.h"

namespace ridge::model {
namespace {

const double most_log_factor = std::log(1.5);

FeatureValues features_of(const Matmul& op, const Tiling& tiling, double slots) {
    const double m = real(op.m);
    const double n = real(op.n);
    const double k = real(op.k);
    const double weights = real(bits_of(op.type)) / 8.0 * n * k;
    const double bytes = real(bits_of(op.type)) / 8.0 * m * k + weights + 2.0 * m * n;
    const Nominal nominal = nominal_of(2.0 * m * n * k, bytes);
    const double blocks = std::max(1.0, real(tiling.tiles) * tiling.split);
    return {std::log2(m),           std::log2(n),           std::log2(k),
            std::log2(weights),     std::log2(m * n * k),   std::log2(blocks / slots),
            tiling.wave_efficiency, tiling.tile_efficiency, nominal.compute,
            nominal.memory,         std::log2(nominal.us)};
}

FeatureValues features_of(const Attention& op, const Tiling& tiling, double slots) {
    const double queries = real(op.seq_q);
    const double keys = real(op.seq_kv);
    const double depth = real(op.head_dim);
    const double seen = op.window > 0 ? std::min(keys, real(op.window)) : keys;
    const double rows = real(op.batch * op.heads) * queries;
    const double stored = 2.0 * real(op.batch * op.kv_heads) * seen * depth;
    const double cached = real(bits_of(cache_type_of(op))) / 8.0;
    const double half = op.causal && op.seq_q > 1 ? 0.5 : 1.0;
    const Nominal nominal =
        nominal_of(4.0 * half * rows * seen * depth, 4.0 * rows * depth + cached * stored);
    const double blocks = std::max(1.0, real(tiling.tiles) * tiling.split);
    return {log_of(op.batch),
            log_of(op.kv_heads),
            std::log2(real(op.heads) / real(op.kv_heads)),
            std::log2(queries),
            std::log2(keys),
            std::log2(depth),
            std::log2(seen),
            std::log2(blocks / slots),
            tiling.wave_efficiency,
            nominal.compute,
            nominal.memory,
            std::log2(nominal.us)};
}

}  // namespace

FeatureValues kernel_correction_features(const Operation& operation, const Tiling& tiling,
                                         double slots) {
    if (const auto* const product = std::get_if<Matmul>(&operation)) {
        return features_of(*product, tiling, slots);
    }
    return features_of(std::get<Attention>(operation), tiling, slots);
}

void correct_kernel(Prediction& prediction, Time kernels, const Operation& operation,
                    const EngineKernel& kernel, const Machine& machine) {
    Prediction& p = prediction;
    if (!kernel.correction || p.evidence.chip < ChipEvidence::relative) return;
    const auto& [range, forest, below, above] = *kernel.correction;
    const FeatureNames names = law_table()[kernel.recipe->law].features;
    const FeatureValues values =
        kernel_correction_features(operation, p.tiling, real(machine.sm_count));
    const double fade = fade_of(values, names, range);
    const double sum = forest.at(values);
    const double factor = std::exp(fade * std::clamp(sum, -most_log_factor, most_log_factor));
    const Time least = std::max(p.lower_bound, p.work.dram() / machine.dram_bandwidth);
    const Time corrected = std::max(kernels * factor, std::min(least, kernels));
    const Time time = corrected + (p.time - kernels);
    p.correction = time / p.time;
    // The band of the law gives way to that with the correction.
    const double lower = std::exp(fade * (kernel.band_below - below));
    const double upper = std::exp(fade * (above - kernel.band_above));
    p.low = std::min(time, std::max(p.low * p.correction * lower, p.lower_bound));
    p.high = std::max(time, p.high * p.correction * upper);
    p.time = time;
}

}  // namespace ridge::model
