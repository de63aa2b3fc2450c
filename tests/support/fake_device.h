// A measuring machine without hardware: plausible times with deterministic noise, faults on demand.
//
//   FakeDevice device(fake_plan(catalogue.at("h200-sxm")));
//
// Method: a case takes what `model::predict` says times `bias`, with log-normal noise drawn from a
// generator that depends on the seed and the question alone, so that two runs agree and two
// questions differ. Ceilings follow the machine's datasheet with a fixed efficiency and a ramp, so
// that fits have something known to find. It exists for tests of everything around a device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "hardware/description.h"
#include "measure/record/record.h"
#include "measure/run/device.h"
#include "model/machine/machine.h"

namespace ridge::measure {

/// What goes wrong with one question.
enum class Fault : std::uint8_t {
    none,
    unavailable,     ///< cannot be prepared
    wrong_result,    ///< fails its verification
    failing,         ///< a device call fails while sampling
    fatal,           ///< the same, and the device does not recover
    some_throttled,  ///< every fourth sample, 30 % slower
    all_throttled
};

/// The ceilings that the fake's microbenchmarks show.
struct FakeCeilings {
    double dram_efficiency = 0.90;
    Time dram_latency = 2.0 * units::us;  ///< fixed time beside the traffic
    double ramp_exponent = 2.0;
    double tensor_burst = 0.97;
    double tensor_sustained = 0.75;
    double other = 0.95;
};

struct FakePlan {
    DeviceInfo info{};
    model::Machine machine{};
    double bias = 1.0;     ///< measured over predicted time
    double noise = 0.004;  ///< relative
    std::uint64_t seed = 1;
    FakeCeilings ceilings{};
    std::function<Fault(const Question&)> fault{};
    std::function<void()> on_sample{};  ///< called at every `Case::sample`
};

/// A plan with all features, named as the driver names this GPU (its first alias).
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
    [[nodiscard]] bool usable() const override;

    struct State;

  private:
    std::shared_ptr<State> state_;
};

}  // namespace ridge::measure
