// The parts of a layer: norms, attention, rotation, mlp.
#include <array>
#include <string_view>

#include "programs/software/decoder.h"

namespace ridge::programs {
namespace {

using model::DataType;

struct ActivationKernel {
    Math math;
    std::string_view name;
};

/// The activation as one kernel; eager code builds two forms of GELU from several kernels.
ActivationKernel kernel_of(Activation activation) {
    switch (activation) {
        case Activation::silu:
            return {.math = Math::silu, .name = "silu"};
        case Activation::relu:
            return {.math = Math::relu, .name = "relu"};
        case Activation::gelu_erf:
            return {.math = Math::gelu, .name = "gelu"};
        default:
            return {.math = Math::gelu_tanh, .name = "gelu"};
    }
}

}  // namespace

Buffer Decoder::norm(Buffer x, const Norm& n, std::string_view name) {
    const Module before = run_.module();
    run_.module(Module::norm);
    Buffer out = compiled() ? compiled_norm(std::move(x), n, name)
                 : architecture_.norm == NormKind::layer
                     ? run_.layer_norm(std::move(x), n.weight, n.bias, n.size, name)
                     : rms_norm(std::move(x), n, name);
    run_.module(before);
    return out;
}

/// A norm with the residual before it: reads the normed tensor and the addend, writes the result.
/// With dropout, the random numbers make it several times as long.
Buffer Decoder::compiled_norm(Buffer x, const Norm& n, std::string_view name) {
    constexpr int chained = 4;  // residuals are added up again from where they were last written
    constexpr int plain = 3;
    constexpr int turned = 5;  // with the rotation after it
    constexpr int dropped = 16;
    const bool of_heads = n.size < architecture_.hidden && spec_of(0).attention.rotary_dim > 0;
    const bool drops = request_.training() && architecture_.dropout > 0.0;
    // Norms of the same tensor form one kernel; so do a norm after a branch and the next norm.
    const bool within = name == "norm after attention" || name == "norm after mlp" ||
                        (name == "mlp norm" && architecture_.block == Block::parallel_two_norms);
    const int tensors = drops ? dropped : of_heads ? turned : request_.training() ? plain : chained;
    return run_.merged_norm(std::move(x), n.weight, n.bias, n.size,
                            within && architecture_.block != Block::post ? 0 : tensors, name);
}

/// LlamaRMSNorm and GemmaRMSNorm, operation by operation.
Buffer Decoder::rms_norm(Buffer x, const Norm& n, std::string_view name) {
    if (!eager()) return run_.fused_norm(std::move(x), n.size, name);
    const DataType type = x.type();
    const bool gemma = architecture_.norm == NormKind::rms_plus_one;
    // Gemma's caller keeps x, because it reads x's type at the end; Llama's rebinds the name.
    const Buffer caller = gemma ? x : Buffer();
    Buffer h = run_.cast(std::move(x), DataType::fp32, "norm: fp32");
    Buffer factor = run_.mean(run_.unary(Math::square, h, "norm: square"), n.size, "norm: mean");
    Buffer shifted = run_.unary(Math::add_scalar, gemma ? std::move(factor) : factor, "norm: eps");
    Buffer scale = run_.unary(Math::reciprocal_root, std::move(shifted), "norm: rsqrt");
    h = run_.broadcast(Math::multiply, std::move(h), std::move(scale), "norm: scale", true);
    factor = Buffer();
    if (gemma) {
        Buffer weight = run_.cast(n.weight, DataType::fp32, "norm: weight");
        weight = run_.unary(Math::add_scalar, std::move(weight), "norm: weight + 1");
        h = run_.broadcast(Math::multiply, std::move(h), std::move(weight), "norm: weight");
        return run_.cast(std::move(h), type, "norm: back");
    }
    if (architecture_.norm == NormKind::rms_wide) {
        h = run_.broadcast(Math::multiply, std::move(h), n.weight, "norm: weight");
        return run_.cast(std::move(h), type, "norm: back");
    }
    Buffer narrow = run_.cast(h, type, "norm: back");
    return run_.broadcast(Math::multiply, std::move(narrow), n.weight, "norm: weight");
}

/// nn.Linear; under autocast the operands are bf16, and the weight is converted in every step.
Buffer Decoder::apply(Buffer x, const Linear& layer, std::string_view name) {
    if (!request_.mixed) return run_.linear(std::move(x), layer, name);
    Linear narrow = layer;
    narrow.weight = run_.cast(layer.weight, request_.type, "autocast: weight");
    if (layer.bias) narrow.bias = run_.cast(layer.bias, request_.type, "autocast: bias");
    return run_.linear(run_.cast(std::move(x), request_.type, "autocast: input"), narrow, name);
}

Buffer Decoder::residual(Buffer x, Buffer delta) {
    const Module before = run_.module();
    run_.module(Module::residual);
    // Compiled and serving kernels add the residual in the norm.
    Buffer out = eager() || compiled() || architecture_.norm == NormKind::layer
                     ? run_.binary(Math::add, std::move(x), std::move(delta), "residual")
                     : run_.allocate(x.elements(), x.type(), "residual");
    run_.module(before);
    return out;
}

void Decoder::all_reduce(std::int64_t elements, std::int64_t gpus) {
    run_.collective(model::CollectiveKind::all_reduce, elements * model::size_of(request_.type),
                    gpus, "all_reduce");
}

Decoder::Heads Decoder::project(Buffer x, const Layer& w, const AttentionSpec& s) {
    const std::int64_t rows = tokens();
    const std::int64_t kv = shard(s.kv_heads) * s.head_dim;
    const bool apart = request_.tokens() > 1;
    Heads heads;
    if (w.qkv.weight) {
        const std::array<std::int64_t, 3> parts{rows * shard(s.heads) * s.head_dim, rows * kv,
                                                rows * kv};
        Buffer joined = apply(std::move(x), w.qkv, "qkv_proj");
        if (s.projection == Projection::fused_by_head) {
            joined = run_.heads(std::move(joined), apart, "qkv heads");
        }
        if (s.projection == Projection::fused) {
            heads.q = run_.slice(joined, parts[0], "q of qkv");
            heads.k = run_.slice(joined, parts[1], "k of qkv");
            heads.v = run_.slice(joined, parts[2], "v of qkv");
        } else {
            std::vector<Buffer> cut = run_.split(joined, parts, "qkv cut");
            heads = {std::move(cut[0]), std::move(cut[1]), std::move(cut[2])};
        }
        if (s.projection == Projection::fused_by_head) return heads;
    } else {
        heads.q = apply(x, w.q, "q_proj");
        if (s.qk_norm == QkNorm::whole) heads.q = norm(std::move(heads.q), w.q_norm, "q norm");
        heads.k = apply(x, w.k, "k_proj");
        if (s.qk_norm == QkNorm::whole) heads.k = norm(std::move(heads.k), w.k_norm, "k norm");
        heads.v = apply(std::move(x), w.v, "v_proj");
    }
    // A slice for a single head has the layout of that head.
    const bool several = s.projection != Projection::fused || s.kv_heads > 1;
    heads.q = run_.heads(std::move(heads.q), apart, "q heads");
    heads.k = run_.heads(std::move(heads.k), apart && several, "k heads");
    heads.v = run_.heads(std::move(heads.v), apart && several, "v heads");
    if (s.qk_norm == QkNorm::head) {
        heads.q = norm(std::move(heads.q), w.q_norm, "q norm");
        heads.k = norm(std::move(heads.k), w.k_norm, "k norm");
    }
    return heads;
}

/// apply_rotary_pos_emb: x cos + rotate_half(x) sin, joined with the elements that do not rotate.
Buffer Decoder::rotate(Buffer x, const AttentionSpec& s, std::int64_t heads, bool key) {
    const std::int64_t rows = tokens() * heads;
    const std::int64_t turning = rows * s.rotary_dim;
    if (compiled()) {  // in the norm of the heads, or where a decode step extends the cache
        const bool within = s.qk_norm == QkNorm::head ||
                            (request_.phase == Phase::decode && heads == shard(s.kv_heads));
        // With a joint projection, the kernel of the queries also rotates the keys.
        const bool joint = s.projection != Projection::separate && s.heads == s.kv_heads;
        return within ? x
                      : run_.merged(Math::multiply, {&x}, Reading::indexed,
                                    joint && key ? "" : "rotary");
    }
    if (!eager()) {
        return run_.fused(Math::multiply, std::move(x), 1, "rotary");
    }
    const bool partial = s.rotary_dim < s.head_dim;
    const bool wide = s.rotary == Rotary::halves_fp32;
    const Buffer turned = partial ? run_.slice(x, turning, "rotary: part") : x;
    // The code slices off the elements that do not rotate even if there are none.
    const Buffer rest = partial || s.joined_rotary
                            ? run_.slice(x, x.elements() - turning, "rotary: rest")
                            : Buffer();
    Buffer straight = run_.broadcast(Math::multiply, turned, cosine_, "rotary: cos");
    const Buffer low = run_.slice(turned, turning / 2, "rotary: half");
    const Buffer high = run_.slice(turned, turning / 2, "rotary: half");
    Buffer swapped = run_.cat(run_.unary(Math::negate, high, "rotary: neg"), low, s.rotary_dim / 2,
                              "rotary: cat")
                         .together();
    swapped = run_.broadcast(Math::multiply, std::move(swapped), sine_, "rotary: sin");
    Buffer out = run_.binary(Math::add, straight.apart(), std::move(swapped), "rotary: add");
    straight.reset();
    if (wide) out = run_.cast(std::move(out), x.type(), "rotary: back");
    if (rest) out = run_.cat(std::move(out), rest, s.rotary_dim, "rotary: join");
    return out.apart();
}

/// What a layer with a window still keeps of its cache: one token less than the window.
Buffer Decoder::sliding_part(const Buffer& kept, const AttentionSpec& s) {
    const std::int64_t width = s.kv_heads == 0 ? 1 : shard(s.kv_heads) * s.head_dim;
    const std::int64_t most = request_.batch * (s.window - 1) * width;
    if (!kept || s.window == 0 || s.latent() || kept.elements() <= most) return kept;
    return run_.slice(kept, most, "cache: window");
}

void Decoder::update_cache(Buffer& k, Buffer& v, std::size_t layer) {
    if (cache_.empty() && !request_.training()) return;
    if (!request_.cache) return;
    const AttentionSpec& s = spec_of(layer).attention;
    const std::int64_t width = s.latent() ? s.kv_rank : s.head_dim;
    if (compiled()) return compiled_cache(k, v, layer);
    if (request_.training()) {  // training fills a fresh cache too: use_cache is on by default
        k = run_.cat({}, std::move(k), width, "cache: keys");
        v = run_.cat({}, std::move(v), width, "cache: values");
        return;
    }
    auto& [keys, values] = cache_[layer];
    if (request_.software == Software::serving) {
        run_.small("cache write", 2 * (k.elements() + v.elements()) * 2);
        if (!keys) {
            keys = run_.allocate(k.elements(), request_.cache_type, "keys");
            values = run_.allocate(v.elements(), request_.cache_type, "values");
        }
        return;
    }
    // One token's keys and the cache's keys are contiguous; the keys of a prompt are ordered head
    // by head.
    const bool decode = request_.phase == Phase::decode;
    // A slice of a joint projection is contiguous only if there is a single sequence.
    const bool cut = s.projection != Projection::separate && request_.batch > 1;
    const auto append = [&](Buffer& kept, Buffer& added, const char* name) {
        const bool apart = cut && (s.projection == Projection::conv1d || &added == &v);
        const Buffer next = decode && !apart ? added.together() : added.apart();
        added = run_.cat(sliding_part(kept, s), next, width, name);
        if (decode) added = added.together();
        kept = added;
    };
    hold_cache(keys, values);
    // The code of a sliding layer joins keys and values before it releases either.
    const Buffer old_keys = s.window > 0 ? keys : Buffer();
    append(keys, k, "cache: keys");
    append(values, v, "cache: values");
}

/// A decode step copies the cache to append one token. The keys and values of a prompt become the
/// cache without a copy, unless they are slices of a joint projection.
void Decoder::compiled_cache(Buffer& k, Buffer& v, std::size_t layer) {
    const AttentionSpec& s = spec_of(layer).attention;
    const bool cut = s.projection != Projection::separate;
    const auto copied = [&](Buffer& added, const char* name) {
        run_.compiled_copy(added.elements(), added.type(), added.type(), Reading::vectors, name);
    };
    if (request_.phase != Phase::decode) {
        if (cut && s.rotary_dim == 0) copied(k, "cache: keys");
        if (cut) copied(v, "cache: values");
        if (request_.training()) return;
        cache_[layer] = {k, v};
        return;
    }
    auto& [keys, values] = cache_[layer];
    hold_cache(keys, values);
    const auto append = [&](Buffer& kept, Buffer& added, const char* name) {
        const Buffer old = sliding_part(kept, s);
        const std::int64_t before = old ? old.elements() : 0;
        added = run_.allocate(before + added.elements(), added.type(), name);
        run_.compiled_copy(added.elements(), added.type(), added.type(), Reading::vectors, name);
        kept = added;
    };
    append(keys, k, "cache: keys");
    append(values, v, "cache: values");
}

Buffer Decoder::scores(Heads heads, const AttentionSpec& s) {
    const bool decode = request_.phase == Phase::decode;
    const std::int64_t seen = decode ? cached_tokens(s, request_.seq) + 1 : request_.seq;
    const bool masked = s.window > 0 && static_cast<bool>(mask_);
    AttentionShape shape{.batch = request_.batch,
                         .heads = shard(s.heads),
                         .kv_heads = shard(s.kv_heads),
                         .queries = request_.tokens(),
                         .keys = seen,
                         .head_dim = s.head_dim,
                         .value_dim = s.value_dim,
                         .window = s.window < seen ? s.window : 0,
                         .causal = !decode,
                         .paged = request_.software == Software::serving,
                         .masked = masked,
                         .latent_dim = s.kv_rank,
                         .rope_dim = s.latent() ? s.rotary_dim : 0};
    if (request_.mixed) {
        heads.q = run_.cast(std::move(heads.q), request_.type, "autocast: q");
        heads.k = run_.cast(std::move(heads.k), request_.type, "autocast: k");
        heads.v = run_.cast(std::move(heads.v), request_.type, "autocast: v");
    }
    if (compiled()) {
        if (s.window > 0 && !request_.training()) run_.small("cache: length");
        return compiled_scores(std::move(heads), shape, s.projection == Projection::fused_by_head);
    }
    if (eager() && shape.heads != shape.kv_heads && (masked || s.head_dim != s.value_dim)) {
        // repeat_kv: with a mask, SDPA does not accept grouped heads. A single head is repeated
        // without a copy.
        const std::int64_t times = shape.kv_heads > 1 ? shape.heads / shape.kv_heads : 1;
        if (times > 1) heads.k = run_.repeated(std::move(heads.k), times, "repeat_kv");
        if (times > 1) heads.v = run_.repeated(std::move(heads.v), times, "repeat_kv");
        shape.kv_heads = shape.heads;
    }
    if (eager() && masked) {
        // A boolean mask becomes an additive one: two constants and a selection between them.
        run_.small("mask: zero", 2);
        run_.small("mask: minus infinity", 2);
        const Buffer bias = run_.made(Math::masked_fill, shape.batch * shape.queries * shape.keys,
                                      request_.type, "mask: additive");
        return run_.attention(heads.q, heads.k, heads.v, shape, "attention");
    }
    const bool joined = eager() && (s.joined_rotary || s.latent()) && request_.tokens() > 1;
    const bool drops = request_.training() && architecture_.attention_dropout > 0.0;
    shape.dropout = drops;
    if (eager() && drops) run_.small("attention: seed of the dropout", 16);
    Buffer out = run_.attention(heads.q, heads.k, heads.v, shape, "attention");
    return joined ? out.apart() : out;
}

/// While it is traced, the model cannot see that a mask hides only the future. So the mask is
/// built, and keys and values are repeated for grouped heads.
Buffer Decoder::compiled_scores(Heads heads, AttentionShape shape, bool joint) {
    if (shape.heads != shape.kv_heads && shape.kv_heads > 1) {  // one head is viewed as several
        const std::int64_t elements = shape.batch * shape.heads * shape.keys * shape.head_dim;
        const auto repeat = [&](Buffer& x) {
            run_.compiled_copy(elements, request_.type, request_.type, Reading::vectors,
                               "repeat_kv");
            x = run_.repeated(std::move(x), shape.heads / shape.kv_heads, "repeat_kv");
        };
        repeat(heads.k);
        repeat(heads.v);
    }
    shape.kv_heads = shape.heads;
    if (!request_.training() || !mask_) {
        mask_ = run_.allocate(shape.batch * shape.queries * shape.keys, request_.type, "mask");
        run_.compiled_copy(mask_.elements(), request_.type, request_.type, Reading::vectors,
                           "mask");
    }
    shape.masked = true;
    shape.dropout = request_.training() && architecture_.attention_dropout > 0.0;
    if (shape.dropout) run_.small("attention: seed of the dropout", 16);
    Buffer out = run_.attention(heads.q, heads.k, heads.v, shape, "attention");
    if (joint) {  // ordered head by head, like the queries
        run_.compiled_copy(out.elements(), out.type(), out.type(), Reading::vectors,
                           "attention: back");
    }
    return out;
}

Buffer Decoder::project_out(Buffer x, const Linear& o) {
    // Queries joined from parts are ordered head by head, and so is the output of their attention.
    Buffer out = apply(run_.contiguous(std::move(x), "attention: back"), o, "o_proj");
    all_reduce(out.elements(), request_.tensor_parallel);
    return out;
}

Buffer Decoder::attend(Buffer x, std::size_t layer) {
    run_.module(Module::attention);
    const AttentionSpec& s = spec_of(layer).attention;
    const Layer& w = weights_of_layer(layer);
    x = run_.enter_shards(std::move(x), request_.tensor_parallel, "attention");
    // The block's normed input is an argument, so it lives until attention returns.
    const Buffer argument = x;
    Heads heads = project(std::move(x), w, s);
    if (s.rotary_dim > 0 && architecture_.positions == 0) {
        heads.q = rotate(std::move(heads.q), s, shard(s.heads), false);
        heads.k = rotate(std::move(heads.k), s, shard(s.kv_heads), true);
    }
    update_cache(heads.k, heads.v, layer);
    return project_out(scores(std::move(heads), s), w.o);
}

Buffer Decoder::activate(Buffer x, Activation activation) {
    const auto [math, name] = kernel_of(activation);
    if (compiled()) return run_.merged(math, {&x}, Reading::vectors, name);
    const bool composed = activation == Activation::gelu_new || activation == Activation::gelu_fast;
    if (!composed || !eager()) return run_.unary(math, std::move(x), name);
    const Buffer half = run_.unary(Math::multiply_scalar, x, "gelu: half");
    Buffer inner;
    if (activation == Activation::gelu_new) {
        // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
        inner = run_.unary(Math::cube, x, "gelu: cube");
        inner = run_.unary(Math::multiply_scalar, std::move(inner), "gelu: scale");
        inner = run_.binary(Math::add, x, std::move(inner), "gelu: add");
        inner = run_.unary(Math::multiply_scalar, std::move(inner), "gelu: scale");
    } else {
        // 0.5 x (1 + tanh(x sqrt(2/pi) (1 + 0.044715 x x)))
        const Buffer scaled = run_.unary(Math::multiply_scalar, x, "gelu: scale");
        inner = run_.unary(Math::multiply_scalar, x, "gelu: scale");
        inner = run_.binary(Math::multiply, std::move(inner), x, "gelu: square");
        inner = run_.unary(Math::add_scalar, std::move(inner), "gelu: one");
        inner = run_.binary(Math::multiply, scaled, std::move(inner), "gelu: product");
    }
    inner = run_.unary(Math::tanh, std::move(inner), "gelu: tanh");
    inner = run_.unary(Math::add_scalar, std::move(inner), "gelu: one");
    return run_.binary(Math::multiply, half, std::move(inner), "gelu: product");
}

Buffer Decoder::gated(Buffer x, const Linear& gate, const Linear& up, const Linear& down,
                      Activation activation) {
    const Buffer argument = x;
    Buffer g = apply(x, gate, "gate_proj");
    if (eager()) g = activate(std::move(g), activation);
    Buffer u = apply(std::move(x), up, "up_proj");
    if (compiled()) {
        g = run_.merged(gate_of(activation), {&g, &u}, Reading::vectors, "gate");
    } else {
        g = eager() ? run_.binary(Math::multiply, std::move(g), std::move(u), "gate: product")
                    : run_.fused(gate_of(activation), std::move(g), 2, "gate");
    }
    u = Buffer();
    return apply(std::move(g), down, "down_proj");
}

Buffer Decoder::feed_forward(Buffer x, std::size_t layer) {
    const FeedForwardSpec& s = spec_of(layer).feed_forward;
    const Layer& w = weights_of_layer(layer);
    run_.module(s.experts > 0 ? Module::experts : Module::mlp);
    // GPUs that share the experts have the same tokens and add up the outputs of their experts.
    const std::int64_t gpus = s.experts > 0 ? request_.tensor_parallel * request_.expert_parallel
                                            : request_.tensor_parallel;
    x = run_.enter_shards(std::move(x), gpus, "mlp");
    Buffer out;
    if (s.experts > 0) {
        out = experts(std::move(x), w, s);
    } else if (w.gate_up.weight) {
        const Buffer argument = x;
        const Buffer joined = apply(std::move(x), w.gate_up, "gate_up_proj");
        const std::int64_t half = joined.elements() / 2;
        Buffer g;
        const std::array<std::int64_t, 2> halves{half, half};
        if (compiled()) {
            const std::vector<Buffer> cut = run_.split(joined, halves, "gate cut");
            g = run_.merged(gate_of(s.activation), {&cut[0], &cut[1]}, Reading::vectors, "gate");
        } else if (eager()) {
            std::vector<Buffer> cut = run_.split(joined, halves, "gate cut");
            g = activate(std::move(cut[0]), s.activation);
            g = run_.binary(Math::multiply, std::move(cut[1]), std::move(g), "gate: product");
            g = g.together();
        } else {
            g = run_.fused(gate_of(s.activation), run_.slice(joined, half, "gate"), 2, "gate");
        }
        out = apply(std::move(g), w.down, "down_proj");
    } else if (s.gated) {
        out = gated(std::move(x), w.gate, w.up, w.down, s.activation);
    } else {
        const Buffer argument = x;
        Buffer h = apply(std::move(x), w.up, "up_proj");
        out = apply(activate(std::move(h), s.activation), w.down, "down_proj");
    }
    all_reduce(out.elements(), gpus);
    return out;
}

}  // namespace ridge::programs
