#include "model/residual/features.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/core/real.h"
#include "model/residual/shares.h"
#include "model/residual/torch_features.h"

namespace ridge::model {
namespace {

constexpr int largest_grain = 8;  ///< log2 of the largest power of two looked at: 256 elements

struct Finder {
    const Operation& operation;
    const Execution& execution;
    const Prediction& prediction;
    double slots;             ///< multiprocessors
    const Residuals* wanted;  ///< classes; null: all

    using Found = std::optional<ResidualFeatures>;

    [[nodiscard]] bool is_wanted(ResidualClass kind) const {
        return model::is_wanted(wanted, kind);
    }

    /// Passes on to the classes that are based on records.
    [[nodiscard]] Found of_records() const {
        if (execution.tile) return std::nullopt;
        return kernel_features_of(operation, execution.l2, prediction, slots, wanted);
    }

    template <class Op>
    Found operator()(const Op&) const {
        return of_records();
    }

    Found operator()(const Matmul& op) const {
        if (prediction.implementation != Implementation::library || execution.tile ||
            op.batch != 1 || prediction.work.tensor <= Flop{}) {
            return of_records();
        }
        const std::optional<ResidualClass> kind = class_of(op);
        if (!kind || !is_wanted(*kind)) return of_records();
        const double m = real(op.m);
        const double n = real(op.n);
        const double k = real(op.k);
        const double log_m = std::log2(m);
        const double log_n = std::log2(n);
        const double log_k = std::log2(k);
        const double rows = parts(m, 128.0);
        const double bytes = real(bits_of(op.type)) / 8.0 * k * (m + n);
        const Waves square = waves_of(rows * parts(n, 128.0), slots);
        const Nominal nominal = nominal_of(2.0 * m * n * k, bytes + 2.0 * m * n);
        return ResidualFeatures{
            *kind,
            {log_m, log_n, log_k, square.blocks, fullness(rows * parts(n, 256.0), slots),
             square.fullness, fullness(parts(m, 64.0) * parts(n, 128.0), slots), m / (128.0 * rows),
             nominal.compute, nominal.memory, std::log2(bytes), grain_of(op.n, largest_grain),
             grain_of(op.k, largest_grain), log_n - log_m, log_k - 0.5 * (log_m + log_n),
             real(static_cast<std::int64_t>(execution.l2))}};
    }

    /// Only products whose rows are whole 16 bytes: others run on other kernels.
    static std::optional<ResidualClass> class_of(const Matmul& op) {
        const std::int64_t bits = bits_of(op.type);
        if ((op.k * bits) % 128 != 0 || (op.n * bits) % 128 != 0) return std::nullopt;
        switch (op.type) {
            case DataType::bf16:
            case DataType::fp16:
                return ResidualClass::product_16;
            case DataType::fp8:
                return ResidualClass::product_8;
            case DataType::nvfp4:
                return ResidualClass::product_4;
            default:
                return std::nullopt;
        }
    }

    Found operator()(const Attention& op) const {
        // Contiguous calls are not in the data, and a serving engine does not run them.
        if (op.direction != Direction::forward || !op.paged || bits_of(op.type) != 16 ||
            is_windowed(op)) {
            return of_records();
        }
        const bool decode = op.seq_q == 1;
        // The class of the same shape without the mask: a mask then never costs time unless it does
        // in the analytic model.
        if (!decode && op.seq_q != op.seq_kv) return of_records();
        const bool narrow = bits_of(cache_type_of(op)) == 8;
        const ResidualClass wide = decode ? ResidualClass::decode : ResidualClass::prefill;
        const ResidualClass thin =
            decode ? ResidualClass::decode_cache8 : ResidualClass::prefill_cache8;
        const ResidualClass kind = narrow ? thin : wide;
        if (!is_wanted(kind)) return of_records();
        const double group = real(op.heads) / real(op.kv_heads);
        const double tokens = real(op.seq_kv);
        const double blocks = decode ? real(op.batch * op.kv_heads) * parts(group, 64.0)
                                     : real(op.batch * op.heads) * parts(tokens, 128.0);
        const double scores = decode ? tokens : 0.5 * tokens * tokens;
        const double depth = real(op.head_dim);
        const double rows = real(op.batch);
        const double stored = (narrow ? 1.0 : 2.0) * 2.0 * real(op.kv_heads) * tokens;
        const Nominal nominal =
            nominal_of(4.0 * rows * real(op.heads) * scores * depth,
                       rows * depth * (stored + 4.0 * real(op.heads) * real(op.seq_q)));
        const Waves waves = waves_of(blocks, slots);
        return ResidualFeatures{kind,
                                {log_of(op.batch), log_of(op.kv_heads), std::log2(group),
                                 std::log2(tokens), std::log2(depth), waves.blocks, waves.fullness,
                                 nominal.compute, nominal.memory, std::log2(nominal.us)}};
    }

