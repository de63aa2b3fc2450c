// The steady state of a server against runs of its scheduler: drafts, adapters, prefixes, memory of the
// host.
#include <cmath>
#include <string>
#include <vector>

#include "programs/configs/presets.h"
#include "programs/traffic/simulation.h"
#include "programs/traffic/steady.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::programs {
namespace {

/// What is compared: a server, its load, and what its requests share.
struct Case {
    std::string name;
    Deployment deployment;
    Sharing sharing{};
    CacheRoom room{.tokens = 400'000};
    std::string model = "llama-3.1-8b";
};

constexpr std::int64_t prompt = 1000;
constexpr std::int64_t answer = 100;
constexpr std::int64_t batch = 24;

std::vector<TrafficRequest> load_of(const Sharing& sharing) {
    std::vector<TrafficRequest> requests;
    Random random(3);
    const auto one_of = [&](std::int64_t count) {
        return static_cast<std::int64_t>(random.uniform() * static_cast<double>(count));
    };
    for (std::int64_t i = 0; i < 40 * batch; ++i) {
        TrafficRequest request{.prompt = prompt, .answer = answer};
        if (sharing.prefix > 0) {
            request.prefix = sharing.prefix;
            request.group = one_of(sharing.groups);
        }
        if (sharing.adapters > 0) request.adapter = one_of(sharing.adapters);
        requests.push_back(request);
    }
    return requests;
}

/// Mean time per token of the requests in the middle of a run.
double simulated(const Case& each, StepTimes& times) {
    const auto requests = load_of(each.sharing);
    const TrafficRun run = simulate(
        requests, {.tokens = each.room.tokens, .host_tokens = each.room.host, .concurrency = batch},
        times);
    REQUIRE(violation(run, requests).empty());
    double sum = 0.0;
    double tokens = 0.0;
    for (std::size_t i = requests.size() / 3; i + 2 * batch < requests.size(); ++i) {
        const RequestOutcome& one = run.requests[i];
        sum += static_cast<double>(one.finished_ns - one.first_token_ns) * 1e-9;
        tokens += static_cast<double>(answer - 1);
    }
    return sum / tokens;
}

std::vector<Case> cases() {
    Deployment plain{.chunk = 2048, .sequences = batch};
    Deployment ngram = plain;
    ngram.speculation = {.draft = Draft::ngram, .acceptance = 0.7, .widths = chain_of(3)};
    Deployment model = plain;
    model.speculation = {.draft = Draft::model, .acceptance = 0.8, .widths = chain_of(4)};
    model.drafter = std::make_shared<const Architecture>(find_model("llama-3.2-1b"));
    Deployment adapted = plain;
    adapted.adapters = {.slots = 20, .rank = 16};
    return {{"plain", plain},
            {"ngram", ngram},
            {"a smaller model drafts", model},
            {"adapters", adapted, {.adapters = 40}},
            {"prefixes, all kept", plain, {.prefix = 800, .groups = 30}},
            {"prefixes, a part kept", plain, {.prefix = 800, .groups = 200}, {.tokens = 100'000}},
            {"prefixes, on the host",
             plain,
             {.prefix = 800, .groups = 200},
             {.tokens = 100'000, .host = 400'000}}};
}

TEST_CASE("the steady state agrees with runs of the scheduler", "[steady]") {
    for (const Case& each : cases()) {
        StepTimes times(StepParts(find_model(each.model), each.deployment,
                                  test::machine("h100-sxm"), find_engine("vllm")),
                        find_engine("vllm"));
        const Steady s = steady_state(times, {.chunk = 2048,
                                              .batch = batch,
                                              .prompt = prompt,
                                              .answer = answer,
                                              .sharing = each.sharing,
                                              .room = each.room});
        const double run = simulated(each, times);
        CAPTURE(each.name, s.mean.base(), run, s.cached, s.fetched, s.yield);
        CHECK(s.keeps_up);
        CHECK(std::abs(s.mean.base() / run - 1.0) < 0.08);
    }
}

TEST_CASE("what is shared saves time in the steady state", "[steady]") {
    const Engine& engine = find_engine("vllm");
    StepTimes times(StepParts(find_model("llama-3.1-8b"), {}, test::machine("h100-sxm"), engine),
                    engine);
    SteadyLoad load{.batch = 16, .prompt = 4000, .answer = 100};
    const Steady alone = steady_state(times, load);
    load.sharing = {.prefix = 3600, .groups = 100};
    load.room = {.tokens = 200'000};
    const Steady some = steady_state(times, load);
    load.room.host = 300'000;
    const Steady more = steady_state(times, load);
    load.room = {.tokens = 1'000'000};
    const Steady all = steady_state(times, load);
    CHECK(some.mean < alone.mean);
    CHECK(more.mean < some.mean);
    CHECK(all.mean <= more.mean);
    CHECK(all.first < more.first);  // nothing comes over the link
    CHECK(all.cached == Approx(3600.0));
    CHECK(some.fetched == 0.0);
    CHECK(more.fetched > 100.0);
    // Drafts that are always right give all of them; those that never are only cost.
    for (const double acceptance : {0.0, 1.0}) {
        Deployment drafting;
        drafting.speculation = {
            .draft = Draft::ngram, .acceptance = acceptance, .widths = chain_of(3)};
        StepTimes drafted(
            StepParts(find_model("llama-3.1-8b"), drafting, test::machine("h100-sxm"), engine),
            engine);
        const Steady s = steady_state(drafted, {.batch = 4, .prompt = 500, .answer = 400});
        const Steady without = steady_state(times, {.batch = 4, .prompt = 500, .answer = 400});
        CHECK(s.yield == Approx(1.0 + 3.0 * acceptance));
        CHECK((s.mean < without.mean) == (acceptance > 0.5));
    }
}

}  // namespace
}  // namespace ridge::programs
