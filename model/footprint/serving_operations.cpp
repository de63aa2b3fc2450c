#include "model/footprint/serving_operations.h"

#include <algorithm>

#include "model/core/real.h"
#include "model/footprint/parts.h"
#include "model/recurrence/work.h"
#include "model/sparse/mixed.h"
#include "model/sparse/work.h"
#include "model/token_wise/work.h"

namespace ridge::model {

Footprint footprint_of(const Mla& op) {
    const double element = real(size_of(op.type));
    const bool decode = op.phase == MlaPhase::decode;
    const double rows = real(op.batch) * real(op.heads) * real(op.seq_q) * element;
    const double keys = real(op.batch) * real(op.seq_kv);
    const double cached = real(op.latent_dim + op.rope_dim);
    Parts parts;
    parts.add("q", rows * (decode ? cached : real(op.head_dim + op.rope_dim)), Phase::input);
    if (!decode) {
        parts.add("k, v", keys * real(op.heads) * real(2 * op.head_dim + op.rope_dim) * element,
                  Phase::input);
    }
    parts.add("new latents", real(op.batch) * real(op.seq_q) * cached * element, Phase::input);
    parts.add("latent cache", keys * cached * real(size_of(cache_type_of(op))), Phase::input);
    parts.add("out", rows * real(decode ? op.latent_dim : op.head_dim), Phase::output);
    return parts.footprint();
}

Footprint footprint_of(const Moe& op) {
    constexpr double token = 2.0;  // bytes of an element outside the experts
    const double tokens = real(op.tokens) * real(op.hidden) * token;
    const double pairs = std::max(1.0, real(op.tokens) * real(op.topk) / real(op.ep));
    const double inner = real(op.intermediate / op.tp);
    const double hidden = real(op.hidden);
    const DataType weights = weight_type_of(op);
    Parts parts;
    parts.add("tokens", tokens, Phase::input);
    parts.add("router logits", real(op.tokens) * real(op.experts) * token, Phase::input);
    parts.add("weights",
              real(op.experts / op.ep) *
                  (operand_bytes(weights, widening_of(op) * inner, hidden, Operand::weights) +
                   operand_bytes(weights, hidden, inner, Operand::weights)),
              Phase::input);
    parts.add("gathered rows", operand_bytes(op.type, pairs, hidden), Phase::scratch);
    parts.add("gates", pairs * widening_of(op) * inner * token, Phase::scratch);
    parts.add("inner rows", operand_bytes(op.type, pairs, inner), Phase::scratch);
    parts.add("results", pairs * hidden * token, Phase::scratch);
    parts.add("out", tokens, Phase::output);
    return parts.footprint();
}

Footprint footprint_of(const SparseAttention& op) {
    const SparseBytes bytes = sparse_bytes(op);
    Parts parts;
    parts.add("q", bytes.queries, Phase::input);
    parts.add("keys", bytes.keys, Phase::input);
    parts.add("chosen", bytes.chosen, Phase::input);
    parts.add("out", bytes.out, Phase::output);
    return parts.footprint();
}

Footprint footprint_of(const MixedAttention& op) {
    const MixedBytes bytes = mixed_bytes(op);
    Parts parts;
    parts.add("q", bytes.queries, Phase::input);
    parts.add("keys and values", bytes.keys, Phase::input);
    parts.add("out", bytes.queries, Phase::output);
    return parts.footprint();
}

Footprint footprint_of(const Recurrence& op) {
    const RecurrenceBytes bytes = recurrence_bytes(op);
    Parts parts;
    parts.add("q, k, v", bytes.inputs, Phase::input);
    parts.add("decays", bytes.gates, Phase::input);
    parts.add("window of the convolution", bytes.window, Phase::input);
    parts.add("state", bytes.state, Phase::input);
    parts.add("out", bytes.outputs, Phase::output);
    return parts.footprint();
}

Footprint footprint_of(const TokenWise& op) {
    const TokenWiseBytes bytes = token_wise_bytes(op);
    Parts parts;
    parts.add("in", bytes.read, Phase::input);
    parts.add("out", bytes.written, Phase::output);
    return parts.footprint();
}

}  // namespace ridge::model
