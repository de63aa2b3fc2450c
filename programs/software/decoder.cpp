#include "programs/software/decoder.h"

#include <algorithm>

#include "hardware/error.h"

namespace ridge::programs {

using model::DataType;

Decoder::Decoder(const Architecture& architecture, const Request& request, bool memory)
    : architecture_(architecture),
      request_(request),
      run_({.training = request.training(),
            .memory = memory,
            .layers = architecture.layers(),
            .data_parallel = request.data_parallel,
            .zero = request.zero,
            .fused = request.software == Software::compiled}) {}

void Decoder::run() {
    make_weights();
    make_cache();
    make_states();
    run_.begin(model_phase::forward);
    gather_rest();
    Buffer x = embed();
    // The model's code holds a reference to the embeddings until the last layer is done.
    if (architecture_.positions == 0) embedded_ = x;
    masks();
    positions();
    run_layers(x);
    finish(std::move(x));
    if (request_.training()) update();
}

Buffer Decoder::embed() {
    const Architecture& a = architecture_;
    run_.enter(Module::embedding, -1);
    Buffer x = run_.embedding(embedding_, tokens(), a.hidden, shard(a.vocabulary), "embedding");
    all_reduce(tokens() * a.hidden, request_.tensor_parallel);
    if (a.positions > 0) {
        const std::int64_t elements = request_.tokens() * a.hidden;
        embedded_ = x;
        Buffer positions = run_.embedding(position_table_, request_.tokens(), a.hidden, a.positions,
                                          "position embedding");
        x = request_.batch == 1 || elements == x.elements()
                ? run_.binary(Math::add, std::move(x), positions, "embeddings: add")
                : run_.broadcast(Math::add, std::move(x), positions, "embeddings: add");
        x = run_.dropout(std::move(x), a.dropout, "dropout");
        embedded_positions_ = std::move(positions);
    }
    if (a.scaled_embedding && eager()) {
        // Allocated first: the compiler chooses the order in which arguments are evaluated, and one
        // of them moves from x.
        Buffer scale(run_.allocate(1, x.type(), "scale"));
        x = run_.broadcast(Math::multiply, std::move(x), std::move(scale), "scaled embedding");
    }
    return x;
}

void Decoder::positions() {
    const Architecture& a = architecture_;
    const std::int64_t count = request_.tokens();
    run_.enter(Module::embedding, -1);
    if (request_.software == Software::serving) return;
    // Find out which rotary tables the layers use.
    bool local = false;
    bool global = false;
    bool complex = false;
    std::int64_t dimension = 0;
    for (const LayerSpec& kind : a.kinds) {
        (kind.attention.window > 0 ? local : global) = true;
        dimension = kind.attention.rotary_dim;
        complex = kind.attention.rotary == Rotary::complex;
    }
    if (compiled()) {  // position embeddings are looked up in the first norm
        for (int i = 0; i < (a.positions > 0 ? 3 : 0) && request_.training(); ++i) {
            run_.small("positions", count * 8);
        }
    }
    if (dimension == 0 || a.positions > 0) return;
    // Gemma 3 rotates its windowed layers with another base, so there are two tables.
    const bool two = local && global && a.kinds.front().attention.qk_norm == QkNorm::head;
    const std::int64_t elements = count * dimension;
    for (int table = 0; table < (two ? 2 : 1); ++table) rotary_tables(elements, complex);
}

void Decoder::rotary_tables(std::int64_t elements, bool complex) {
    if (compiled()) {  // positions, then a product in fp32; users compute cosine and sine
        run_.small("rotary: positions", elements);
        run_.small("rotary: angles", elements * 4, 2.5F);
        cosine_ = run_.allocate(elements, DataType::fp32, "rotary tables");
        return;
    }
    if (!eager()) {  // angles, cosine and sine in one kernel
        cosine_ = run_.made(Math::cosine, elements, request_.type, "rotary tables");
        sine_ = run_.allocate(elements, request_.type, "rotary tables");
        return;
    }
    run_.small("rotary: positions", elements);
    run_.small("rotary: angles", elements * 4);
    if (complex) {
        run_.small("rotary: ones", elements * 4);
        run_.small("rotary: polar", elements * 8);
        run_.small("rotary: scale", elements * 8);
        cosine_ = run_.allocate(elements, DataType::fp32, "rotary tables");
        return;
    }
    for (const char* name :
         {"rotary: cat", "rotary: cos", "rotary: scale", "rotary: sin", "rotary: scale"}) {
        run_.small(name, elements * 8);
    }
    const bool wide = architecture_.kinds.front().attention.rotary == Rotary::halves_fp32;
    if (wide) {
        cosine_ = run_.allocate(elements, DataType::fp32, "rotary tables");
        sine_ = run_.allocate(elements, DataType::fp32, "rotary tables");
        return;
    }
    if (request_.type != DataType::fp32) {
        run_.small("rotary: cast", elements * 6);
        run_.small("rotary: cast", elements * 6);
    }
    cosine_ = run_.allocate(elements, request_.type, "rotary tables");
    sine_ = run_.allocate(elements, request_.type, "rotary tables");
}

void Decoder::masks() {
    run_.enter(Module::embedding, -1);
    if (!eager()) return;
    run_.small("positions", request_.tokens() * 8);
    run_.small("positions: offset", request_.tokens() * 8);
    if (architecture_.positions > 0) return;
    if (!request_.training() && !request_.cache) {
        // Without a cache, the code searches the positions for packed sequences.
        const std::int64_t bytes = tokens() * 8;
        for (const char* name : {"packed: first", "packed: cat", "packed: difference", "packed: ne",
                                 "packed: copy", "packed: cumsum", "packed: eq", "packed: all"}) {
            run_.small(name, bytes);
        }
    }
    if (architecture_.idle_mask) return sliding_mask();
    for (const LayerSpec& kind : architecture_.kinds) {
        const std::int64_t keys = request_.phase == Phase::decode ? request_.seq + 1 : request_.seq;
        if (kind.attention.window == 0 || keys < kind.attention.window) continue;
        sliding_mask();
        return;
    }
}

void Decoder::sliding_mask() {
    std::int64_t window = 0;
    for (const LayerSpec& kind : architecture_.kinds) {
        window = std::max(window, kind.attention.window);
    }
    const std::int64_t rows = request_.tokens();
    const std::int64_t keys = request_.phase == Phase::decode ? request_.seq + 1 : request_.seq;
    const std::int64_t columns =
        request_.phase == Phase::decode && window > 0 ? std::min(window, keys) : keys;
    for (const char* name : {"mask: batches", "mask: heads", "mask: queries", "mask: queries",
                             "mask: keys", "mask: keys", "mask: true", "mask: window"}) {
        run_.small(name, rows * 8);
    }
    // Comparisons and their conjunctions over [queries, keys], one byte each.
    const auto compare = [&](const char* name) {
        return run_.made(Math::masked_fill, rows * columns, DataType::int8, name);
    };
    Buffer within = compare("mask: in the window");
    within = compare("mask: and");
    const Buffer causal = compare("mask: causal");
    mask_ = compare("mask: and");
}

void Decoder::run_layers(Buffer& x) {
    const std::size_t count = architecture_.layer_kinds.size();
    std::vector<std::int64_t> first(architecture_.kinds.size(), -1);
    std::vector<std::int64_t> last(architecture_.kinds.size(), -1);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t kind = architecture_.layer_kinds[i];
        if (first[kind] < 0) first[kind] = static_cast<std::int64_t>(i);
        last[kind] = static_cast<std::int64_t>(i);
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t kind = architecture_.layer_kinds[i];
        const auto index = static_cast<std::int64_t>(i);
        run_.enter(Module::attention, index);
        std::int64_t times = 1;
        if (!request_.training()) {
            const bool is_first = first[kind] == index;
            if (is_first) {
                times = std::max<std::int64_t>(1, architecture_.layers_of(kind) - 1);
            } else if (last[kind] != index) {
                times = 0;
            }
        }
        run_.repeat(times);
        if (times > 0) {
            // The caller's loop holds the layer's input until it has the output.
            const bool again = request_.checkpoint != Checkpoint::none && request_.training();
            const auto run_block = [this, i](Buffer input) { return block(std::move(input), i); };
            const Recompute what = request_.checkpoint == Checkpoint::full ? Recompute::everything
                                                                           : Recompute::between;
            gather_layer(index);
            x = again ? run_.checkpointed(x, what, run_block) : block(x, i);
        } else if (!cache_.empty()) {
            skip_cache(i);
        }
        run_.repeat(1);
    }
}

