#include "programs/software/model_run.h"

#include <algorithm>

#include "hardware/error.h"
#include "programs/software/rules.h"
#include "programs/software/wrapper.h"

namespace ridge::programs {

using model::DataType;

namespace {

StepValues values_of(const Request& r) {
    StepValues values;
    const bool decode = r.phase == Phase::decode;
    values[StepSymbol::batch] = r.batch;
    values[StepSymbol::seq] = r.seq;
    values[StepSymbol::fresh] = r.tokens();
    values[StepSymbol::tokens] = r.batch * r.tokens();
    values[StepSymbol::seen] = decode ? r.seq + 1 : r.seq;
    values[StepSymbol::decode] = decode ? 1 : 0;
    values[StepSymbol::train] = r.training() ? 1 : 0;
    values[StepSymbol::cached] = r.cache ? 1 : 0;
    values[StepSymbol::mixed] = r.mixed ? 1 : 0;
    values[StepSymbol::last] = r.logits == Logits::last && r.tokens() > 1 ? 1 : 0;
    values[StepSymbol::recomputes] = r.checkpoint != Checkpoint::none ? 1 : 0;
    values[StepSymbol::bytes] = model::size_of(r.type);
    values[StepSymbol::tp] = r.tensor_parallel;
    values[StepSymbol::ep] = r.expert_parallel;
    values[StepSymbol::rows_apart] = rules_of(r.software).rows_apart ? 1 : 0;
    values[StepSymbol::images] = decode ? 0 : r.images;
    values[StepSymbol::image_width] = r.image_width;
    values[StepSymbol::image_height] = r.image_height;
    values[StepSymbol::audio] = decode ? 0 : r.audio;
    values[StepSymbol::drafting] = r.drafting ? 1 : 0;
    return values;
}

/// An encoder keeps no cache.
Request settled(const Architecture& architecture, Request request) {
    request.cache = request.cache && architecture.value("causal") > 0;
    return request;
}

}  // namespace

ModelRun::ModelRun(const Architecture& architecture, const Request& request, bool memory)
    : architecture_(architecture),
      request_(settled(architecture, request)),
      run_({.training = request.training(),
            .memory = memory,
            .layers = architecture.layers(),
            .data_parallel = request.data_parallel,
            .zero = request.zero,
            .first_bucket = wrapper_of(request).first_bucket,
            .bucket = wrapper_of(request).bucket,
            .fused = request.software == Software::compiled}),
      procedures_(procedures_of(*architecture.rules, request.software)),
      modules_(modules_of(procedures_)),
      symbols_(symbols_of(architecture, values_of(request_))),
      keys_(procedures_.global("@keys")),
      values_global_(procedures_.global("@values")) {
    for (std::size_t kind = 0; kind < symbols_.size(); ++kind) {
        auto& rows = rows_.emplace_back();
        for (const WeightRule& rule : architecture.rules->weights) {
            rows.push_back(shape_of(rule, architecture, symbols_, kind).rows);
        }
    }
    globals_.resize(procedures_.globals().size());
}

void ModelRun::run() {
    make_weights();
    make_cache();
    make_states();
    run_.begin(model_phase::forward);
    gather_rest();
    run_.enter(Module::embedding, -1);
    Buffer x =
        architecture_.embeds
            ? execute(code("embed", 0, 0), {})
            : run_.allocate(architecture_.value("passed") * request_.batch * request_.tokens(),
                            request_.type, "from the stage before");
    step("masks");
    step("positions");
    run_layers(x);
    if (!architecture_.ends) return;
    run_.enter(Module::norm, architecture_.layers());
    Buffer loss = execute(code("finish", 0, 1), std::move(x));
    if (!request_.training()) return;
    run_.begin(model_phase::backward);
    if (frees()) {
        send_gather(rest_elements());
        copy_out(rest_elements());
    }
    run_.backward(std::move(loss));
    update();
}

Code ModelRun::code(std::string_view name, std::size_t kind, int arguments) const {
    return procedures_.code(
        name,
        {.fields = &architecture_.fields, .kinds = &symbols_, .kind = kind, .rows = &rows_[kind]},
        arguments);
}

void ModelRun::step(std::string_view name) {
    run_.enter(Module::embedding, -1);
    static_cast<void>(execute(code(name, 0, 0), {}));
}

void ModelRun::run_layers(Buffer& x) {
    const std::size_t count = architecture_.layer_kinds.size();
    const std::size_t kinds = architecture_.kinds.size();
    std::vector<std::size_t> first(kinds, count);
    std::vector<std::size_t> last(kinds, count);
    codes_.resize(kinds);
    skips_.resize(kinds);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t kind = architecture_.layer_kinds[i];
        if (first[kind] == count) {
            first[kind] = i;
            codes_[kind] = code("layer", kind, 1);
            if (!cache_.empty()) skips_[kind] = code("skip_cache", kind, 0);
        }
        last[kind] = i;
    }
    const auto further =
        static_cast<std::size_t>(request_.drafting ? architecture_.value("further") : 0);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t kind = architecture_.layer_kinds[i];
        if (i + further >= count) {
            // Before each of them the head gives the token that it starts from.
            run_.enter(Module::head, -1);
            x = execute(code("further", kind, 1), std::move(x));
        }
        std::int64_t times = 1;
        if (!request_.training()) {
            if (first[kind] == i) {
                times = std::max<std::int64_t>(1, architecture_.layers_of(kind) - 1);
            } else if (last[kind] != i) {
                times = 0;
            }
        }
        run_layer(x, i, times);
    }
}

