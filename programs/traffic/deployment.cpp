#include "programs/traffic/deployment.h"

#include <algorithm>
#include <cmath>

#include "hardware/error.h"
#include "programs/configs/weights.h"
#include "programs/model_step.h"

namespace ridge::programs {
namespace {

/// Whether all digits of a word are degrees of this deployment: replaces {tp}, {dp}, ...
void put(std::string& text, const std::string& name, const std::string& value) {
    const std::string mark = "{" + name + "}";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
        text.replace(at, mark.size(), value);
    }
}

/// "{name: words}" becomes " words" if the part is wanted, nothing otherwise.
void keep(std::string& text, const std::string& name, bool wanted) {
    const std::string mark = "{" + name + ":";
    const std::size_t at = text.find(mark);
    if (at == std::string::npos) return;
    std::size_t end = at;
    int depth = 0;
    do {
        depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
        ++end;
    } while (depth > 0 && end < text.size());
    const std::string inside = text.substr(at + mark.size(), end - at - mark.size() - 1);
    text.replace(at, end - at, wanted ? inside : "");
}

}  // namespace

double Speculation::tokens_per_step() const {
    if (draft == Draft::none || tokens == 0) return 1.0;
    if (acceptance >= 1.0) return static_cast<double>(tokens) + 1.0;
    return (1.0 - std::pow(acceptance, static_cast<double>(tokens + 1))) / (1.0 - acceptance);
}

Request request_of(const Deployment& d, Phase phase) {
    return {.phase = phase,
            .software = Software::serving,
            .type = d.type,
            .cache_type = d.cache_type,
            .quantisation = d.quantisation,
            .tensor_parallel = d.tensor,
            .expert_parallel = d.experts ? d.data : 1};
}

void validate(const Architecture& architecture, const Deployment& d) {
    const auto positive = [](const char* field, std::int64_t value, std::int64_t most) {
        if (value >= 1 && value <= most) return;
        throw InputError(std::string(field) + ": must be 1 to " + std::to_string(most));
    };
    positive("tp", d.tensor, 64);
    positive("dp", d.data, 1024);
    positive("pp", d.pipeline, std::max<std::int64_t>(1, architecture.layers()));
    positive("replicas", d.replicas, 4096);
    positive("chunk", d.chunk, most_length);
    positive("batch", d.sequences, most_batch);
    positive("block", d.block, 4096);
    const std::int64_t experts = architecture.most("experts");
    if (experts == 0 && d.experts) throw InputError("ep: " + architecture.name + " has no experts");
    if (d.data > 1 && !d.experts) {
        throw InputError("dp: attention in parallel needs --ep", {},
                         "--replicas for copies that share nothing");
    }
    if (d.experts && experts % (d.tensor * d.data) != 0) {
        throw InputError("ep: " + std::to_string(d.tensor * d.data) + " GPUs do not divide the " +
                         std::to_string(experts) + " experts");
    }
    const Speculation& s = d.speculation;
    if (s.tokens < 0 || s.tokens > 64) throw InputError("draft-tokens: must be 0 to 64");
    if (d.chunk <= s.tokens) throw InputError("chunk: must be more than the drafted tokens");
    if (!(s.acceptance >= 0.0 && s.acceptance <= 1.0)) {
        throw InputError("acceptance: must be 0 to 1");
    }
    Request request = request_of(d, Phase::decode);
    request.seq = 1;
    programs::validate(architecture, request);
}

std::int64_t weights_of_gpu(const Architecture& architecture, const Deployment& d) {
    Request request = request_of(d, Phase::decode);
    request.seq = 1;
    return make_step(architecture, request, false).weights_bytes / d.pipeline;
}

std::int64_t activations_of_gpu(const Architecture& a, const Deployment& d) {
    const std::int64_t hidden = a.value("hidden");
    const std::int64_t inner = 3 * a.most("intermediate") / d.tensor;
    const std::int64_t expert = a.most("active") * std::max(2 * a.most("inner"), hidden);
    const std::int64_t row = 4 * hidden + std::max(inner, a.most("experts") > 0 ? expert : 0);
    // Logits in the model's type, in fp32, sorted with their indices.
    const std::int64_t logits = a.value("vocabulary") * (model::size_of(d.type) + 4 + 8);
    return d.chunk * row * model::size_of(d.type) + std::min(d.sequences, d.chunk) * logits;
}

std::int64_t usable_tokens(const Architecture& architecture, const Deployment& d,
                           std::int64_t usable, std::int64_t length) {
    const std::int64_t left =
        usable - weights_of_gpu(architecture, d) - activations_of_gpu(architecture, d);
    if (left <= 0) return 0;
    const std::int64_t of_sequence =
        kv_cache_bytes(architecture, {.bytes = model::size_of(d.cache_type),
                                      .batch = 1,
                                      .tokens = length,
                                      .tensor_parallel = d.tensor}) /
        d.pipeline;
    if (of_sequence <= 0) return most_length * most_length;
    const double sequences = static_cast<double>(left) / static_cast<double>(of_sequence);
    return static_cast<std::int64_t>(sequences * static_cast<double>(length * d.data));
}

std::string text_of(const Deployment& d) {
    std::string text;
    const auto add = [&text](const char* name, std::int64_t value) {
        if (value > 1) text += (text.empty() ? "" : ", ") + (name + std::to_string(value));
    };
    add("tp ", d.tensor);
    add("dp ", d.data);
    if (d.experts) add("ep ", d.tensor * d.data);
    add("pp ", d.pipeline);
    if (d.replicas > 1) {
        text += (text.empty() ? "" : ", ") + std::to_string(d.replicas) + " replicas";
    }
    return text.empty() ? "one GPU" : text;
}

std::string start_command(const Engine& engine, const std::string& model, const Deployment& d) {
    std::string text = engine.command;
    const bool quantised =
        d.quantisation != Quantisation::stored && d.quantisation != Quantisation::none;
    keep(text, "ep", d.experts);
    keep(text, "tp_only", d.tensor > 1);
    keep(text, "dp_only", d.data > 1);
    keep(text, "pp_only", d.pipeline > 1);
    keep(text, "quantisation_only", quantised);
    keep(text, "cache_only", d.cache_type != d.type);
    put(text, "model", model);
    put(text, "tp", std::to_string(d.tensor));
    put(text, "dp", std::to_string(d.data));
    put(text, "pp", std::to_string(d.pipeline));
    put(text, "gpus", std::to_string(d.gpus_of_replica()));
    put(text, "experts", std::to_string(d.tensor * d.data));
    put(text, "sequences", std::to_string(d.sequences));
    put(text, "chunk", std::to_string(d.chunk));
    put(text, "quantisation", std::string(name_of(d.quantisation)));
    put(text, "cache", std::string(model::name_of(d.cache_type)));
    return text;
}

}  // namespace ridge::programs