/// ZeRO 3: gathers the whole weights of one layer at a time and frees those of the layer before.
void Decoder::gather_layer(std::int64_t layer) {
    if (!request_.training() || request_.zero < 3 || request_.data_parallel < 2) return;
    gathered_.reset();
    if (layer < 0 || layer >= architecture_.layers()) return;
    gather(layers_[static_cast<std::size_t>(layer)].elements, gathered_);
}

/// Embedding, last norm and head stay gathered for the whole step.
void Decoder::gather_rest() {
    if (!request_.training() || request_.zero < 3 || request_.data_parallel < 2) return;
    std::int64_t elements = weight_elements_;
    for (const Layer& layer : layers_) elements -= layer.elements;
    gather(elements, gathered_rest_);
    run_.on_layer([this](std::int64_t layer) { gather_layer(layer); });
}

void Decoder::gather(std::int64_t stored, Buffer& whole) {
    const DataType type = request_.mixed ? DataType::fp32 : request_.type;
    const std::int64_t elements = stored * request_.data_parallel;
    whole = run_.allocate(elements, type, "gathered weights");
    run_.collective(model::CollectiveKind::all_gather, elements * model::size_of(type),
                    request_.data_parallel, "weights: all_gather", Stream::own);
}

void Decoder::skip_cache(std::size_t layer) {
    // A serving engine writes into pages that already exist.
    if (request_.software == Software::serving && request_.phase == Phase::decode) return;
    const AttentionSpec& s = spec_of(layer).attention;
    const std::int64_t added = request_.batch * request_.tokens();
    const std::int64_t keys = s.latent() ? s.kv_rank : shard(s.kv_heads) * s.head_dim;
    const std::int64_t values = s.latent() ? s.rotary_dim : shard(s.kv_heads) * s.value_dim;
    auto& [k, v] = cache_[layer];
    hold_cache(k, v);
    const auto grown = [&](const Buffer& old, std::int64_t width) {
        const std::int64_t all = (old ? old.elements() : 0) + added * width;
        const bool slides = s.window > 0 && request_.phase == Phase::decode;
        return slides ? std::min(all, request_.batch * s.window * width) : all;
    };
    k = run_.allocate(grown(k, keys), request_.cache_type, "keys");
    v = run_.allocate(grown(v, values), request_.cache_type, "values");
}

