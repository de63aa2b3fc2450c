// Experts and latent attention of a layer.
#include <array>
#include <string_view>
#include <utility>

#include "hardware/checked.h"
#include "programs/graph/eager_kernels.h"
#include "programs/software/decoder.h"

namespace ridge::programs {

using model::DataType;

/// The routers of transformers: scores in fp32, the best of them, and their weights.
Decoder::Routed Decoder::route(const Buffer& x, const Layer& w, const FeedForwardSpec& s) {
    const std::int64_t rows = tokens();
    const std::int64_t all = rows * s.experts;
    const std::int64_t few = rows * s.active;
    const auto small = [&](const char* name, std::int64_t elements) {
        run_.small(name, elements * 8);
    };
    if (!eager()) {
        Buffer scores = apply(x, w.router, "router");
        small("router: choice", all);
        return {run_.allocate(few, DataType::fp32, "weights of experts"),
                run_.allocate(few, DataType::fp32, "chosen experts")};
    }
    Buffer scores;
    const bool wide = s.routing == Routing::sigmoid_groups ||
                      spec_of(0).attention.latent();  // DeepSeek routes in fp32
    if (wide) {
        const Buffer x32 = run_.cast(x, DataType::fp32, "router: fp32");
        Linear router = w.router;
        router.weight = run_.cast(w.router.weight, DataType::fp32, "router: weight in fp32");
        scores = apply(x32, router, "router");
        run_.small("router: sum of the parts", all * 8, 1.8F);
        scores = run_.with_gradient_of(std::move(scores), all * 8, "router: sum of the parts");
    } else {
        scores = run_.cast(apply(x, w.router, "router"), DataType::fp32, "router: fp32");
    }
    if (s.routing == Routing::sigmoid_groups) {
        scores = run_.unary(Math::sigmoid, std::move(scores), "router: sigmoid");
        small("router: correction", all);
    } else {
        scores = run_.softmax(std::move(scores), s.experts, "router: softmax");
    }
    if (s.routing != Routing::softmax) {
        const bool sigmoid = s.routing == Routing::sigmoid_groups;
        constexpr std::array<std::pair<const char*, float>, 9> steps{
            {{"router: best of groups", 14.0F},
             {"router: sum of groups", 6.0F},
             {"router: groups", 7.0F},
             {"router: mask", 0.0F},
             {"router: scatter", 6.4F},
             {"router: expand", 0.0F},
             {"router: bool", 0.0F},
             {"router: not", 0.0F},
             {"router: masked", 0.0F}}};
        for (const auto& [name, least] : steps) {
            if (!sigmoid && std::string_view(name) == "router: sum of groups") continue;
            run_.small(name, all * 8, least);
        }
    }
    // The best are gathered, then sorted; DeepSeek leaves them unsorted.
    run_.small("router: topk", all * 8, top_gather_us);
    if (!wide) run_.small("router: topk sorted", few * 8, top_sort_us);
    if (s.routing == Routing::sigmoid_groups) small("router: gather", few);
    return {weights_of_experts(std::move(scores), s, wide),
            run_.allocate(2 * few, DataType::fp32, "chosen experts")};
}

/// The scores of the chosen experts, divided by their sum or scaled, in the type that the family's
/// code produces.
Buffer Decoder::weights_of_experts(Buffer scores, const FeedForwardSpec& s, bool wide) {
    const std::int64_t few = tokens() * s.active;
    Buffer weights = run_.picked(scores, few, "weights of experts");
    scores.reset();
    if (s.normalise_weights) {
        if (s.routing == Routing::sigmoid_groups) run_.small("router: eps", few * 8);
        weights = run_.normalised(std::move(weights), "router: normalise");
    }
    if (wide) return run_.unary(Math::multiply_scalar, std::move(weights), "router: scale");
    // OLMoE and Qwen convert the weights back to the model's type; Mixtral and DeepSeek leave them
    // in fp32.
    if (architecture_.family == "mixtral") return weights;
    return run_.cast(std::move(weights), request_.type, "router: back");
}

/// grouped_mm_experts_forward: sorts rows by expert, runs two grouped products, restores the order
/// of the rows.
Buffer Decoder::grouped_experts(const Buffer& x, Routed routed, const Layer& w,
                                const FeedForwardSpec& s) {
    const std::int64_t hidden = architecture_.hidden;
    const std::int64_t rows = tokens() * s.active;
    const std::int64_t inner = shard(s.intermediate);
    const std::int64_t experts = ceil_divide(s.experts, request_.expert_parallel);
    const std::int64_t here = ceil_divide(rows, request_.expert_parallel);
    if (request_.software == Software::serving) {
        run_.launch({.kind = KernelKind::expert_block,
                     .in = x.type(),
                     .out = x.type(),
                     .inputs = static_cast<std::int8_t>(s.active),
                     .launches = 6,
                     .a = tokens(),
                     .b = hidden,
                     .c = s.intermediate,
                     .d = s.experts,
                     .name = "experts"});
        return run_.allocate(tokens() * hidden, x.type(), "experts");
    }
    if (!eager()) {
        run_.small("experts: sort", rows * 16);
        Buffer up = run_.grouped(x, w.experts_up, here, (s.gated ? 2 : 1) * inner, hidden, experts,
                                 "experts up");
        up = run_.fused(gate_of(s.activation), run_.slice(up, here * inner, "gate"), 2,
                        "experts gate");
        Buffer down = run_.grouped(std::move(up), w.experts_down, here, hidden, inner, experts,
                                   "experts down");
        run_.small("experts: sum", (here + tokens()) * hidden * 2);
        return run_.allocate(tokens() * hidden, x.type(), "experts: sum");
    }
    return eager_experts(x, std::move(routed), w, s);
}

Buffer Decoder::eager_experts(const Buffer& x, Routed routed, const Layer& w,
                              const FeedForwardSpec& s) {
    const std::int64_t hidden = architecture_.hidden;
    const std::int64_t rows = tokens() * s.active;
    const std::int64_t inner = shard(s.intermediate);
    const std::int64_t experts = ceil_divide(s.experts, request_.expert_parallel);
    const auto small = [&](const char* name, std::int64_t bytes) { run_.small(name, bytes); };
    run_.sort(rows, "experts: sort");
    const Buffer order = run_.allocate(4 * rows, DataType::fp32, "experts: order");
    small("experts: token of row", rows * 16);
    Buffer chosen = run_.gather_rows(x, rows, hidden, tokens(), "experts: gather");
    routed.weights = run_.gather_rows(routed.weights, rows, 1, rows, "experts: gather weights");
    small("experts: to int32", rows * 12);
    small("experts: zero counts", experts * 4);
    small("experts: count", rows * 4);
    small("experts: offsets", experts * 8);
    small("experts: offsets", experts * 8);
    small("experts: beyond", rows * 9);
    small("experts: clamp", rows * 16);
    chosen = run_.in_place(Math::masked_fill, std::move(chosen), "experts: mask");
    Buffer up = run_.grouped(chosen, w.experts_up, rows, (s.gated ? 2 : 1) * inner, hidden, experts,
                             "experts up");
    up = run_.unary(Math::masked_fill, std::move(up), "experts: mask");
    if (s.gated) {
        const std::array<std::int64_t, 2> halves{rows * inner, rows * inner};
        std::vector<Buffer> cut = run_.split(up, halves, "experts: gate cut");
        const Buffer g = activate(cut[0], s.activation);
        up = run_.binary(Math::multiply, g, cut[1], "experts: gate").together();
    } else {
        up = activate(std::move(up), s.activation);
    }
    Buffer down =
        run_.grouped(std::move(up), w.experts_down, rows, hidden, inner, experts, "experts down");
    down = run_.unary(Math::masked_fill, std::move(down), "experts: mask");
    Buffer weighted = run_.weighted(down, routed.weights, "experts: weights");
    small("experts: range", rows * 8);
    small("experts: inverse order", rows * 16);
    weighted = run_.gather_rows(weighted, rows, hidden, rows, "experts: back");
    Buffer sum = run_.sum_of_rows(std::move(weighted), tokens(), s.active, hidden, "experts: sum");
    return run_.cast(std::move(sum), x.type(), "experts: type");
}

Buffer Decoder::experts(Buffer x, const Layer& w, const FeedForwardSpec& s) {
    const bool first_shared = s.shared_gate;  // Qwen 2 runs the shared expert first
    Buffer shared;
    const auto run_shared = [&] {
        return gated(x, w.shared_gate, w.shared_up, w.shared_down, s.activation);
    };
    if (s.shared > 0 && first_shared) shared = run_shared();
    Routed routed = route(x, w, s);
    Buffer out = grouped_experts(x, std::move(routed), w, s);
    if (s.shared == 0) return out;
    if (!first_shared) {
        shared = run_shared();
        return run_.binary(Math::add, std::move(out), std::move(shared), "shared expert: add");
    }
    Buffer gate = run_.unary(Math::sigmoid, apply(x, w.shared_scale, "shared expert gate"),
                             "shared expert: sigmoid");
    shared = run_.broadcast(Math::multiply, std::move(shared), std::move(gate),
                            "shared expert: scale", true);
    return run_.binary(Math::add, std::move(out), std::move(shared), "shared expert: add");
}

/// apply_rotary_pos_emb_interleave, or complex numbers in fp32.
Buffer Decoder::rotate_interleaved(Buffer x, std::int64_t heads, std::int64_t dimension) {
    const std::int64_t elements = tokens() * heads * dimension;
    if (!eager()) return run_.fused(Math::multiply, std::move(x), 1, "rotary");
    if (spec_of(0).attention.rotary == Rotary::complex) {
        Buffer wide = run_.cast(std::move(x), DataType::fp32, "rotary: fp32");
        wide = run_.broadcast(Math::multiply, std::move(wide), cosine_, "rotary: turn");
        wide = run_.with_gradient_of(std::move(wide), cosine_.elements() * 8, "rotary: conjugate");
        return run_.cast(std::move(wide), request_.type, "rotary: back");
    }
    const Buffer even = run_.slice(x, elements / 2, "rotary: even");
    const Buffer odd = run_.slice(x, elements / 2, "rotary: odd");
    const auto turn = [&](Math math, const Buffer& a, const Buffer& b) {
        Buffer left = run_.broadcast(Math::multiply, a, cosine_, "rotary: cos");
        Buffer right = run_.broadcast(Math::multiply, b, sine_, "rotary: sin");
        return run_.binary(math, std::move(left), std::move(right), "rotary: add");
    };
    Buffer first = turn(Math::subtract, even, odd);
    Buffer second = turn(Math::add, odd, even);
    return run_.cat(std::move(first), std::move(second), dimension / 2, "rotary: cat");
}

/// DeepseekV3Attention: q and the latent vector from low-rank products, keys and values expanded.
Buffer Decoder::latent_attend(Buffer x, std::size_t layer) {
    run_.module(Module::attention);
    const AttentionSpec& s = spec_of(layer).attention;
    const Layer& w = weights_of_layer(layer);
    const std::int64_t heads = shard(s.heads);
    const std::int64_t rows = tokens();
    x = run_.enter_shards(std::move(x), request_.tensor_parallel, "attention");
    const Buffer argument = x;
    Buffer q;
    if (s.q_rank > 0) {
        q = norm(apply(x, w.q_a, "q_a_proj"), w.latent_q_norm, "q norm");
        q = apply(std::move(q), w.q_b, "q_b_proj");
    } else {
        q = apply(x, w.q_b, "q_proj");
    }
    q = run_.heads(std::move(q), request_.tokens() > 1, "q heads");
    const std::array<std::int64_t, 2> q_parts{rows * heads * s.nope_dim(),
                                              rows * heads * s.rotary_dim};
    std::vector<Buffer> cut = run_.split(q, q_parts, "q cut");
    const Buffer compressed = apply(std::move(x), w.kv_a, "kv_a_proj");
    const std::array<std::int64_t, 2> kv_parts{rows * s.kv_rank, rows * s.rotary_dim};
    std::vector<Buffer> kv = run_.split(compressed, kv_parts, "kv cut");
    Buffer latent = norm(std::move(kv[0]), w.latent_norm, "kv norm").together();
    Buffer q_turned = rotate_interleaved(std::move(cut[1]), heads, s.rotary_dim);
    Buffer k_turned = rotate_interleaved(std::move(kv[1]), 1, s.rotary_dim);
    update_cache(latent, k_turned, layer);
    return expand_and_attend(std::move(cut[0]), std::move(q_turned), std::move(latent),
                             std::move(k_turned), layer);
}

Buffer Decoder::expand_and_attend(Buffer q_pass, Buffer q_turned, Buffer latent, Buffer k_turned,
                                  std::size_t layer) {
    const AttentionSpec& s = spec_of(layer).attention;
    const Layer& w = weights_of_layer(layer);
    const std::int64_t heads = shard(s.heads);
    const std::int64_t keys =
        request_.batch * (request_.phase == Phase::decode ? request_.seq + 1 : request_.seq);
    if (request_.software == Software::serving && request_.phase == Phase::decode) {
        // Absorbed form: queries are projected into the latent space, values out of it.
        const std::int64_t rows = tokens();
        run_.batched(heads, rows, s.kv_rank, s.nope_dim(), request_.type,
                     "q into the latent space");
        AttentionShape shape{.batch = request_.batch,
                             .heads = heads,
                             .kv_heads = 1,
                             .queries = 1,
                             .keys = request_.seq + 1,
                             .head_dim = s.nope_dim(),
                             .value_dim = s.kv_rank,
                             .paged = true,
                             .latent_dim = s.kv_rank,
                             .rope_dim = s.rotary_dim};
        Buffer out = run_.attention(q_pass, latent, latent, shape, "latent attention");
        run_.batched(heads, rows, s.value_dim, s.kv_rank, request_.type,
                     "values out of the latent space");
        out = run_.allocate(rows * heads * s.value_dim, request_.type, "values");
        return project_out(std::move(out), w.o);
    }
    Heads h;
    h.q = run_.cat(std::move(q_pass), std::move(q_turned), s.rotary_dim, "q: join");
    const Buffer expanded =
        run_.heads(apply(latent.together(), w.kv_b, "kv_b_proj"), request_.tokens() > 1, "k heads");
    const std::array<std::int64_t, 2> parts{keys * heads * s.nope_dim(),
                                            keys * heads * s.value_dim};
    std::vector<Buffer> cut = run_.split(expanded, parts, "kv cut");
    h.k = run_.assembled(cut[0], k_turned, heads, "keys");
    k_turned.reset();
    h.v = std::move(cut[1]);
    AttentionSpec plain = s;
    plain.kv_heads = s.heads;
    return project_out(scores(std::move(h), plain), w.o);
}

}  // namespace ridge::programs
