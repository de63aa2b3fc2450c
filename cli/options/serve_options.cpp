#include "cli/options/serve_options.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "cli/options/command_line.h"
#include "cli/options/lists.h"
#include "cli/options/model_options.h"
#include "hardware/count.h"
#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "programs/traffic/engine.h"

namespace ridge::cli {
namespace {

/// Loads up to this many requests at a time if no load is given.
constexpr std::int64_t usual_most = 256;

std::vector<double> rates_in(const std::string& text) {
    std::vector<double> rates;
    for (const std::string& word : words_in(text, "rate")) {
        rates.push_back(parse_number(word, "rate"));
        if (!(rates.back() > 0.0)) throw InputError("rate: must be more than 0");
    }
    return rates;
}

}  // namespace

ServeOptions::ServeOptions(CommandLine& line) {
    line.positional("model", model_, "a preset (`ridge model --list`), config.json, or its folder")
        .value("MODEL");
    add_load(line);
    add_deployment(line);
    add_scheduler(line);
}

void ServeOptions::add_load(CommandLine& line) {
    line.option("--rate", rate_, "requests per second of all servers; a list gives one row each")
        .value("LIST")
        .group("Load");
    line.option("--concurrency", concurrency_,
                "requests at a time instead (default: 1 to 256, doubling)")
        .value("LIST")
        .group("Load");
    line.flag("--steady", steady_, "the steady state for so many requests at a time, without a run")
        .group("Load");
    line.option("--log", log_, "recorded requests instead: CSV or JSON lines (docs/serving.md)")
        .value("FILE")
        .group("Load");
    line.option("--count", count_, "requests to draw").value("COUNT").group("Load");
    line.option("--prompt", prompt_,
                "tokens: 512, 100-2000, exponential:512, lognormal:512:0.8, zipf:16-4096")
        .value("LENGTHS")
        .group("Load");
    line.option("--answer", answer_, "the same of answers").value("LENGTHS").group("Load");
    line.option("--burstiness", burstiness_, "variance of the gaps over Poisson's, 1 to 3")
        .group("Load");
    line.option("--vision", vision_, "tokens of images that each prompt has besides: LENGTHS")
        .value("LENGTHS")
        .group("Load");
    line.option("--images", images_, "images, or frames of a video, that these tokens are of")
        .group("Load");
    line.option("--urgent", urgent_, "share of requests that are served first").group("Load");
    line.option("--seed", seed_, "of the drawn requests").group("Load");
    targets_.emplace(line, TargetWords{.group = "Load", .before = "target: ", .price_group = ""});
}

void ServeOptions::add_deployment(CommandLine& line) {
    line.option("--tp", tp_, "GPUs that share each product").group("Deployment");
    line.option("--ep", ep_,
                "distribute experts over the tp x dp GPUs (the same GPUs: --tp 8 --ep 8 are eight)")
        .value("COUNT")
        .group("Deployment");
    line.option("--dp", dp_, "ranks with their own attention; needs --ep").group("Deployment");
    line.option("--pp", pp_, "pipeline stages").group("Deployment");
    line.option("--replicas", replicas_, "servers that share nothing").group("Deployment");
    line.option("--separate", separate_, "servers for prompts and for answers: 1:2")
        .value("P:D")
        .group("Deployment");
    line.option("--link", link_, "bandwidth between those (default: the node's)")
        .value("RATE")
        .group("Deployment");
    line.option("--dtype", dtype_, "type of weights and activations").group("Deployment");
    line.option("--kv-dtype", kv_dtype_, "type of the cache").group("Deployment");
    add_quantise_option(line, quantise_).one_of(quantise_words()).group("Deployment");
}

void ServeOptions::add_scheduler(CommandLine& line) {
    line.option("--software", software_, "engine: vllm, sglang, trtllm; NAME-VERSION for kernels")
        .group("Engine");
    line.option("--chunk", chunk_, "most tokens of a step (default: the engine's)")
        .value("COUNT")
        .group("Engine");
    line.option("--batch", batch_, "most sequences of a step (default: the engine's)")
        .value("COUNT")
        .group("Engine");
    line.option("--block", block_, "tokens of a page of the cache (default: the engine's)")
        .group("Engine");
    line.flag("--whole-prompts", whole_prompts_, "do not cut prompts into chunks").group("Engine");
    line.flag("--no-prefix-cache", no_prefix_cache_, "compute each prompt in full").group("Engine");
    line.option("--sampling", sampling_,
                "top: top-k or top-p, which sort; plain: greedy, or from all")
        .one_of({"top", "plain"})
        .group("Engine");
    extras_.emplace(line, ExtraWords{});
    line.option("--slower-host", slower_host_, "factor on the engine's host times").group("Engine");
}

programs::Engine ServeOptions::engine() const {
    if (!(slower_host_ > 0.0) || slower_host_ > 100.0) {
        throw InputError("slower-host: must be more than 0, at most 100");
    }
    return programs::find_engine(software_).slowed(slower_host_);
}

model::SoftwareChoice ServeOptions::software() const {
    // The engine's name alone means its newest kernels; without kernels of its own, the usual ones.
    if (software_.find('-') == std::string::npos) return {};
    return model::SoftwareChoice::named(software_);
}

std::optional<answers::Separate> ServeOptions::separate() const {
    if (separate_.empty()) {
        if (!link_.empty()) throw InputError("link: only with --separate");
        return std::nullopt;
    }
    const std::size_t colon = separate_.find(':');
    if (colon == std::string::npos) {
        throw InputError("separate: '" + separate_ + "' is not two counts", {}, "--separate 1:2");
    }
    answers::Separate found{.prompts = parse_count(separate_.substr(0, colon), "separate"),
                            .answers = parse_count(separate_.substr(colon + 1), "separate")};
    if (!link_.empty()) {
        try {
            found.link = parse_quantity<Bandwidth>(link_);
        } catch (const InputError& error) {
            throw InputError("link: " + error.message(), {}, error.hint());
        }
        if (!(found.link->base() > 0.0)) throw InputError("link: must be more than 0");
    }
    return found;
}

programs::Deployment ServeOptions::deployment(const programs::Architecture& architecture,
                                              const programs::Engine& engine) const {
    programs::Deployment d{.tensor = tp_,
                           .data = dp_,
                           .pipeline = pp_,
                           .replicas = replicas_,
                           .chunk = engine.chunk,
                           .sequences = engine.sequences,
                           .block = block_ > 0 ? block_ : engine.block,
                           .chunked = !whole_prompts_,
                           .prefix_cache = !no_prefix_cache_};
    if (!ep_.empty()) {
        const std::int64_t experts = parse_count(ep_, "ep");
        if (experts != 1 && experts != tp_ * dp_) {
            throw InputError("ep: experts lie on the " + std::to_string(tp_ * dp_) +
                                 " GPUs of tp x dp, or are cut like any product",
                             {}, "--ep " + std::to_string(tp_ * dp_) + ", or 1");
        }
        d.experts = experts > 1;
    }
    d.type = model::parse_data_type(dtype_, "dtype");
    d.cache_type = kv_dtype_.empty() ? d.type : model::parse_data_type(kv_dtype_, "kv-dtype");
    if (!quantise_.empty()) d.quantisation = programs::parse_quantisation(quantise_, "quantise");
    if (!chunk_.empty()) d.chunk = parse_count(chunk_, "chunk");
    if (!batch_.empty()) d.sequences = parse_count(batch_, "batch");
    d.sampling = sampling_ == "top" ? programs::Sampling::top : programs::Sampling::plain;
    d = extras_->only(d);
    validate(architecture, d);
    return d;
}

answers::TrafficQuestion ServeOptions::question(const programs::Architecture& architecture) const {
    answers::TrafficQuestion question{.engine = engine()};
    question.deployment = deployment(architecture, question.engine);
    question.separate = separate();
    question.load = {.count = parse_count(count_, "count"),
                     .burstiness = burstiness_,
                     .prompt = programs::parse_lengths(prompt_, "prompt"),
                     .answer = programs::parse_lengths(answer_, "answer"),
                     .prefix = extras_->prefix(),
                     .groups = extras_->groups(),
                     .images = images_,
                     .adapters = extras_->adapters(),
                     .urgent = urgent_,
                     .seed = seed_};
    if (vision_.empty() && images_ != 1) throw InputError("images: only with --vision");
    if (!vision_.empty()) question.load.vision = programs::parse_lengths(vision_, "vision");
    if (!rate_.empty()) question.rates = rates_in(rate_);
    if (!concurrency_.empty()) question.concurrencies = counts_in(concurrency_, "concurrency");
    if (!log_.empty()) {
        question.log = programs::read_request_log(hardware::read_text_file(log_), log_);
        std::set<std::int64_t> named;
        for (const programs::TrafficRequest& each : question.log) {
            if (each.adapter >= 0) named.insert(each.adapter);
        }
        programs::AdapterSlots& adapters = question.deployment.adapters;
        if (!named.empty() && adapters.slots == 0) {
            adapters = {.slots = std::min(static_cast<std::int64_t>(named.size()),
                                          question.deployment.sequences),
                        .rank = extras_->rank()};
        }
    }
    if (rate_.empty() && concurrency_.empty() && log_.empty() && !question.separate) {
        question.concurrencies = programs::doubling_batches(usual_most);
    }
    question.targets = targets_->targets();
    return question;
}

programs::SteadyService ServeOptions::service(const answers::TrafficQuestion& question) const {
    const auto refuse = [](bool given, const char* option) {
        if (given) throw InputError(std::string(option) + ": not with --steady");
    };
    refuse(!rate_.empty(), "rate");
    refuse(!log_.empty(), "log");
    refuse(!separate_.empty(), "separate");
    refuse(!vision_.empty(), "vision");
    refuse(!batch_.empty(), "batch");
    const std::int64_t prompt = std::llround(question.load.prompt.mean());
    programs::SteadyService service{.prompt = prompt,
                                    .answer = std::llround(question.load.answer.mean()),
                                    .deployments = {question.deployment},
                                    .sharing = extras_->sharing(prompt)};
    for (const std::int64_t each : question.concurrencies) {
        const std::int64_t servers = question.deployment.replicas;
        service.batches.push_back((each + servers - 1) / servers);
    }
    return service;
}

}  // namespace ridge::cli