/// The inputs of a compiled graph live until the graph has returned its outputs.
void Decoder::hold_cache(const Buffer& keys, const Buffer& values) {
    if (request_.software != Software::compiled || request_.phase != Phase::decode) return;
    held_.push_back(keys);
    held_.push_back(values);
}

Buffer Decoder::block(Buffer x, std::size_t layer) {
    const bool parallel =
        architecture_.block == Block::parallel || architecture_.block == Block::parallel_two_norms;
    return parallel ? parallel_block(std::move(x), layer) : sequential_block(std::move(x), layer);
}

Buffer Decoder::sequential_block(Buffer x, std::size_t layer) {
    const Layer& w = weights_of_layer(layer);
    const bool sandwich = architecture_.block == Block::sandwich;
    const bool post = architecture_.block == Block::post;
    // `x` is kept as the residual while the branch is computed.
    Buffer h = post ? x : norm(x, w.norms[0], "input norm");
    h = spec_of(layer).attention.latent() ? latent_attend(std::move(h), layer)
                                          : attend(std::move(h), layer);
    if (sandwich) h = norm(std::move(h), w.norms[1], "norm after attention");
    if (post) h = norm(std::move(h), w.norms[0], "norm after attention");
    h = run_.dropout(std::move(h), architecture_.dropout, "dropout");
    // GPT-2's block names the output of attention, which keeps it alive until the block ends.
    const Buffer named = architecture_.positions > 0 ? h : Buffer();
    x = residual(std::move(x), std::move(h));
    h = post ? x : norm(x, w.norms[sandwich ? 2 : 1], "mlp norm");
    h = feed_forward(std::move(h), layer);
    if (sandwich) h = norm(std::move(h), w.norms[3], "norm after mlp");
    if (post) h = norm(std::move(h), w.norms[1], "norm after mlp");
    h = run_.dropout(std::move(h), architecture_.dropout, "dropout");
    return residual(std::move(x), std::move(h));
}

