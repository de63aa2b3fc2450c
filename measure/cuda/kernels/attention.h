// Scaled dot-product attention, forward: O = softmax(scale Q K^T + mask) V, and the log-sum-exp of
// each row of scores.
//
// Shapes: Q and O are [batch][heads][queries][head_dim], K and V [batch][kv_heads][keys][head_dim]
// with AttentionLayout::heads_first; with tokens_first the two middle dimensions are exchanged.
// Query head h reads key-value head h / (heads / kv_heads). The log-sum-exp (natural logarithm,
// float32) is always [batch][heads][queries]. The causal mask is aligned at the bottom right: query
// i sees keys 0 .. i + keys - queries. A query that sees no key gets O = 0 and a log-sum-exp of
// -infinity.
//
// Work counted: 4 batch heads queries keys head_dim FLOP, about half of it when causal.
//
// | kernel   | for                                  | needs                                     |
// | wgmma    | long sequences, Hopper               | sm_90a, head_dim 64 or 128                |
// | mma_sync | long sequences, sm_80 and newer      | head_dim 64 or 128                        |
// | decode   | few queries against a long cache     | head_dim 64 or 128, a float32 workspace   |
//
//     const AttentionProblem p{.q = q, .k = k, .v = v, .o = o, .lse = lse,
//                              .heads = 32, .kv_heads = 8, .queries = 4096, .keys = 4096,
//                              .scale = 0.0884F, .mask = AttentionMask::causal};
//     const Launch run = attention_wgmma(p);
//     run(stream);
//
// Elements are bfloat16 or float16; accumulation is in float32. Unsupported problems are refused
// with std::runtime_error.
#pragma once

#include "measure/cuda/kernels/launch.h"
#include "model/bundled/attention.h"

namespace ridge::measure::cuda {

enum class AttentionLayout { heads_first, tokens_first };
enum class AttentionMask { none, causal };

struct AttentionProblem {
    const void* q = nullptr;
    const void* k = nullptr;
    const void* v = nullptr;
    void* o = nullptr;
    float* lse = nullptr;
    std::int64_t batch = 1;
    std::int64_t heads = 1;
    std::int64_t kv_heads = 1;
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::int64_t head_dim = 128;
    float scale = 1.0F;  // positive
    AttentionMask mask = AttentionMask::none;
    AttentionLayout layout = AttentionLayout::heads_first;
    ElementType type = ElementType::bfloat16;
};

[[nodiscard]] constexpr bundled::AttentionExtents extents_of(const AttentionProblem& problem) {
    return {.batch = problem.batch,
            .heads = problem.heads,
            .kv_heads = problem.kv_heads,
            .queries = problem.queries,
            .keys = problem.keys,
            .head_dim = problem.head_dim,
            .causal = problem.mask == AttentionMask::causal};
}

// Element strides of one operand: between heads, tokens and batch entries.
struct AttentionStrides {
    std::int64_t batch = 0;
    std::int64_t head = 0;
    std::int64_t token = 0;
};

[[nodiscard]] constexpr AttentionStrides attention_strides(AttentionLayout layout,
                                                           std::int64_t heads, std::int64_t tokens,
                                                           std::int64_t head_dim) {
    if (layout == AttentionLayout::heads_first)
        return {.batch = heads * tokens * head_dim, .head = tokens * head_dim, .token = head_dim};
    return {.batch = heads * tokens * head_dim, .head = head_dim, .token = heads * head_dim};
}

// Throws std::runtime_error unless the tiled kernels support the problem.
void require_attention(const char* kernel, const AttentionProblem& problem);

// A Launch of attention_wgmma owns a counter on the device, so it must not run concurrently with
// itself.
[[nodiscard]] Launch attention_wgmma(const AttentionProblem& problem);
[[nodiscard]] Launch attention_mma_sync(const AttentionProblem& problem);

// Decode: the keys are divided into `splits` ranges, whose partial results a second kernel
// combines. `workspace` has attention_decode_workspace_bytes(problem, splits) bytes; it may be null
// for one split. bundled::decode_splits chooses the number of splits.
[[nodiscard]] std::size_t attention_decode_workspace_bytes(const AttentionProblem& problem,
                                                           std::int64_t splits);
[[nodiscard]] Launch attention_decode(const AttentionProblem& problem, void* workspace,
                                      std::int64_t splits);

// The softmax of standard attention, over scores in memory: out[r][j] = softmax_j(scale *
// scores[r][j]) if query r sees key j, otherwise 0. A row that sees no key becomes zeros. `scores`
// and `out` are [matrices][queries][keys], dense; they may be the same array.
struct MaskedSoftmaxProblem {
    const void* scores = nullptr;
    void* out = nullptr;
    std::int64_t matrices = 1;  // batch * heads
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    float scale = 1.0F;
    AttentionMask mask = AttentionMask::none;
    ElementType type = ElementType::bfloat16;  // float32, bfloat16 or float16, of scores and out
};

[[nodiscard]] Launch masked_softmax(const MaskedSoftmaxProblem& problem);

}  // namespace ridge::measure::cuda
