#include "programs/traffic/deployment.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/error.h"
#include "programs/configs/weights.h"
#include "programs/model_step.h"
#include "programs/traffic/adapters.h"

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

std::string_view name_of(Draft draft) {
    constexpr std::array<const char*, 4> names{"none", "ngram", "mtp", "draft_model"};
    return names[static_cast<std::size_t>(draft)];
}

std::vector<std::int64_t> chain_of(std::int64_t tokens) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(std::max<std::int64_t>(0, tokens)),
                                     1);
}

std::int64_t Speculation::rows(std::int64_t level) const {
    std::int64_t rows = 1;
    for (std::int64_t i = 0; i < level; ++i) rows *= widths[static_cast<std::size_t>(i)];
    return rows;
}

std::int64_t Speculation::tokens() const {
    std::int64_t rows = 1;
    std::int64_t sum = 0;
    for (const std::int64_t width : widths) {
        rows *= width;
        sum += rows;
    }
    return sum;
}

double Speculation::accepted(std::int64_t level) const {
    const auto width = static_cast<double>(widths[static_cast<std::size_t>(level)]);
    return width == 1.0 ? acceptance : 1.0 - std::pow(1.0 - acceptance, width);
}

double Speculation::tokens_per_step() const {
    double sum = 1.0;
    double reached = 1.0;
    for (std::int64_t level = 0; level < depth(); ++level) {
        reached *= accepted(level);
        sum += reached;
    }
    return sum;
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

namespace {

void check_drafts(const Speculation& s, const Deployment& d) {
    constexpr std::int64_t most_nodes = 256;
    std::int64_t nodes = 0;
    std::int64_t rows = 1;
    for (const std::int64_t width : s.widths) {
        if (width < 1 || width > most_nodes) throw InputError("draft-tree: widths are 1 to 256");
        rows *= width;
        nodes += rows;
        if (nodes > most_nodes) throw InputError("draft-tokens: at most 256 in a step");
    }
    if (d.chunk <= nodes) throw InputError("chunk: must be more than the drafted tokens");
    if (!(s.acceptance >= 0.0 && s.acceptance <= 1.0)) {
        throw InputError("acceptance: must be 0 to 1");
    }
    if (s.draft == Draft::model && d.drafter == nullptr) {
        throw InputError("draft-model: which model drafts?");
    }
    const bool tree =
        std::any_of(s.widths.begin(), s.widths.end(), [](std::int64_t width) { return width > 1; });
    if (tree && s.draft == Draft::ngram) {
        throw InputError("draft-tree: the text so far has one continuation", {},
                         "--draft mtp, or --draft-model");
    }
}

/// Bytes of a sequence's cache on one GPU.
std::int64_t cache_of(const Architecture& a, const Deployment& d, std::int64_t length) {
    return kv_cache_bytes(a, {.bytes = model::size_of(d.cache_type),
                              .batch = 1,
                              .tokens = length,
                              .tensor_parallel = d.tensor}) /
           d.pipeline;
}

}  // namespace

Deployment deployment_of_drafter(const Deployment& d) {
    Deployment own = d;
    own.experts = d.experts && d.drafter->most("experts") > 0;
    own.quantisation = Quantisation::stored;
    own.speculation = {};
    own.drafter = nullptr;
    own.adapters = {};
    own.offload = 0;
    return own;
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
    check_drafts(d.speculation, d);
    if (d.adapters.slots > 0) {
        positive("adapter-slots", d.adapters.slots, 65536);
        positive("rank", d.adapters.rank, 65536);
    }
    Request request = request_of(d, Phase::decode);
    request.seq = 1;
    programs::validate(architecture, request);
    if (d.drafter != nullptr) {
        request.expert_parallel = 1;
        programs::validate(*d.drafter, request);
    }
}

std::int64_t weights_of_gpu(const Architecture& architecture, const Deployment& d) {
    Request request = request_of(d, Phase::decode);
    request.seq = 1;
    request.drafting = d.speculation.draft == Draft::mtp && architecture.value("further") > 0;
    std::int64_t bytes = 0;  // of the stage that holds most
    for (std::int64_t i = 0; i < d.pipeline; ++i) {
        Request of_stage = request;
        of_stage.drafting = request.drafting && i + 1 == d.pipeline;
        const Architecture stage = architecture.stage(i, d.pipeline);
        bytes = std::max(bytes, make_step(stage, of_stage, false).weights_bytes);
    }
    if (d.drafter != nullptr) bytes += weights_of_gpu(*d.drafter, deployment_of_drafter(d));
    return bytes + d.adapters.slots * adapter_bytes(architecture, d);
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
    const double of_token = cache_bytes_per_token(architecture, d, length);
    if (of_token <= 0.0) return most_length * most_length;
    return static_cast<std::int64_t>(static_cast<double>(left) / of_token *
                                     static_cast<double>(d.data));
}

double cache_bytes_per_token(const Architecture& architecture, const Deployment& d,
                             std::int64_t length) {
    std::int64_t bytes = cache_of(architecture, d, length);
    if (d.drafter != nullptr) bytes += cache_of(*d.drafter, deployment_of_drafter(d), length);
    return static_cast<double>(bytes) / static_cast<double>(length);
}

std::int64_t offloaded_tokens(const Architecture& architecture, const Deployment& d,
                              std::int64_t length) {
    const double of_token =
        cache_bytes_per_token(architecture, d, length) * static_cast<double>(d.tensor * d.pipeline);
    if (d.offload == 0 || of_token <= 0.0) return 0;
    return static_cast<std::int64_t>(static_cast<double>(d.offload) / of_token);
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
    const bool drafts = d.speculation.depth() > 0;
    keep(text, "draft_only", drafts);
    keep(text, "drafter_only", drafts && d.drafter != nullptr);
    keep(text, "adapters_only", d.adapters.slots > 0);
    keep(text, "offload_only", d.offload > 0);
    put(text, "model", model);
    put(text, "tp", std::to_string(d.tensor));
    put(text, "dp", std::to_string(d.data));
    put(text, "pp", std::to_string(d.pipeline));
    put(text, "gpus", std::to_string(d.gpus_of_replica()));
    put(text, "experts", std::to_string(d.tensor * d.data));
    put(text, "sequences", std::to_string(d.sequences));
    put(text, "chunk", std::to_string(d.chunk));
    put(text, "quantisation", std::string(name_of(d.quantisation)));
    put(text, "method", std::string(name_of(d.speculation.draft)));
    put(text, "drafts", std::to_string(d.speculation.depth()));
    if (d.drafter != nullptr) put(text, "drafter", d.drafter->name);
    put(text, "slots", std::to_string(d.adapters.slots));
    put(text, "rank", std::to_string(d.adapters.rank));
    put(text, "offload", std::to_string(d.offload >> 30));
    put(text, "cache", std::string(model::name_of(d.cache_type)));
    return text;
}

}  // namespace ridge::programs
