#include "tests/support/fake_device.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "hardware/error.h"
#include "model/predict.h"

namespace ridge::measure {

struct FakeDevice::State {
    FakePlan plan;
    double energy = 1e6;
    bool usable = true;
};

namespace {

using State = FakeDevice::State;

/// FNV-1a of a text, mixed with the seed.
std::uint64_t hash_of(const std::string& text, std::uint64_t seed) {
    std::uint64_t hash = 0xcbf29ce484222325U ^ (seed * 0x9e3779b97f4a7c15U);
    for (const char character : text) {
        hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3U;
    }
    return hash;
}

/// Gaussian numbers by Box and Muller from a 64-bit linear congruential generator (Knuth's MMIX).
class Noise {
  public:
    explicit Noise(std::uint64_t seed) : state_(seed) {}

    double gaussian() {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
        return radius * std::cos(2.0 * std::numbers::pi * unit());
    }

  private:
    double unit() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<double>(state_ >> 11) * 0x1p-53;
    }

    std::uint64_t state_;
};

/// The steps of a counter while the power is the same, seen by polls.
SteadyRun fake_run(const FakePower& power, Power watts, Time window) {
    SteadyRun seen;
    const double first = 0.4 * power.step.base();
    for (double at = first; at < window.base(); at += power.step.base()) {
        const double polled = std::ceil(at / power.poll.base()) * power.poll.base();
        seen.steps.push_back({.at = Time::from_base(polled),
                              .total = watts * Time::from_base(at) - watts * power.lag,
                              .gap = power.poll});
    }
    return seen;
}

class FakeCase : public Case {
  public:
    FakeCase(std::shared_ptr<State> state, Question question, const model::Prediction& prediction,
             Fault fault)
        : state_(std::move(state)),
          question_(std::move(question)),
          prediction_(prediction),
          fault_(fault),
          noise_(hash_of(canonical_text(question_), state_->plan.seed)) {}

    [[nodiscard]] model::Implementation implementation() const override {
        return prediction_.implementation;
    }

    [[nodiscard]] Geometry geometry() const override {
        Geometry geometry{.split = prediction_.tiling.split,
                          .device_memory = prediction_.footprint};
        geometry.kernels.push_back({.name = "fake_" + std::string(name_of(question_.operation)),
                                    .grid_x = std::max<std::int64_t>(1, prediction_.tiling.tiles),
                                    .block_threads = 256,
                                    .registers_per_thread = 64,
                                    .repeat = prediction_.work.kernels});
        if (prediction_.tiling.tiles > 0) geometry.tile = prediction_.tiling.tile;
        return geometry;
    }

    [[nodiscard]] Verification verify() override {
        const bool wrong = fault_ == Fault::wrong_result;
        return {.max_error = wrong ? 0.8 : 1e-3,
                .frobenius_error = wrong ? 0.5 : 4e-4,
                .tolerance = 5e-3,
                .checked = 4096,
                .ok = !wrong};
    }

    [[nodiscard]] std::vector<Sample> sample(const SampleRequest& request) override {
        if (state_->plan.on_sample) state_->plan.on_sample();
        if (fault_ == Fault::fatal) state_->usable = false;
        if (fault_ == Fault::fatal || fault_ == Fault::failing) {
            throw DeviceError("cudaLaunchKernel", 700, "an illegal memory access was encountered");
        }
        std::vector<Sample> samples;
        samples.reserve(static_cast<std::size_t>(std::max(request.count, 0)));
        for (std::int32_t i = 0; i < request.count; ++i) samples.push_back(one_sample());
        return samples;
    }

    [[nodiscard]] Maybe<Counters> counters(std::span<const CounterGroup>, model::L2State) override {
        const model::Work& work = prediction_.work;
        Counters counters{.dram_read = work.dram_read,
                          .dram_write = work.dram_write,
                          .sm_l2 = work.l2,
                          .l2 = work.l2,
                          .shared = work.shared,
                          .tensor = prediction_.executed_tensor,
                          .fma = work.fma,
                          .special = work.special};
        counters.metrics["dram__bytes_read.sum"] = work.dram_read.base();
        return counters;
    }

