// Adapters, drafts, the memory of the host and quantiles of a served load, each on its own.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "hardware/error.h"
#include "programs/configs/presets.h"
#include "programs/traffic/adapter_places.h"
#include "programs/traffic/adapters.h"
#include "programs/traffic/histogram.h"
#include "programs/traffic/host_cache.h"
#include "programs/traffic/random.h"
#include "programs/traffic/simulation.h"
#include "programs/traffic/timeline.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::programs {
namespace {

StepTimes step_times_of(const std::string& model, const std::string& gpu,
                        const Deployment& d = {}) {
    const Engine& engine = find_engine("vllm");
    return {StepParts(find_model(model), d, test::machine(gpu), engine), engine};
}

TEST_CASE("the interval of a quantile knows that neighbours are alike") {
    Random random(9);
    Histogram alone;
    Histogram alike;
    for (int i = 0; i < 40; ++i) {
        const double slow = random.uniform() < 0.3 ? 4.0 : 1.0;  // of a whole stretch
        for (int k = 0; k < 1000; ++k) {
            alike.add(slow * (1.0 + random.uniform()));
            alone.add((random.uniform() < 0.3 ? 4.0 : 1.0) * (1.0 + random.uniform()));
        }
    }
    const Histogram::Interval narrow = alone.interval(0.7);
    const Histogram::Interval wide = alike.interval(0.7);
    CHECK(narrow.low <= alone.quantile(0.7));
    CHECK(narrow.high >= alone.quantile(0.7));
    CHECK(wide.high - wide.low > 2.0 * (narrow.high - narrow.low));
    Histogram same;
    same.add(2.0, 5);
    CHECK(same.interval(0.99).low == same.interval(0.99).high);
}

TEST_CASE("a timeline keeps the resolution of its start") {
    TrafficTimeline timeline;
    std::int64_t now = 0;
    for (int i = 0; i < 20000; ++i) {  // long steps first, then short ones
        const std::int64_t step = i < 2000 ? 50'000'000 : 5'000'000;
        timeline.add(now, now + step, {.running = static_cast<double>(i % 2)});
        now += step;
    }
    const std::vector<TrafficSample> samples = timeline.take();
    std::int64_t longest = 0;
    double running = 0.0;
    for (const TrafficSample& each : samples) {
        longest = std::max(longest, each.to_ns - each.from_ns);
        running += each.running * static_cast<double>(each.to_ns - each.from_ns);
    }
    CHECK(samples.size() >= 100);
    CHECK(longest < now / 100);
    CHECK(running / static_cast<double>(now) == Approx(0.5).epsilon(0.001));
}

TEST_CASE("the host keeps the pages used last") {
    HostCache host(10);
    host.store(1, 4);
    host.store(2, 4);
    CHECK(host.find(1, 99) == 4);
    CHECK(host.find(1, 3) == 3);
    host.store(3, 5);  // 2 was used before 1
    CHECK(host.find(2, 99) == 1);
    CHECK(host.find(1, 99) == 4);
    host.store(3, 99);
    CHECK(host.find(3, 99) == 10);
    CHECK(host.find(1, 99) == 0);
    host.drop(3);
    CHECK(host.used() == 0);
    CHECK(host.stored() == host.dropped());
    HostCache none(0);
    none.store(1, 4);
    CHECK(none.find(1, 4) == 0);
}

TEST_CASE("adapters keep their places until others need them") {
    AdapterPlaces places(2);
    CHECK(places.use(1));
    CHECK(places.use(2));
    CHECK_FALSE(places.use(2));
    CHECK_FALSE(places.may_use(3));
    CHECK(places.may_use(-1));
    places.leave(1);
    CHECK(places.may_use(3));
    CHECK(places.may_use(1));
    CHECK_FALSE(places.use(1));  // it was still there
    places.leave(1);
    CHECK(places.use(3));
    CHECK(places.used() == 2);
    places.leave(3);
    CHECK(places.use(1));
}

TEST_CASE("an adapter of rank r adds r rows and columns to each product") {
    const Architecture a = find_model("llama-3.1-8b");
    Deployment d{.adapters = {.slots = 4, .rank = 16}};
    // q, k, v, o, gate, up and down of 32 layers.
    const std::int64_t of_layer =
        (4096 + 4096) + 2 * (4096 + 1024) + (4096 + 4096) + 3 * (4096 + 14336);
    CHECK(adapter_bytes(a, d) == 2 * 16 * 32 * of_layer);
    CHECK(weights_of_gpu(a, d) == weights_of_gpu(a, {}) + 4 * adapter_bytes(a, d));
    d.tensor = 2;
    CHECK(adapter_bytes(a, d) < 2 * 16 * 32 * of_layer);
    CHECK(2 * adapter_bytes(a, d) > 2 * 16 * 32 * of_layer);
    d.tensor = 1;
    StepTimes times = step_times_of("llama-3.1-8b", "h100-sxm", d);
    const StepBatch plain{.decodes = 64, .context = 64 * 500};
    StepBatch one = plain;
    one.adapters = 1;
    StepBatch many = plain;
    many.adapters = 4;
    CHECK(times.gpu(plain) < times.gpu(one));
    CHECK(times.gpu(one) < times.gpu(many));
    CHECK(times.gpu(many) < 1.6 * times.gpu(plain));
    StepBatch copied = many;
    copied.fetched_adapters = 1;
    const Time link = times.gpu(copied) - times.gpu(many);
    const double bytes_per_s = static_cast<double>(adapter_bytes(a, d)) / link.base();
    CHECK(bytes_per_s > 10e9);  // PCIe 5
    CHECK(bytes_per_s < 64e9);
}

TEST_CASE("trees verify all their nodes and keep one path") {
    const Speculation chain{.draft = Draft::mtp, .acceptance = 0.5, .widths = chain_of(3)};
    CHECK(chain.tokens() == 3);
    CHECK(chain.tokens_per_step() == Approx(1.0 + 0.5 + 0.25 + 0.125));
    const Speculation tree{.draft = Draft::mtp, .acceptance = 0.5, .widths = {2, 3}};
    CHECK(tree.tokens() == 2 + 6);
    CHECK(tree.depth() == 2);
    CHECK(tree.tokens_per_step() == Approx(1.0 + 0.75 + 0.75 * 0.875));
    Deployment d{.speculation = tree};
    validate(find_model("llama-3.1-8b"), d);
    d.speculation.draft = Draft::ngram;
    CHECK_THROWS_AS(validate(find_model("llama-3.1-8b"), d), InputError);
    d.speculation = {.draft = Draft::model, .acceptance = 0.5, .widths = chain_of(2)};
    CHECK_THROWS_AS(validate(find_model("llama-3.1-8b"), d), InputError);
    // The simulation gives as many tokens a step as expected.
    StepTimes times = step_times_of("llama-3.2-1b", "l4", {.speculation = tree});
    const std::vector<TrafficRequest> requests{{.prompt = 10, .answer = 40000}};
    const TrafficRun run = simulate(requests, {.tokens = 60000}, times);
    const double each = 40000.0 / static_cast<double>(run.sums.steps);
    CHECK(each == Approx(tree.tokens_per_step()).epsilon(0.01));
    CHECK(violation(run, requests).empty());
}

TEST_CASE("a model that drafts takes its own steps, weights and cache") {
    const auto drafter = std::make_shared<const Architecture>(find_model("llama-3.2-1b"));
    const Architecture a = find_model("llama-3.1-70b");
    const Deployment alone{.tensor = 4};
    Deployment d = alone;
    d.speculation = {.draft = Draft::model, .acceptance = 0.7, .widths = chain_of(4)};
    d.drafter = drafter;
    CHECK(weights_of_gpu(a, d) == weights_of_gpu(a, alone) + weights_of_gpu(*drafter, alone));
    CHECK(cache_bytes_per_token(a, d, 1000) > cache_bytes_per_token(a, alone, 1000));
    StepTimes with = step_times_of("llama-3.1-70b", "h100-sxm", d);
    Deployment guessed = d;
    guessed.drafter = nullptr;
    guessed.speculation.draft = Draft::ngram;
    StepTimes without = step_times_of("llama-3.1-70b", "h100-sxm", guessed);
    StepTimes small = step_times_of("llama-3.2-1b", "h100-sxm", alone);
    const StepBatch batch{.decodes = 8, .context = 8 * 1000};
    const Time drafting = with.gpu(batch) - without.gpu(batch);
    CHECK(drafting / small.gpu(batch) == Approx(4.0).epsilon(0.1));
    StepBatch prompt;
    prompt.prompts.push_back({1000, 0, true});
    CHECK((with.gpu(prompt) - without.gpu(prompt)) / small.gpu(prompt) == Approx(1.0).epsilon(0.1));
}

}  // namespace
}  // namespace ridge::programs