    Found operator()(const Mla& op) const {
        const bool decode = op.phase == MlaPhase::decode;
        const ResidualClass kind =
            decode ? ResidualClass::latent_decode : ResidualClass::latent_prefill;
        if (!is_wanted(kind)) return of_records();
        const double batch = real(op.batch);
        const double heads = real(op.heads);
        const double queries = real(op.seq_q);
        const double tokens = real(op.seq_kv);
        const double cache = real(size_of(cache_type_of(op)));
        const double blocks =
            decode ? batch * parts(heads * queries, 64.0) : batch * heads * parts(queries, 128.0);
        const double key = real(decode ? op.latent_dim : op.head_dim);
        const double rope = real(op.rope_dim);
        const double seen = decode ? tokens : tokens - 0.5 * queries;
        const double stored =
            decode ? tokens * (key + rope) * cache : heads * tokens * (2.0 * key + rope) * 2.0;
        const Nominal nominal =
            nominal_of(2.0 * batch * heads * queries * seen * (2.0 * key + rope),
                       batch * (stored + 2.0 * heads * queries * (2.0 * key + rope)));
        const Waves waves = waves_of(blocks, slots);
        return ResidualFeatures{kind,
                                {std::log2(batch), std::log2(heads), std::log2(queries),
                                 std::log2(tokens), std::log2(cache), waves.blocks, waves.fullness,
                                 nominal.compute, nominal.memory, std::log2(nominal.us)}};
    }

    Found operator()(const Moe& op) const {
        if (!is_wanted(ResidualClass::experts)) return of_records();
        const double here = std::max(1.0, real(op.experts) / real(op.ep));
        const double rows = real(op.tokens * op.topk) / real(op.experts);
        const double inner = real(op.intermediate) / real(op.tp);
        const double weight = (widening_of(op) + 1.0) * real(op.hidden) * inner;
        const double element = real(bits_of(weight_type_of(op))) / 8.0;
        const double met = std::min(here, rows * here);
        const Nominal nominal = nominal_of(2.0 * rows * here * weight, element * met * weight);
        return ResidualFeatures{
            ResidualClass::experts,
            {log_of(op.tokens), log_of(op.hidden), std::log2(inner), log_of(op.topk),
             log_of(op.experts), log_of(op.ep), op.load.exponent(), std::log2(element),
             std::log2(rows), nominal.compute, nominal.memory, std::log2(nominal.us)}};
    }
};

}  // namespace

std::optional<ResidualFeatures> residual_features_of(const Operation& operation,
                                                     const Execution& execution,
                                                     const Prediction& prediction,
                                                     const Machine& machine,
                                                     const Residuals* wanted) {
    if (machine.sm_count == 0) return std::nullopt;
    const auto slots = static_cast<double>(machine.sm_count);
    if (auto torch = torch_features_of(operation, execution.l2, prediction, slots)) {
        if (execution.tile || !is_wanted(wanted, torch->residual_class)) return std::nullopt;
        return torch;
    }
    return std::visit(Finder{operation, execution, prediction, slots, wanted}, operation);
}

}  // namespace ridge::model