void ModelRun::run_layer(Buffer& x, std::size_t layer, std::int64_t times) {
    const std::uint8_t kind = architecture_.layer_kinds[layer];
    run_.enter(Module::attention, static_cast<std::int64_t>(layer));
    run_.repeat(times);
    if (times > 0) {
        // The caller's loop holds the layer's input until it has the output.
        const auto run_block = [this, kind, layer](Buffer input) {
            layer_ = layer;
            weights_at_ = request_.training() ? layer : kind;
            return execute(codes_[kind], std::move(input));
        };
        const bool again = request_.checkpoint != Checkpoint::none && request_.training();
        const Recompute what =
            request_.checkpoint == Checkpoint::full ? Recompute::everything : Recompute::between;
        gather_layer(static_cast<std::int64_t>(layer));
        x = again ? run_.checkpointed(x, what, run_block) : run_block(x);
    } else if (!cache_.empty()) {
        layer_ = layer;
        static_cast<void>(execute(skips_[kind], {}));
    }
    run_.repeat(1);
}

/// ZeRO 2 and 3: the weights of a layer are gathered while the layer before runs, and copied out of the
/// gathered buffer. With ZeRO 3 those of the layer before are freed.
void ModelRun::gather_layer(std::int64_t layer) {
    if (!gathers()) return;
    gathered_.reset();
    if (layer < 0 || layer >= architecture_.layers()) return;
    gather(layers_[static_cast<std::size_t>(layer)].elements, gathered_);
}

/// In the backward pass, the gather of the layer before follows at once.
void ModelRun::gather_again(std::int64_t layer) {
    gathered_.reset();
    if (layer < 0 || layer >= architecture_.layers()) return;
    const std::int64_t elements = layers_[static_cast<std::size_t>(layer)].elements;
    gathered_ = gathered_buffer(elements);
    if (ahead_ != layer) send_gather(elements);
    copy_out(elements);
    ahead_ = layer - 1;
    if (ahead_ >= 0) send_gather(layers_[static_cast<std::size_t>(ahead_)].elements);
}

/// Embedding, last norm and head: they keep their memory for the whole step.
void ModelRun::gather_rest() {
    if (!gathers()) return;
    gather(rest_elements(), gathered_rest_);
    if (frees()) run_.on_layer([this](std::int64_t layer) { gather_again(layer); });
}

std::int64_t ModelRun::rest_elements() const {
    std::int64_t elements = weight_elements_;
    for (const Weights& layer : layers_) elements -= layer.elements;
    return elements;
}

Buffer ModelRun::gathered_buffer(std::int64_t stored) {
    if (!frees()) return {};
    run_.purpose(Purpose::gathered);
    Buffer buffer = run_.allocate(whole(stored), stored_type(), "gathered weights");
    run_.purpose(Purpose::activation);
    return buffer;
}

void ModelRun::send_gather(std::int64_t stored) {
    run_.collective(model::CollectiveKind::all_gather,
                    whole(stored) * model::size_of(stored_type()), request_.data_parallel,
                    "weights: all_gather", Stream::own);
}

void ModelRun::copy_out(std::int64_t stored) {
    run_.await_collective();
    run_.copied(whole(stored) * model::size_of(stored_type()), "weights: copy out");
    run_.hold_collectives();
}

void ModelRun::gather(std::int64_t stored, Buffer& buffer) {
    buffer = gathered_buffer(stored);
    send_gather(stored);
    copy_out(stored);
}

}  // namespace ridge::programs