    [[nodiscard]] Maybe<SteadyRun> run_steadily(const SteadyRequest& request) override {
        SteadyRun seen = fake_run(state_->plan.power, state_->plan.power.busy, request.window);
        constexpr std::int64_t runs = 10;
        const Time each = prediction_.time * state_->plan.bias;
        std::int64_t done = 0;
        for (Time at{}; at < request.window; at += each * static_cast<double>(runs)) {
            seen.finished.push_back({.at = at, .runs = done});
            done += runs;
        }
        seen.states.push_back({.sm_clock = state_->plan.machine.boost_clock,
                               .power_limit = 700.0 * units::W,
                               .temperature_celsius = 45.0,
                               .clock_reasons = {"sw_power_cap"}});
        return seen;
    }

  private:
    Sample one_sample() {
        const FakePlan& plan = state_->plan;
        ++taken_;
        const double spread = std::exp(plan.noise * noise_.gaussian());
        const bool throttled =
            fault_ == Fault::all_throttled || (fault_ == Fault::some_throttled && taken_ % 4 == 0);
        const double slower = throttled ? 1.3 : 1.0;
        const Time time = prediction_.time * (plan.bias * spread * slower);
        state_->energy += 500.0 * time.base();
        return {.time = time,
                .clock = plan.machine.boost_clock * (1.0 / slower),
                .throttled = throttled};
    }

    std::shared_ptr<State> state_;
    Question question_;
    model::Prediction prediction_;
    Fault fault_;
    Noise noise_;
    std::int64_t taken_ = 0;
};

/// The work of one sample of a microbenchmark, and its time.
struct Ceiling {
    double amount = 0.0;
    Time time;
};

Ceiling dram(const FakePlan& plan, const MicrobenchmarkRequest& request, double arrays) {
    const Bytes bytes = arrays * request.size;
    const double p = plan.ceilings.ramp_exponent;
    const double fixed = plan.ceilings.dram_latency.base();
    const double moving =
        (bytes / (plan.ceilings.dram_efficiency * plan.machine.dram_bandwidth)).base();
    return {.amount = bytes.base(),
            .time = Time::from_base(std::pow(std::pow(fixed, p) + std::pow(moving, p), 1.0 / p))};
}

/// The work of 100 us at `efficiency` times `rate` units per second.
std::optional<Ceiling> at_rate(std::optional<double> rate, double efficiency) {
    if (!rate || *rate <= 0.0) return std::nullopt;
    constexpr double duration = 1e-4;
    return Ceiling{.amount = *rate * efficiency * duration, .time = Time::from_base(duration)};
}

std::optional<Ceiling> latency(std::optional<Time> each) {
    if (!each || *each <= Time{}) return std::nullopt;
    constexpr double loads = 1000.0;
    return Ceiling{.amount = loads, .time = loads * *each};
}

template <class Q>
std::optional<double> base_of(const std::optional<Q>& quantity) {
    if (!quantity) return std::nullopt;
    return quantity->base();
}

std::optional<Ceiling> ceiling_of(const FakePlan& plan, const MicrobenchmarkRequest& request) {
    const model::Machine& machine = plan.machine;
    const FakeCeilings& ceilings = plan.ceilings;
    const double tensor =
        request.regime == Regime::burst ? ceilings.tensor_burst : ceilings.tensor_sustained;
    const bool hopper = machine.compute_capability == 90;
    switch (request.benchmark) {
        case Microbenchmark::dram_read:
        case Microbenchmark::dram_write:
            return dram(plan, request, 1.0);
        case Microbenchmark::dram_copy:
            return dram(plan, request, 2.0);
        case Microbenchmark::dram_triad:
            return dram(plan, request, 3.0);
        case Microbenchmark::l2_read:
            return at_rate(base_of(machine.l2_bandwidth), ceilings.other);
        case Microbenchmark::l1_read:  // shared memory and L1 are the same unit on NVIDIA GPUs
        case Microbenchmark::shared_read:
            return at_rate(base_of(machine.shared_bandwidth), ceilings.other);
        case Microbenchmark::fma:
            return at_rate(base_of(machine.vector_peak(request.type)), ceilings.other);
        case Microbenchmark::tensor_mma:
            return at_rate(base_of(machine.tensor_peak(request.type)),
                           tensor * (hopper ? 2.0 / 3.0 : 1.0));
        case Microbenchmark::tensor_wgmma:
            return hopper ? at_rate(base_of(machine.tensor_peak(request.type)), tensor)
                          : std::nullopt;
        case Microbenchmark::exp2:
            return at_rate(machine.special_rate, ceilings.other);
        case Microbenchmark::pointer_chase:
            return latency(request.size < machine.l2.size ? machine.l2_latency
                                                          : machine.dram_latency);
        case Microbenchmark::shared_chase:
            return latency(29.0 * units::cycle / machine.boost_clock);
        case Microbenchmark::launch_kernel:
            return latency(machine.kernel_floor);
        case Microbenchmark::launch_stream:
            return latency(machine.launch.stream);
        case Microbenchmark::launch_call:
            return latency(machine.launch.call);
        case Microbenchmark::launch_graph:
            return latency(machine.launch.graph);
        case Microbenchmark::launch_submit:
            return latency(0.8 * machine.launch.stream);
    }
    return std::nullopt;
}

}  // namespace