Buffer Decoder::parallel_block(Buffer x, std::size_t layer) {
    const Layer& w = weights_of_layer(layer);
    const bool two = architecture_.block == Block::parallel_two_norms;
    Buffer h = norm(x, w.norms[0], "input norm");
    Buffer attended = two ? attend(std::move(h), layer) : attend(h, layer);
    attended = run_.dropout(std::move(attended), architecture_.dropout, "dropout");
    if (two) h = norm(x, w.norms[1], "mlp norm");
    // NOLINTNEXTLINE(bugprone-use-after-move): if h was moved, the line above has reassigned it
    h = feed_forward(std::move(h), layer);
    h = run_.dropout(std::move(h), architecture_.dropout, "dropout");
    h = residual(std::move(h), std::move(attended));
    return residual(std::move(h), std::move(x));
}

void Decoder::finish(Buffer x) {
    const Architecture& a = architecture_;
    run_.enter(Module::norm, a.layers());
    x = norm(std::move(x), final_norm_, "final norm");
    embedded_.reset();
    embedded_positions_.reset();
    if (request_.checkpoint == Checkpoint::none) {  // otherwise the layers run again with them
        for (Buffer* ended : {&cosine_, &sine_, &mask_}) ended->reset();
    }
    run_.module(Module::head);
    const Linear head{.weight = a.tied ? embedding_ : head_,
                      .bias = head_bias_,
                      .inputs = a.hidden,
                      .outputs = shard(a.vocabulary)};
    if (request_.training()) return head_of_training(std::move(x));
    const bool last = request_.logits == Logits::last && request_.tokens() > 1;
    if (last && request_.software != Software::serving && !head_bias_) return last_logits(x, head);
    Buffer kept = x;
    if (last) kept = run_.slice(x, request_.batch * a.hidden, "last tokens");
    // A product with a bias needs contiguous rows.
    if (last && head_bias_ && request_.batch > 1) kept = run_.contiguous(kept, "last tokens");
    static_cast<void>(softcap(apply(kept, head, "lm_head")));
}

/// The last rows of the sequences are not adjacent, so matmul runs one product per sequence and
/// reads the head's weights once for each.
void Decoder::last_logits(const Buffer& x, const Linear& head) {
    if (compiled() && request_.batch > 1) run_.small("last tokens", x.elements() * 4);
    run_.batched(request_.batch, 1, head.outputs, head.inputs, x.type(), "lm_head",
                 ProductForm::forward);
    static_cast<void>(softcap(run_.allocate(request_.batch * head.outputs, x.type(), "lm_head")));
}

Buffer Decoder::softcap(Buffer logits) {
    if (architecture_.softcap <= 0.0) return logits;
    if (compiled()) return run_.merged(Math::tanh, {&logits}, Reading::vectors, "softcap");
    logits = run_.unary(Math::divide_scalar, std::move(logits), "softcap");
    logits = run_.unary(Math::tanh, std::move(logits), "softcap");
    return run_.unary(Math::multiply_scalar, std::move(logits), "softcap");
}

void Decoder::head_of_training(Buffer x) {
    const Architecture& a = architecture_;
    const Linear head{.weight = a.tied ? embedding_ : head_,
                      .bias = head_bias_,
                      .inputs = a.hidden,
                      .outputs = shard(a.vocabulary)};
    const std::int64_t gpus = request_.tensor_parallel;
    x = run_.enter_shards(std::move(x), gpus, "lm_head");
    Buffer logits = apply(std::move(x), head, "lm_head");
    logits = softcap(run_.all_gathered(std::move(logits), gpus, "logits"));
    run_.module(Module::loss);
    const std::int64_t rows = tokens();
    Buffer loss = run_.cross_entropy(run_.cast(std::move(logits), DataType::fp32, "logits in fp32"),
                                     rows, shard(a.vocabulary) * gpus);
    run_.begin(model_phase::backward);
    run_.backward(std::move(loss));
}

}  // namespace ridge::programs
