// Steps that a scheduler makes, and its simulation: known answers, conservation, monotonicity.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hardware/error.h"
#include "programs/configs/presets.h"
#include "programs/configs/weights.h"
#include "programs/traffic/page_cache.h"
#include "programs/traffic/simulation.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::programs {
namespace {

const Engine& vllm() {
    return find_engine("vllm-0.24.0");
}

StepTimes times_of(const std::string& model, const std::string& gpu, const Deployment& d = {}) {
    return {StepParts(find_model(model), d, test::machine(gpu), vllm()), vllm()};
}

TEST_CASE("portable random numbers have known bits and moments") {
    Random random(7);
    CHECK(random.bits() == 0x63cbe1e459320dd7U);
    double sum = 0.0;
    double square = 0.0;
    constexpr int count = 20000;
    for (int i = 0; i < count; ++i) {
        const double x = random.exponential();
        sum += x;
        square += x * x;
    }
    CHECK(std::abs(sum / count - 1.0) < 0.03);
    CHECK(std::abs(square / count - 2.0) < 0.15);
    for (const double x : {1e-9, 0.3, 1.0, 2.5, 1e12}) {
        CHECK(std::abs(portable_log(x) - std::log(x)) < 1e-13 * (1.0 + std::abs(std::log(x))));
    }
    for (const double x : {-20.0, -0.3, 0.0, 1.7, 30.0}) {
        CHECK(std::abs(portable_exp(x) / std::exp(x) - 1.0) < 1e-13);
    }
}

TEST_CASE("distributions of lengths have their means and read back") {
    for (const char* text :
         {"512", "100-2000", "exponential:512", "lognormal:512:0.8", "zipf:16-4096"}) {
        CAPTURE(text);
        const Lengths lengths = parse_lengths(text, "prompt");
        CHECK(text_of(lengths) == text);
        Random random(3);
        double sum = 0.0;
        for (int i = 0; i < 20000; ++i) sum += static_cast<double>(lengths.draw(random));
        CHECK(std::abs(sum / 20000 / lengths.mean() - 1.0) < 0.03);
    }
    for (const char* text : {"", "-5", "0", "5-5", "lognormal:5", "normal:5", "zipf:9-3"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_lengths(text, "prompt"), InputError);
    }
}

TEST_CASE("logs of requests are CSV or JSON lines, sorted by arrival") {
    const auto csv = read_request_log(
        "# a comment\narrival_s,prompt_tokens,other,answer_tokens\n2.5,10,x,3\n1.5,20,,4\n",
        "a.csv");
    REQUIRE(csv.size() == 2);
    CHECK(csv[0].prompt == 20);
    CHECK(csv[0].arrival_ns == 0);
    CHECK(csv[1].arrival_ns == 1'000'000'000);
    const auto lines = read_request_log(
        "{\"timestamp\": 1, \"input_tokens\": 7, \"output_tokens\": 2, \"prefix_tokens\": 99, "
        "\"group\": 3}\n",
        "a.jsonl");
    CHECK(lines.at(0).prefix == 7);
    CHECK(lines.at(0).group == 3);
    const auto message = [](const char* text) {
        try {
            static_cast<void>(read_request_log(text, "a.csv"));
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK_THAT(message("arrival_s,prompt_tokens\n"), contains_text("a.csv:1"));
    CHECK_THAT(message("arrival_s,prompt_tokens,answer_tokens\n1,2\n"), contains_text("a.csv:2"));
    CHECK_THAT(message("arrival_s,prompt_tokens,answer_tokens\n1,x,2\n"), contains_text("\"x\""));
    CHECK_THAT(message("arrival_s,prompt_tokens,answer_tokens\n1,0,2\n"),
               contains_text("positive"));
}

TEST_CASE("a histogram's quantiles are within a thousandth") {
    Histogram histogram;
    for (int i = 1; i <= 10000; ++i) histogram.add(1e-3 * i);
    for (const double share : {0.01, 0.5, 0.9, 0.99}) {
        CHECK(std::abs(histogram.quantile(share) / (10.0 * share) - 1.0) < 2e-3);
    }
    CHECK(std::abs(histogram.mean() - 5.0005) < 1e-9);
}

TEST_CASE("idle prefixes lose pages, the oldest first") {
    PageCache cache(10, 16, true);
    const auto keep = [&cache](std::int64_t group, std::int64_t pages, std::int64_t now) {
        cache.hold(group);
        REQUIRE(cache.take(pages));
        CHECK(cache.keep(group, pages) == pages);
        cache.release(group, now);
    };
    keep(1, 4, 10);
    keep(2, 4, 20);
    CHECK(cache.find(1, 64) == 64);
    CHECK(cache.find(1, 40) == 32);
    CHECK(cache.used() == 8);
    CHECK_FALSE(cache.take(11));
    CHECK(cache.find(1, 64) == 64);  // what is not enough drops nothing
    REQUIRE(cache.take(5));
    CHECK(cache.find(1, 64) == 16);
    CHECK(cache.find(2, 64) == 64);
    cache.hold(2);
    CHECK_FALSE(cache.take(5));
    cache.trim(2, 1);
    CHECK(cache.take(4));
    CHECK(cache.find(1, 64) == 0);
    CHECK(cache.used() == 10);
    cache.release(2, 30);
    CHECK(cache.reclaim(2) == 1);
    CHECK(cache.reclaim(2) == 0);
    CHECK(cache.taken() == 10);
}

TEST_CASE("few tokens touch few experts") {
    CHECK(experts_touched(1, 8, 128) == Approx(8.0));
    CHECK(experts_touched(16, 8, 128) == Approx(128.0 * (1.0 - std::pow(0.9375, 16))));
    CHECK(experts_touched(100000, 8, 128) == Approx(128.0));
}

TEST_CASE("tensor and expert parallelism of an engine are on the same GPUs") {
    const Architecture a = find_model("qwen3-30b-a3b");
    const Deployment together{.tensor = 4, .experts = true};
    CHECK(together.gpus() == 4);
    CHECK(weights_of_gpu(a, together) == weights_of_gpu(a, {.tensor = 4}));
    const Deployment apart{.data = 4, .experts = true};
    CHECK(apart.gpus() == 4);
    CHECK(weights_of_gpu(a, apart) > weights_of_gpu(a, together));  // attention is not cut
    CHECK(weights_of_gpu(a, apart) < weights_of_gpu(a, {}));
    CHECK_THROWS_AS(validate(find_model("llama-3.1-8b"), together), InputError);
    CHECK_THROWS_AS(validate(a, Deployment{.data = 4}), InputError);
    CHECK(text_of(together) == "tp 4, ep 4");
    CHECK_THAT(start_command(vllm(), "m", apart), contains_text("--data-parallel-size 4"));
    CHECK_THAT(start_command(vllm(), "m", apart), contains_text("--enable-expert-parallel"));
    CHECK(start_command(vllm(), "m", {}).find('{') == std::string::npos);
}

TEST_CASE("interpolated steps are close to predicted ones") {
    for (const char* model : {"llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v2-lite"}) {
        StepTimes times = times_of(model, "h100-sxm");
        Random random(5);
        double sum = 0.0;
        double most = 0.0;
        constexpr int count = 12;
        const auto size = [&random](double least, double largest) {
            return static_cast<std::int64_t>(
                least * portable_exp(random.uniform() * portable_log(largest / least)));
        };
        for (int i = 0; i < count; ++i) {
            StepBatch batch{.decodes = size(1, 300)};
            batch.context = batch.decodes * size(100, 8000);
            if (i % 2 == 0) batch.prompts.push_back({size(20, 2000), size(1, 4000), true});
            const double error = std::abs(times.wall(batch) / times.exact(batch) - 1.0);
            sum += error;
            most = std::max(most, error);
        }
        CAPTURE(model, sum / count, most);
        CHECK(sum / count < 0.01);
        CHECK(most < 0.04);
    }
}

TEST_CASE("a mixed step costs more than its decodes and less than both apart") {
    StepTimes times = times_of("llama-3.1-8b", "h100-sxm");
    const StepBatch decodes{.decodes = 32, .context = 32 * 1000};
    StepBatch prompt;
    prompt.prompts.push_back({512, 0, true});
    StepBatch mixed = decodes;
    mixed.prompts = prompt.prompts;
    CHECK(times.wall(mixed) > times.wall(decodes));
    CHECK(times.wall(mixed) < times.wall(decodes) + times.wall(prompt));
}

std::vector<TrafficRequest> mixed_load(std::uint64_t seed, double rate, std::int64_t concurrency,
                                       std::int64_t count) {
    TrafficLoad load{
        .count = count,
        .rate = rate,
        .concurrency = concurrency,
        .burstiness = rate > 0.0 ? 2.0 : 1.0,
        .prompt = parse_lengths("lognormal:300:1", "prompt"),
        .answer = parse_lengths("exponential:60", "answer"),
        .prefix = 0.5,
        .groups = 5,
        .vision = seed % 4 == 1 ? std::optional(parse_lengths("20-200", "vision")) : std::nullopt,
        .adapters = 7,
        .urgent = 0.2,
        .seed = seed};
    return draw(load);
}

/// What scripts/soak sets: RIDGE_CASES multiplies the cases, RIDGE_SEED changes their seeds.
std::uint64_t from_environment(const char* name, std::uint64_t usual) {
    const char* text = std::getenv(name);
    return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

TEST_CASE("nothing is lost in simulated runs") {
    const std::uint64_t seeds = 400 * from_environment("RIDGE_CASES", 1);
    const std::uint64_t first = 1 + 1'000'003 * from_environment("RIDGE_SEED", 0);
    Deployment small{.chunk = 256, .sequences = 24};
    Deployment drafting = small;
    drafting.speculation = {.draft = Draft::ngram, .acceptance = 0.6, .widths = chain_of(3)};
    Deployment whole = small;
    whole.chunked = false;
    Deployment adapted = small;
    adapted.adapters = {.slots = 3, .rank = 8};
    adapted.speculation = {.draft = Draft::mtp, .acceptance = 0.6, .widths = {3, 2}};
    TrafficSums all;
    for (const Deployment& deployment : {small, drafting, whole, adapted}) {
        StepTimes times = times_of("qwen3-vl-8b-instruct", "l4", deployment);
        for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
            const bool open = seed % 2 == 0;
            const auto requests = mixed_load(seed, open ? 10.0 : 0.0, open ? 0 : 16, 25);
            const TrafficRun run =
                simulate(requests,
                         {.tokens = 2000 + static_cast<std::int64_t>(seed % 7) * 1000,
                          .host_tokens = static_cast<std::int64_t>(seed % 3) * 2000,
                          .concurrency = open ? 0 : 16,
                          .seed = seed},
                         times);
            const std::string why = violation(run, requests);
            CAPTURE(seed, why);
            CHECK(why.empty());
            CHECK(run.sums.most_adapters <= 3);
            all.preemptions += run.sums.preemptions;
            all.cached_tokens += run.sums.cached_tokens;
            all.fetched_tokens += run.sums.fetched_tokens;
            all.encoded_tokens += run.sums.encoded_tokens;
            all.fetched_adapters += run.sums.fetched_adapters;
            all.host_dropped += run.sums.host_dropped;
        }
    }
    CHECK(all.preemptions > 100);  // the runs meet what they are to test
    CHECK(all.cached_tokens > 1000);
    CHECK(all.fetched_tokens > 1000);
    CHECK(all.encoded_tokens > 1000);
    CHECK(all.fetched_adapters > 100);
    CHECK(all.host_dropped > 100);
}

TEST_CASE("a request that never fits is refused") {
    StepTimes times = times_of("llama-3.2-1b", "l4");
    const std::vector<TrafficRequest> requests{{.prompt = 5000, .answer = 10},
                                               {.prompt = 50, .answer = 10}};
    const TrafficRun run = simulate(requests, {.tokens = 1000}, times);
    CHECK(run.requests[0].refused());
    CHECK(run.requests[1].answer == 10);
    CHECK(violation(run, requests).empty());
}

TEST_CASE("one request alone takes its steps one after the other") {
    StepTimes times = times_of("llama-3.2-1b", "l4");
    const std::vector<TrafficRequest> requests{{.prompt = 100, .answer = 3}};
    const TrafficRun run = simulate(requests, {.tokens = 10000}, times);
    StepBatch prompt;
    prompt.prompts.push_back({100, 0, true});
    const double first = times.wall(prompt).base();
    const double then = times.wall({.decodes = 1, .context = 100}).base() +
                        times.wall({.decodes = 1, .context = 101}).base();
    CHECK(static_cast<double>(run.requests[0].first_token_ns) == Approx(first * 1e9).margin(2.0));
    CHECK(static_cast<double>(run.sums.end_ns) == Approx((first + then) * 1e9).margin(4.0));
}

double mean_latency(const TrafficRun& run) {
    double sum = 0.0;
    for (const RequestOutcome& each : run.requests) {
        sum += static_cast<double>(each.finished_ns - each.arrival_ns) * 1e-9;
    }
    return sum / static_cast<double>(run.requests.size());
}

TEST_CASE("more requests per second never wait less") {
    StepTimes times = times_of("llama-3.2-1b", "l4", {.chunk = 512, .sequences = 64});
    double before = 0.0;
    for (const double rate : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0}) {
        const TrafficRun run = simulate(mixed_load(11, rate, 0, 600), {.tokens = 40000}, times);
        const double latency = mean_latency(run);
        CAPTURE(rate, before, latency);
        CHECK(latency > 0.98 * before);
        before = latency;
    }
}

TEST_CASE("equal seeds give equal runs, and urgent requests wait less") {
    StepTimes times = times_of("llama-3.2-1b", "l4", {.chunk = 256, .sequences = 8});
    const auto requests = mixed_load(4, 30.0, 0, 300);
    const TrafficRun one = simulate(requests, {.tokens = 20000}, times);
    const TrafficRun two = simulate(requests, {.tokens = 20000}, times);
    CHECK(one.sums.end_ns == two.sums.end_ns);
    CHECK(one.gaps.quantile(0.9) == two.gaps.quantile(0.9));
    double urgent = 0.0;
    double others = 0.0;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const auto wait =
            static_cast<double>(one.requests[i].first_token_ns - one.requests[i].arrival_ns);
        (requests[i].priority == 0 ? urgent : others) += wait;
        count += requests[i].priority == 0 ? 1 : 0;
    }
    const auto all = static_cast<std::int64_t>(requests.size());
    CHECK(urgent / static_cast<double>(count) < 0.5 * others / static_cast<double>(all - count));
}

TEST_CASE("pages on the host save computing a prefix again") {
    StepTimes times = times_of("llama-3.1-8b", "h100-sxm");
    std::vector<TrafficRequest> requests;
    for (std::int64_t i = 0; i < 40;
         ++i) {  // five prefixes in turn, of which the GPU has room for one
        requests.push_back({.arrival_ns = i * 1'000'000'000,
                            .prompt = 4100,
                            .answer = 4,
                            .prefix = 4096,
                            .group = i % 5});
    }
    const TrafficRun without = simulate(requests, {.tokens = 5000}, times);
    const TrafficRun with = simulate(requests, {.tokens = 5000, .host_tokens = 30000}, times);
    const TrafficRun small = simulate(requests, {.tokens = 5000, .host_tokens = 8000}, times);
    CHECK(without.sums.prompt_tokens == 40 * 4100);
    CHECK(with.sums.prompt_tokens == 40 * 4100 - 35 * 4096);
    CHECK(with.sums.fetched_tokens == 35 * 4096);
    CHECK(small.sums.fetched_tokens < with.sums.fetched_tokens);
    CHECK(small.sums.host_dropped > 0);
    // 4096 tokens of 128 KiB over PCIe 5 take some 10 ms, computing them 100.
    const auto wait = [](const TrafficRun& run) {
        const RequestOutcome& last = run.requests.back();
        return static_cast<double>(last.first_token_ns - last.arrival_ns) * 1e-6;
    };
    CHECK(wait(with) < 0.5 * wait(without));
    CHECK(wait(with) > 4096 * 131072.0 / 64e9 * 1e3);
    for (const TrafficRun* each : {&without, &with, &small}) {
        CHECK(violation(*each, requests).empty());
    }
}

TEST_CASE("images are encoded once, in the step of their first tokens") {
    StepTimes times = times_of("qwen3-vl-8b-instruct", "h100-sxm");
    CHECK(times.parts().sees());
    CHECK_FALSE(times_of("qwen3-8b", "h100-sxm").parts().sees());
    const std::vector<TrafficRequest> images{{.prompt = 1500, .answer = 3, .vision = 1400}};
    const std::vector<TrafficRequest> text{{.prompt = 1500, .answer = 3}};
    const TrafficRun seen = simulate(images, {.tokens = 10000}, times);
    const TrafficRun read = simulate(text, {.tokens = 10000}, times);
    CHECK(seen.sums.encoded_tokens == 1400);
    const double host = 1400.0 * vllm().vision_token.base() + vllm().vision_step.base();
    const double encoded = static_cast<double>(seen.sums.end_ns - read.sums.end_ns) - host * 1e9;
    CHECK(encoded * 1e-9 == Approx(times.parts().encode(1400, 1400).base()).epsilon(0.05));
    // The products of the tower alone: 27 layers of 15.2 million weights, four patches for each token.
    const double flop = 2.0 * 4 * 1400 * 27 * (4 * 1152.0 * 1152.0 + 2 * 1152.0 * 4304.0);
    CHECK(encoded * 1e-9 > flop / 989e12);
    CHECK(encoded * 1e-9 < 6.0 * flop / 989e12);
    // Frames that do not see each other take less attention.
    CHECK(times.parts().encode(4000, 250) < times.parts().encode(4000, 4000));
}

TEST_CASE("a step that begins images costs the host the same however many, twice with processes") {
    for (const std::int64_t tensor : {1, 2}) {
        StepTimes times = times_of("qwen3-vl-8b-instruct", "h100-sxm", {.tensor = tensor});
        StepBatch text{.decodes = 8, .context = 8000};
        text.prompts.push_back({2000, 0, true});
        const auto host = [&](std::int64_t tokens, std::int64_t frames) {
            StepBatch seen = text;
            seen.encoded = tokens;
            seen.frames = frames;
            const Time kernels = times.gpu(seen) - times.gpu(text);
            return ((times.wall(seen) - times.wall(text)) - kernels).base();
        };
        const double once = vllm().vision_step.base() * static_cast<double>(tensor);
        const double token = vllm().vision_token.base();
        CHECK(once > 0.0);
        CHECK(host(500, 1) == Approx(once + 500.0 * token));
        CHECK(host(1500, 3) == Approx(once + 1500.0 * token));
    }
}

TEST_CASE("requests whose adapters have no slot are passed") {
    StepTimes times = times_of("llama-3.2-1b", "l4", {.adapters = {.slots = 1, .rank = 8}});
    const std::vector<TrafficRequest> requests{{.prompt = 50, .answer = 50, .adapter = 0},
                                               {.prompt = 50, .answer = 5, .adapter = 1},
                                               {.prompt = 50, .answer = 5, .adapter = 0},
                                               {.prompt = 50, .answer = 5}};
    const TrafficRun run = simulate(requests, {.tokens = 10000}, times);
    CHECK(run.requests[2].finished_ns < run.requests[0].finished_ns);
    CHECK(run.requests[3].finished_ns < run.requests[0].finished_ns);
    CHECK(run.requests[1].started_ns >= run.requests[0].finished_ns);
    CHECK(run.sums.fetched_adapters == 2);
    CHECK(run.sums.most_adapters == 1);
    CHECK(violation(run, requests).empty());
}

TEST_CASE("a decoding server takes over prompts that are ready") {
    StepTimes times = times_of("llama-3.2-1b", "l4");
    const std::vector<TrafficRequest> requests{{.prompt = 1000, .answer = 5},
                                               {.prompt = 1000, .answer = 1}};
    const TrafficRun run = simulate(requests, {.tokens = 10000, .prompts_ready = true}, times);
    CHECK(run.sums.prompt_tokens == 0);
    CHECK(run.sums.answer_tokens == 6);
    CHECK(violation(run, requests).empty());
}

}  // namespace
}  // namespace ridge::programs
