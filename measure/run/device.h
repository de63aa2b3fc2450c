// The measuring machine: the one interface of ridge.
//
// A `Device` prepares a `Case` from an operation and its execution; the case owns its buffers and
// launches, checks its own result and takes samples on request. What to sample, how often and when
// to stop is decided by the caller (`sampling.h`), so a device stays simple and a fake one
// (`fake_device.h`) drives every test.
//
//   Maybe<std::unique_ptr<Device>> opened = open_device(0);
//   Device& device = *std::get<std::unique_ptr<Device>>(opened);
//   auto prepared = device.prepare(operation, execution, DataPattern::normal);
//   if (auto* unit = std::get_if<std::unique_ptr<Case>>(&prepared)) {
//       const SampleRequest ten{.method = Method::events, .count = 10};
//       if ((*unit)->verify().ok) samples = (*unit)->sample(ten);
//   }
//
// Errors: what the device fairly cannot do (no fp8 on sm_80, not enough memory, no such bundled
// kernel) is an `Unavailable`; a failing call throws DeviceError. After a DeviceError `usable` says
// whether the device can go on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware/quantity.h"
#include "measure/record/device_info.h"
#include "measure/record/observation.h"
#include "model/core/data_type.h"
#include "model/core/implementation.h"
#include "model/core/operation.h"

namespace ridge::measure {

/// What one call of `Case::sample` takes.
struct SampleRequest {
    Method method = Method::events;
    model::L2State l2 = model::L2State::warm;
    /// `stream` includes the host's launch cost: no blocking kernel in front.
    model::LaunchMode launch = model::LaunchMode::kernel;
    std::int32_t count = 10;
};

/// One operation with its buffers on the device, ready to run.
class Case {
  public:
    Case() = default;
    Case(const Case&) = delete;
    Case& operator=(const Case&) = delete;
    virtual ~Case() = default;

    /// The implementation that runs; never `automatic`.
    [[nodiscard]] virtual model::Implementation implementation() const = 0;
    [[nodiscard]] virtual Geometry geometry() const = 0;

    /// Runs once and compares with the CPU. A case that is not ok must not be timed.
    [[nodiscard]] virtual Verification verify() = 0;

    /// `request.count` runs after a warm-up of its own, each with a cold (flushed) or warm L2.
    /// Throws DeviceError when the method's feature is missing; callers ask `DeviceInfo::feature`.
    [[nodiscard]] virtual std::vector<Sample> sample(const SampleRequest& request) = 0;

    /// Profiled runs, as many as the counters take passes; their times are not believed.
    [[nodiscard]] virtual Maybe<Counters> counters(std::span<const CounterGroup> groups,
                                                   model::L2State l2) = 0;
};

/// The DRAM benchmarks flush the L2 before every sample and so show DRAM at every size.
enum class Microbenchmark : std::uint8_t {
    dram_read,
    dram_write,
    dram_copy,   ///< bytes read and written are counted
    dram_triad,  ///< two reads and one write are counted
    l2_read,
    l1_read,
    shared_read,
    fma,            ///< vector pipe of `type`
    tensor_mma,     ///< mma.sync, register operands
    tensor_wgmma,   ///< wgmma, shared-memory operands
    exp2,           ///< special functions
    pointer_chase,  ///< dependent loads over a random permutation of `size`
    shared_chase,   ///< the same in shared memory
    launch_kernel,  ///< duration of a kernel that does nothing
    launch_stream,  ///< per kernel, launched back to back in a stream
    launch_graph,   ///< per kernel of a replayed graph
    launch_call,    ///< one kernel in an idle stream, between two events
    launch_submit   ///< host time of one launch
};

[[nodiscard]] std::string_view name_of(Microbenchmark benchmark);

/// Short kernels before the power limit acts, or seconds on end.
enum class Regime : std::uint8_t { burst, sustained };

struct MicrobenchmarkRequest {
    Microbenchmark benchmark = Microbenchmark::dram_read;
    model::DataType type = model::DataType::fp32;
    Bytes size{};             ///< working set: of each array for DRAM, of the buffer otherwise
    std::int64_t stride = 0;  ///< see the enumerators; 0 where it means nothing
    Regime regime = Regime::burst;
    DataPattern pattern = DataPattern::normal;
    std::int32_t count = 10;  ///< samples
};

/// `amount / sample.time` is the rate: bytes, FLOP or special-function results per second; for
/// latencies and launches `sample.time / amount` is the time of one load or one kernel.
struct MicrobenchmarkResult {
    double amount = 0.0;  ///< in one sample: byte, FLOP, result, load or launch
    std::vector<Sample> samples{};
    KernelLaunch kernel{};
    Environment environment{};  ///< right after the last sample
};

class Device {
  public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    [[nodiscard]] virtual const DeviceInfo& info() const = 0;
    [[nodiscard]] virtual Environment environment() = 0;

    /// The operation must be valid and `execution.implementation` not `automatic` (`choose`).
    [[nodiscard]] virtual Maybe<std::unique_ptr<Case>> prepare(const model::Operation& operation,
                                                               const model::Execution& execution,
                                                               DataPattern pattern) = 0;

    [[nodiscard]] virtual Maybe<MicrobenchmarkResult> run(const MicrobenchmarkRequest& request) = 0;

    /// False after an error from which the device does not recover within this process.
    [[nodiscard]] virtual bool usable() const = 0;
};

/// Why an implementation cannot be measured, and what to ask for instead: the operation does not have
/// it, or it is predicted only. Empty where that is left to `Device::prepare`.
[[nodiscard]] std::optional<Unavailable> not_measured(const model::Operation& operation,
                                                      model::Implementation implementation);

/// The implementation that `automatic` stands for on a device of this compute capability.
[[nodiscard]] model::Implementation choose(const model::Operation& operation,
                                           std::int32_t compute_capability);

/// The CUDA device of this number. Unavailable without a driver, without a device, and in a build
/// without CUDA.
[[nodiscard]] Maybe<std::unique_ptr<Device>> open_device(std::int32_t ordinal);

}  // namespace ridge::measure
