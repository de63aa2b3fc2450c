// What serving a model is on a machine whose parameters do not change (frozen_machine.h), with a host whose times
// stand here: memory, steps, a simulated run and the steady state of some deployments, against data/serving.txt
// (table.h).
#include <array>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "programs/configs/presets.h"
#include "programs/traffic/simulation.h"
#include "programs/traffic/steady.h"
#include "programs/traffic/summary.h"
#include "tests/frozen/drawn_for.h"
#include "tests/frozen/frozen_machine.h"
#include "tests/frozen/sums.h"
#include "tests/frozen/table.h"
#include "tests/model/random_operation.h"

namespace ridge::programs {
namespace {

Engine frozen_engine(bool overlaps) {
    Engine engine = find_engine("vllm-0.24.0");
    engine.per_step = 300.0 * units::us;
    engine.prepared_step = 1.5 * units::ms;
    engine.prepared = 12.0 * units::us;
    engine.vision_token = 2.0 * units::us;
    engine.vision_step = 5.0 * units::ms;
    engine.overlaps = overlaps;
    engine.sampler_start = 40.0 * units::us;
    engine.sampler_passes = 4.0;
    engine.sort_clocks = 0.5;
    engine.block_scaled_rows = 64;
    engine.memory_share = 0.9;
    return engine;
}

struct FrozenService {
    std::string model;
    Deployment deployment{};
    TrafficLoad load{
        .count = 60, .rate = 4.0, .prompt = {.first = 700.0}, .answer = {.first = 60.0}, .seed = 5};
    std::int64_t cache = 20000;
    std::int64_t host = 0;
    bool overlaps = true;
};

using Number = std::int64_t;

FrozenService service_of(const std::string& question) {
    static const std::map<std::string, std::function<void(FrozenService&, Number)>> options{
        {"tp", [](FrozenService& s, Number v) { s.deployment.tensor = v; }},
        {"dp", [](FrozenService& s, Number v) { s.deployment.data = v; }},
        {"pp", [](FrozenService& s, Number v) { s.deployment.pipeline = v; }},
        {"ep", [](FrozenService& s, Number) { s.deployment.experts = true; }},
        {"replicas", [](FrozenService& s, Number v) { s.deployment.replicas = v; }},
        {"fp8_cache",
         [](FrozenService& s, Number) { s.deployment.cache_type = model::DataType::fp8; }},
        {"fp8", [](FrozenService& s, Number) { s.deployment.quantisation = Quantisation::fp8; }},
        {"chunk", [](FrozenService& s, Number v) { s.deployment.chunk = v; }},
        {"sequences", [](FrozenService& s, Number v) { s.deployment.sequences = v; }},
        {"whole", [](FrozenService& s, Number) { s.deployment.chunked = false; }},
        {"forget", [](FrozenService& s, Number) { s.deployment.prefix_cache = false; }},
        {"greedy", [](FrozenService& s, Number) { s.deployment.sampling = Sampling::plain; }},
        {"ngram",
         [](FrozenService& s, Number v) {
             s.deployment.speculation = {
                 .draft = Draft::ngram, .acceptance = 0.6, .widths = chain_of(v)};
         }},
        {"mtp",
         [](FrozenService& s, Number v) {
             s.deployment.speculation = {.draft = Draft::mtp, .acceptance = 0.7, .widths = {v, 2}};
         }},
        {"adapters",
         [](FrozenService& s, Number v) {
             s.deployment.adapters = {.slots = v, .rank = 16};
             s.load.adapters = 2 * v;
         }},
        {"rate", [](FrozenService& s, Number v) { s.load.rate = static_cast<double>(v); }},
        {"at_a_time",
         [](FrozenService& s, Number v) {
             s.load.rate = 0.0;
             s.load.concurrency = v;
         }},
        {"bursts", [](FrozenService& s, Number) { s.load.burstiness = 2.0; }},
        {"spread",
         [](FrozenService& s, Number) {
             s.load.prompt = {.law = LengthLaw::lognormal, .first = 700.0, .second = 1.0};
             s.load.answer = {.law = LengthLaw::exponential, .first = 60.0};
         }},
        {"prefix",
         [](FrozenService& s, Number v) { s.load.prefix = 0.01 * static_cast<double>(v); }},
        {"urgent",
         [](FrozenService& s, Number v) { s.load.urgent = 0.01 * static_cast<double>(v); }},
        {"vision", [](FrozenService& s,
                      Number v) { s.load.vision = Lengths{.first = static_cast<double>(v)}; }},
        {"cache", [](FrozenService& s, Number v) { s.cache = v; }},
        {"host", [](FrozenService& s, Number v) { s.host = v; }},
        {"waits", [](FrozenService& s, Number) { s.overlaps = false; }}};
    std::istringstream words(question);
    FrozenService service;
    words >> service.model;
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        options.at(word.substr(0, equals))(service, std::stoll(word.substr(equals + 1)));
    }
    return service;
}

void append_steps(std::string& text, StepTimes& times) {
    StepBatch prompt;
    prompt.prompts = {{300, 100, false}, {200, 0, true}};
    StepBatch mixed{.decodes = 24, .context = 24 * 900, .adapters = 2, .fetched_adapters = 1};
    mixed.prompts = prompt.prompts;
    StepBatch seen{.decodes = 3, .context = 3000, .encoded = 700, .frames = 2};
    const StepBatch decodes{.decodes = 48, .context = 48 * 1500};
    text += " steps";
    for (const StepBatch& batch : {decodes, prompt, mixed, seen}) {
        text += fmt::format(" {:.6g} {:.6g}", times.wall(batch).in(units::us),
                            times.gpu(batch).in(units::us));
    }
}

void append_run(std::string& text, const FrozenService& service, StepTimes& times) {
    const std::vector<TrafficRequest> requests = draw(service.load);
    const TrafficRun run = simulate(requests,
                                    {.tokens = service.cache,
                                     .host_tokens = service.host,
                                     .concurrency = service.load.concurrency,
                                     .seed = 3},
                                    times);
    const TrafficSums& s = run.sums;
    text += fmt::format(
        " sums {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} ns {} {} {} pages {} {}",
        s.prompt_tokens, s.cached_tokens, s.fetched_tokens, s.decoded_tokens, s.lost_tokens,
        s.encoded_tokens, s.answer_tokens, s.repeated_tokens, s.drafted_tokens, s.accepted_tokens,
        s.pages_taken, s.pages_given, s.pages_kept, s.host_stored, s.host_dropped,
        s.fetched_adapters, s.most_adapters, s.steps, s.mixed_steps, s.preemptions, s.busy_ns,
        s.idle_ns, s.end_ns, s.most_pages, run.pages);
    const TrafficSummary m = summarise(
        {run}, {.targets = {.ttft = 300.0 * units::ms, .tpot = 20.0 * units::ms}, .skip = 5});
    for (const Quantiles& q : {m.ttft, m.tpot, m.itl, m.end_to_end, m.queue}) {
        text += fmt::format(" q {} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g}", q.count, q.mean,
                            q.p50, q.p90, q.p99, q.p99_low, q.p99_high);
    }
    text += fmt::format(
        " rates {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} "
        "{:.6g}",
        m.requests_per_s, m.tokens_per_s, m.steady_tokens_per_s, m.goodput, m.within, m.running,
        m.waiting, m.context, m.cache, m.mixed, m.found, m.accepted);
}

std::string serving_answer(const std::string& question) {
    const FrozenService service = service_of(question);
    const Architecture a = find_model(service.model);
    const Deployment& d = service.deployment;
    validate(a, d);
    validate(service.load);
    const Engine engine = frozen_engine(service.overlaps);
    StepTimes times(StepParts(a, d, test::frozen_machine("h200-sxm", "vllm-0.24.0"), engine),
                    engine);
    std::string text =
        fmt::format("{} | {} | weights {} activations {} cache {:.6g} tokens {} {}", text_of(d),
                    start_command(engine, service.model, d), weights_of_gpu(a, d),
                    activations_of_gpu(a, d), cache_bytes_per_token(a, d, 2000),
                    usable_tokens(a, d, std::int64_t{130} << 30, 2000), times.parts().left_out());
    append_steps(text, times);
    append_run(text, service, times);
    const Steady steady =
        steady_state(times, {.chunk = d.chunk,
                             .batch = 32,
                             .prompt = 1500,
                             .answer = 200,
                             .sharing = {.prefix = 500, .groups = 20, .adapters = d.adapters.slots},
                             .room = {.tokens = 8000, .host = 4000}});
    return text + fmt::format(" steady {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {}",
                              steady.step.in(units::us), steady.mean.in(units::us),
                              steady.busy.in(units::us), steady.first.in(units::us), steady.yield,
                              steady.prompts, steady.cached, steady.fetched, steady.keeps_up);
}

TEST_CASE("serving a model is what it was", "[frozen]") {
    test::check_table("serving", serving_answer);
}

std::string drawn_service(test::Random& random, const std::string& model) {
    constexpr std::array degrees{1, 1, 2, 4};
    std::string text = model;
    const auto sometimes = [&](int one_in, const char* name, const auto& values) {
        if (random.whole(1, one_in) == 1)
            text += std::string(" ") + name + "=" + std::to_string(random.pick(values));
    };
    sometimes(1, "tp", degrees);
    sometimes(3, "dp", degrees);
    sometimes(4, "pp", degrees);
    sometimes(2, "ep", std::array{1});
    sometimes(4, "replicas", std::array{2});
    sometimes(3, "fp8_cache", std::array{1});
    sometimes(3, "fp8", std::array{1});
    sometimes(1, "chunk", std::array{256, 1000, 4096});
    sometimes(1, "sequences", std::array{8, 64, 256});
    sometimes(5, "whole", std::array{1});
    sometimes(5, "forget", std::array{1});
    sometimes(3, "greedy", std::array{1});
    sometimes(4, "ngram", std::array{1, 3});
    sometimes(5, "mtp", std::array{1, 3});
    sometimes(4, "adapters", std::array{1, 3});
    sometimes(2, "rate", std::array{1, 10, 40});
    sometimes(2, "at_a_time", std::array{1, 12, 100});
    sometimes(2, "spread", std::array{1});
    sometimes(2, "prefix", std::array{50, 90});
    sometimes(3, "urgent", std::array{20});
    sometimes(4, "vision", std::array{100, 600});
    sometimes(2, "cache", std::array{1500, 5000});
    sometimes(3, "host", std::array{2000, 20000});
    sometimes(3, "waits", std::array{1});
    return text;
}

/// "MODEL SEED": four drawn deployments.
std::string sums_of_services(const std::string& question) {
    auto [model, random] = test::drawn_for(question);
    test::Sums sums;
    for (int i = 0; i < 4; ++i, sums.next()) {
        std::string answer;
        for (int tries = 0; tries < 10; ++tries) {
            answer = test::answer_or_refusal(serving_answer, drawn_service(random, model));
            if (answer.rfind("error", 0) != 0) break;
        }
        sums.add_text(answer);
    }
    return sums.text();
}

TEST_CASE("serving in many ways is what it was", "[frozen]") {
    test::check_table("serving_draws", sums_of_services);
}

TEST_CASE("draws the questions of the table of many deployments", "[.][frozen-draw]") {
    std::vector<std::string> questions;
    std::uint64_t seed = 3'000'000;
    for (const char* model : {"llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3",
                              "qwen3-vl-8b-instruct", "nemotron-3-nano-30b-a3b"}) {
        for (int i = 0; i < 8; ++i) questions.push_back(fmt::format("{} {}", model, ++seed));
    }
    test::write_table("serving_draws", questions, sums_of_services);
}

TEST_CASE("draws the deployments of the table", "[.][frozen-draw]") {
    test::Random random(20261129);
    std::vector<std::string> questions;
    for (const char* model :
         {"llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3", "qwen3-vl-8b-instruct", "gpt-oss-20b",
          "gemma-3-12b", "nemotron-3-nano-30b-a3b", "kimi-linear-48b-a3b", "glm-5"}) {
        for (int i = 0; i < 6; ++i) {
            std::string question;
            for (int tries = 0; tries < 30; ++tries) {
                question = drawn_service(random, model);
                if (test::answer_or_refusal(serving_answer, question).rfind("error", 0) != 0) break;
            }
            questions.push_back(question);
        }
    }
    test::write_table("serving", questions, serving_answer);
}

}  // namespace
}  // namespace ridge::programs
