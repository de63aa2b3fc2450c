// A measuring machine without hardware: plausible times with deterministic noise, and faults on
// demand.
//
//   FakeDevice device(fake_plan(catalogue.at("h200-sxm")));
//
// Method: a case takes the time that `model::predict` gives, times `bias` and log-normal noise. The
// noise comes from a generator that depends only on the seed and the question, so two runs agree
// and two questions differ. Ceilings follow the machine's datasheet with a fixed efficiency and a
// ramp, so that fits have something known to find. The fake serves tests of everything around a
// device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "hardware/description.h"
#include "measure/record/record.h"
#include "measure/run/device.h"
#include "model/machine/machine.h"

namespace ridge::measure {

/// What goes wrong with a question.
enum class Fault : std::uint8_t {
    none,
    unavailable,     ///< cannot be prepared
    wrong_result,    ///< fails its verification
    failing,         ///< a device call fails while sampling
    fatal,           ///< as failing, and the device does not recover
    some_throttled,  ///< every fourth sample is throttled and 30 % slower
    all_throttled
};

/// The ceilings that the fake's microbenchmarks reach.
struct FakeCeilings {
    double dram_efficiency = 0.90;
    Time dram_latency = 2.0 * units::us;  ///< fixed time besides the traffic
    double ramp_exponent = 2.0;
    double tensor_burst = 0.97;
    double tensor_sustained = 0.75;
    double other = 0.95;
};

/// What the fake's energy counter sees.
struct FakePower {
    Power busy = 500.0 * units::W;
    Power idle = 80.0 * units::W;
    Time step = 0.1 * units::s;  ///< period of the counter
    Time lag = 0.03 * units::s;  ///< what a step shows is this old
    Time poll = 1.0 * units::ms;
};

struct FakePlan {
    DeviceInfo info{};
    model::Machine machine{};
    double bias = 1.0;     ///< measured time over predicted time
    double noise = 0.004;  ///< relative
    std::uint64_t seed = 1;
    FakeCeilings ceilings{};
    FakePower power{};
    std::function<Fault(const Question&)> fault{};
    std::function<void()> on_sample{};  ///< called at every `Case::sample`
};

/// A plan with all features. The device has the driver's name of this GPU (its first alias).
[[nodiscard]] FakePlan fake_plan(const hardware::Description& description);

/// Marks a feature of the plan as missing.
void remove_feature(FakePlan& plan, std::string_view name, const std::string& reason);

class FakeDevice : public Device {
  public:
    explicit FakeDevice(FakePlan plan);
    ~FakeDevice() override;

    [[nodiscard]] const DeviceInfo& info() const override;
    [[nodiscard]] Environment environment() override;
    [[nodiscard]] Maybe<std::unique_ptr<Case>> prepare(const model::Operation& operation,
                                                       const model::Execution& execution,
                                                       DataPattern pattern) override;
    [[nodiscard]] Maybe<MicrobenchmarkResult> run(const MicrobenchmarkRequest& request) override;
    [[nodiscard]] Maybe<SteadyRun> rest(Time window) override;
    [[nodiscard]] bool usable() const override;

    struct State;

  private:
    std::shared_ptr<State> state_;
};

}  // namespace ridge::measure
