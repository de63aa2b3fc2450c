// Allocation rules of PyTorch's attention backends (eq. V6 to V9 of docs/model.md).
#include "model/footprint/sdpa.h"

#include <array>
#include <string>

#include "hardware/checked.h"
#include "hardware/error.h"

namespace ridge::model {
namespace {

constexpr double fp32 = 4.0;
constexpr double smallest_block = 512.0;  // of the caching allocator: a single number

double count(std::int64_t value) {
    return static_cast<double>(value);
}

Bytes bytes(double value) {
    return Bytes::from_base(value);
}

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
    return ceil_divide(value, unit) * unit;
}

/// Bytes over batch and heads, in the names of docs/model.md.
struct Sizes {
    double t;           ///< q, out, dq: 2 bytes per element
    double u;           ///< k, v, dk, dv
    double heads;       ///< batch x heads
    double rows;        ///< R = batch x heads x seq_q
    double statistics;  ///< L = 4 R
    double scores;      ///< P, in elements
};

Sizes sizes_of(const Attention& op) {
    constexpr double element = 2.0;
    const double heads = count(op.batch) * count(op.heads);
    const double rows = heads * count(op.seq_q);
    return {
        .t = rows * count(op.head_dim) * element,
        .u = count(op.batch) * count(op.kv_heads) * count(op.seq_kv) * count(op.head_dim) * element,
        .heads = heads,
        .rows = rows,
        .statistics = fp32 * rows,
        .scores = rows * count(op.seq_kv)};
}

SdpaFootprint of_flash(const Attention& op, TensorLayout layout) {
    const Sizes s = sizes_of(op);
    // Two single numbers: the random state and an unused one, both kept for backward.
    const double forward = s.t + s.statistics + 2.0 * smallest_block;
    const std::int64_t unit = op.head_dim <= 128 ? 32 : 64;
    const double padded_rows = s.heads * count(rounded_up(op.seq_q, 128));
    const double dq_accumulator = fp32 * padded_rows * count(rounded_up(op.head_dim, unit));
    const double copies = layout == TensorLayout::heads_first ? 2.0 * s.t : 0.0;
    const double expanded =
        op.heads == op.kv_heads ? 0.0 : 2.0 * s.u * count(op.heads / op.kv_heads);
    const double gradients = s.t + 2.0 * s.u;
    return {
        .qkv = bytes(s.t + 2.0 * s.u),
        .inference_peak = bytes(forward),
        .training_forward_peak = bytes(forward),
        .training_forward_saved = bytes(forward),
        .backward_peak = bytes(gradients + copies + dq_accumulator + fp32 * padded_rows + expanded),
        .backward_after = bytes(gradients - s.statistics - 2.0 * smallest_block)};
}

SdpaFootprint of_cudnn(const Attention& op) {
    const Sizes s = sizes_of(op);
    const double kept = 2.0 * smallest_block;
    const double transient = smallest_block;
    const double gradients = s.t + 2.0 * s.u;
    const double dq_accumulator = 2.0 * s.t;  // fp32
    return {.qkv = bytes(s.t + 2.0 * s.u),
            .inference_peak = bytes(s.t + kept + transient),
            .training_forward_peak = bytes(s.t + s.statistics + kept + transient),
            .training_forward_saved = bytes(s.t + s.statistics + kept),
            .backward_peak = bytes(gradients + dq_accumulator + s.statistics + transient),
            .backward_after = bytes(gradients - s.statistics - kept)};
}

SdpaFootprint of_memory_efficient(const Attention& op) {
    const Sizes s = sizes_of(op);
    const double logsumexp = fp32 * s.heads * count(rounded_up(op.seq_q, 32));
    const std::int64_t block = op.head_dim <= 64 ? 64 : 128;
    constexpr double lock = 16.0;
    const double workspace = s.heads * count(ceil_divide(op.seq_q, block)) *
                             count(ceil_divide(op.head_dim, block)) *
                             (lock + fp32 * count(block) * count(block));
    const double gradients = s.t + 2.0 * s.u;
    return {.qkv = bytes(s.t + 2.0 * s.u),
            .inference_peak = bytes(s.t),
            .training_forward_peak = bytes(s.t + logsumexp),
            .training_forward_saved = bytes(s.t + logsumexp),
            .backward_peak = bytes(gradients + s.statistics + workspace),
            .backward_after = bytes(gradients - logsumexp)};
}

SdpaFootprint of_math(const Attention& op) {
    const Sizes s = sizes_of(op);
    // fp32 copies of q, k, v and the scaled q; the scaled and transposed k stays with autograd.
    const double copies = 2.0 * (2.0 * s.t + 2.0 * s.u);
    const double scaled_k = 2.0 * s.u;
    // Scores and probabilities in fp32 and a byte mask; a byte per row and one number.
    const double softmax = 9.0 * s.scores + s.rows + smallest_block;
    const double saved = fp32 * s.scores + 2.0 * s.t + 4.0 * s.u;
    return {.qkv = bytes(s.t + 2.0 * s.u),
            .inference_peak = bytes(softmax + copies),
            .training_forward_peak = bytes(softmax + copies + scaled_k),
            .training_forward_saved = bytes(saved + s.t),
            .backward_peak = bytes(3.0 * fp32 * s.scores),
            .backward_after = bytes(s.t + 2.0 * s.u - saved)};
}

struct BackendName {
    AttentionBackend backend;
    std::string_view name;
};
constexpr std::array backend_names{BackendName{AttentionBackend::flash, "flash"},
                                   BackendName{AttentionBackend::memory_efficient, "efficient"},
                                   BackendName{AttentionBackend::cudnn, "cudnn"},
                                   BackendName{AttentionBackend::math, "math"}};

}  // namespace

SdpaOutcome sdpa_footprint(const Attention& attention, AttentionBackend backend,
                           TensorLayout layout) {
    if (size_of(attention.type) != 2) {
        return NotModelled{"the memory of PyTorch's attention is known for fp16 and bf16 only"};
    }
    if (attention.window > 0) {
        return NotModelled{"scaled_dot_product_attention has no sliding window"};
    }
    if (attention.head_dim % 8 != 0) {
        return NotModelled{"PyTorch pads a head_dim that is not a multiple of 8"};
    }
    const bool grouped = attention.heads != attention.kv_heads;
    switch (backend) {
        case AttentionBackend::flash:
            if (attention.head_dim > 256) return NotModelled{"flash needs head_dim <= 256"};
            return of_flash(attention, layout);
        case AttentionBackend::memory_efficient:
            if (attention.head_dim > 128) {
                return NotModelled{
                    "the memory-efficient backend keeps further accumulators for "
                    "head_dim > 128, whose size is not known"};
            }
            if (grouped) return NotModelled{"the memory-efficient backend takes no groups"};
            return of_memory_efficient(attention);
        case AttentionBackend::cudnn:
            return of_cudnn(attention);
        case AttentionBackend::math:
            if (grouped || attention.causal) {
                return NotModelled{
                    "the math backend with a mask or with groups makes copies whose "
                    "sizes are not known"};
            }
            return of_math(attention);
    }
    return NotModelled{"unknown backend"};
}

std::string_view name_of(AttentionBackend backend) {
    return backend_names[static_cast<std::size_t>(backend)].name;
}

AttentionBackend parse_attention_backend(std::string_view text) {
    for (const BackendName& each : backend_names) {
        if (text == each.name) return each.backend;
    }
    throw InputError("backend must be flash, efficient, cudnn or math, got '" + std::string(text) +
                     "'");
}

}  // namespace ridge::model
