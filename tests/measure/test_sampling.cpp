// The stopping rule of sampling and the choice of the method.
#include "measure/run/sampling.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"

using namespace ridge;
using namespace ridge::measure;
using ridge::test::h200_plan;
using ridge::test::question;

namespace {

/// A case whose samples follow a script. Each sample takes `seconds` on the clock.
class ScriptedCase : public Case {
  public:
    ScriptedCase(std::function<Sample(std::int64_t)> script, double seconds, double& clock)
        : script_(std::move(script)), seconds_(seconds), clock_(clock) {}

    [[nodiscard]] model::Implementation implementation() const override {
        return model::Implementation::library;
    }
    [[nodiscard]] Geometry geometry() const override { return {}; }
    [[nodiscard]] Verification verify() override { return {}; }
    [[nodiscard]] Maybe<Counters> counters(std::span<const CounterGroup>, model::L2State) override {
        return Counters{};
    }
    [[nodiscard]] std::vector<Sample> sample(const SampleRequest& request) override {
        std::vector<Sample> samples;
        for (std::int32_t i = 0; i < request.count; ++i) samples.push_back(script_(taken_++));
        clock_ += seconds_ * request.count;
        return samples;
    }

  private:
    std::function<Sample(std::int64_t)> script_;
    double seconds_;
    double& clock_;
    std::int64_t taken_ = 0;
};

Timing sample_script(const std::function<Sample(std::int64_t)>& script, double seconds_each,
                     const SamplingOptions& options) {
    double clock = 0.0;
    ScriptedCase unit(script, seconds_each, clock);
    const Hooks hooks{.seconds = [&clock] { return clock; }, .interrupted = [] { return false; }};
    return take_samples(unit, Method::events, question("copy elements=1024"), options, hooks);
}

Sample at(double microseconds) {
    return {.time = microseconds * units::us};
}

}  // namespace

TEST_CASE("a quiet case stops as soon as there are enough samples") {
    const Timing timing = sample_script([](std::int64_t) { return at(100.0); }, 1e-4, {});
    CHECK(timing.converged);
    CHECK(timing.samples.size() == 12);
    REQUIRE(timing.statistics);
    CHECK(timing.statistics->median == Approx(100e-6));
}

TEST_CASE("a noisy case continues until its interval is narrow") {
    const auto noisy = [](std::int64_t i) { return at(100.0 + static_cast<double>(i * 37 % 11)); };
    const Timing timing = sample_script(noisy, 1e-5, {.seconds = 10.0, .most = 5000});
    CHECK(timing.converged);
    CHECK(timing.samples.size() > 40);
    CHECK(timing.statistics->relative_half_width() <= 0.005);
}

TEST_CASE("the budget ends a case that does not converge, and the result says so") {
    const auto bimodal = [](std::int64_t i) { return at(i % 2 == 0 ? 100.0 : 200.0); };
    const Timing timing = sample_script(bimodal, 0.01, {.seconds = 0.5});
    CHECK_FALSE(timing.converged);
    CHECK(timing.seconds <= 0.5 + 1e-9);
    CHECK(timing.samples.size() >= 12);
    const Timing most = sample_script(bimodal, 1e-9, {.seconds = 10.0, .most = 64});
    CHECK(most.samples.size() == 64);
}

TEST_CASE("throttled samples are kept and counted but not used") {
    const auto throttled = [](std::int64_t i) {
        Sample sample = at(i % 3 == 0 ? 150.0 : 100.0);
        sample.throttled = i % 3 == 0;
        sample.clock = (i % 3 == 0 ? 1.2 : 1.8) * units::GHz;
        return sample;
    };
    const Timing timing = sample_script(throttled, 1e-4, {});
    CHECK(timing.converged);
    CHECK(timing.statistics->median == Approx(100e-6));
    CHECK(timing.statistics->count + timing.discarded ==
          static_cast<std::int64_t>(timing.samples.size()));
    CHECK(timing.discarded >= 4);
    CHECK(timing.clock->in(units::GHz) == Approx(1.8));
}

TEST_CASE("an interruption ends sampling at once") {
    double clock = 0.0;
    ScriptedCase unit([](std::int64_t i) { return at(i % 2 == 0 ? 100.0 : 200.0); }, 1e-3, clock);
    int asked = 0;
    const Hooks hooks{.seconds = [&clock] { return clock; },
                      .interrupted = [&asked] { return ++asked > 2; }};
    const Timing timing = take_samples(unit, Method::events, question("copy elements=1024"),
                                       {.seconds = 100.0}, hooks);
    CHECK_FALSE(timing.converged);
    CHECK(timing.samples.size() < 30);
}

TEST_CASE("the method follows from duration, kernels, launch mode and features of the machine") {
    const DeviceInfo all = h200_plan().info;
    FakePlan plan = h200_plan();
    remove_feature(plan, "activity", "no CUPTI here");
    const DeviceInfo& poor = plan.info;
    const Question warm = question("copy elements=1024");
    const Question cold = question("copy elements=1024 l2=cold");
    const auto method = [](const Maybe<Method>& choice) {
        REQUIRE(std::holds_alternative<Method>(choice));
        return std::get<Method>(choice);
    };
    CHECK(method(choose_method(20.0 * units::us, 1, warm, all)) == Method::events);
    CHECK(method(choose_method(19.9 * units::us, 1, warm, all)) == Method::activity);
    CHECK(method(choose_method(500.0 * units::us, 3, warm, all)) == Method::activity);
    CHECK(method(choose_method(2.0 * units::us, 1, warm, poor)) == Method::graph);
    CHECK(method(choose_method(2.0 * units::us, 1, question("copy elements=1024 launch=graph"),
                               all)) == Method::graph);
    CHECK(method(choose_method(2.0 * units::us, 5, question("copy elements=1024 launch=stream"),
                               all)) == Method::events);
    for (const Maybe<Method>& none : {choose_method(2.0 * units::us, 1, cold, poor),
                                      choose_method(90.0 * units::us, 3, warm, poor)}) {
        REQUIRE(std::holds_alternative<Unavailable>(none));
        CHECK(std::get<Unavailable>(none).reason.find("no CUPTI here") != std::string::npos);
    }
    CHECK(std::holds_alternative<Unavailable>(choose_method(
        2.0 * units::us, 1, question("copy elements=1024 launch=graph l2=cold"), all)));
}