FakePlan fake_plan(const hardware::Description& description) {
    FakePlan plan;
    plan.machine = model::make_machine(description);
    DeviceInfo& info = plan.info;
    info.name = description.aliases.empty() ? description.name : description.aliases.front();
    info.compute_capability = plan.machine.compute_capability;
    info.sm_count = plan.machine.sm_count;
    info.memory = plan.machine.dram_capacity;
    info.l2 = plan.machine.l2.size;
    info.max_sm_clock = plan.machine.boost_clock;
    info.driver = "0.0 (fake)";
    info.cuda_driver = "13.0";
    info.cuda_runtime = "13.0";
    info.cupti = "13.0";
    info.nvml = "13";
    for (const char* name : {"counters", "activity", "nvml", "cublaslt", "nvrtc", "graph"}) {
        info.features.push_back({.name = name, .detail = "fake"});
    }
    return plan;
}

void remove_feature(FakePlan& plan, std::string_view name, const std::string& reason) {
    for (Feature& feature : plan.info.features) {
        if (feature.name == name) {
            feature.missing = Unavailable{.reason = reason, .remedy = "use another fake"};
        }
    }
}

FakeDevice::FakeDevice(FakePlan plan) : state_(std::make_shared<State>()) {
    state_->plan = std::move(plan);
}

FakeDevice::~FakeDevice() = default;

const DeviceInfo& FakeDevice::info() const {
    return state_->plan.info;
}

Environment FakeDevice::environment() {
    return {.sm_clock = state_->plan.machine.boost_clock,
            .power = 450.0 * units::W,
            .power_limit = 700.0 * units::W,
            .temperature_celsius = 45.0,
            .energy = Energy::from_base(state_->energy),
            .clock_reasons = {"sw_power_cap"},
            .other_processes = 0};
}

Maybe<std::unique_ptr<Case>> FakeDevice::prepare(const model::Operation& operation,
                                                 const model::Execution& execution,
                                                 DataPattern pattern) {
    RIDGE_CONTRACT(execution.implementation != model::Implementation::automatic);
    Question question{.operation = operation, .execution = execution, .pattern = pattern};
    const Fault fault = state_->plan.fault ? state_->plan.fault(question) : Fault::none;
    if (fault == Fault::unavailable) {
        return Unavailable{.reason = "no bundled kernel for this shape", .remedy = ""};
    }
    const model::Outcome outcome = model::predict(operation, execution, state_->plan.machine);
    if (const auto* unmodelled = std::get_if<model::NotModelled>(&outcome)) {
        return Unavailable{.reason = unmodelled->reason, .remedy = ""};
    }
    return std::make_unique<FakeCase>(state_, std::move(question),
                                      std::get<model::Prediction>(outcome), fault);
}

Maybe<MicrobenchmarkResult> FakeDevice::run(const MicrobenchmarkRequest& request) {
    const std::optional<Ceiling> ceiling = ceiling_of(state_->plan, request);
    const std::string name(name_of(request.benchmark));
    if (!ceiling) return Unavailable{.reason = "the fake has no ceiling for " + name};
    Noise noise(hash_of(name + std::string(name_of(request.type)), state_->plan.seed));
    MicrobenchmarkResult result{.amount = ceiling->amount,
                                .kernel = {.name = "fake_" + name, .block_threads = 256},
                                .environment = environment()};
    for (std::int32_t i = 0; i < request.count; ++i) {
        const double spread = std::exp(state_->plan.noise * noise.gaussian());
        result.samples.push_back(
            {.time = ceiling->time * spread, .clock = state_->plan.machine.boost_clock});
    }
    return result;
}

Maybe<SteadyRun> FakeDevice::rest(Time window) {
    return fake_run(state_->plan.power, state_->plan.power.idle, window);
}

bool FakeDevice::usable() const {
    return state_->usable;
}

}  // namespace ridge::measure
