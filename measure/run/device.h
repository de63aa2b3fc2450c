// The interface to the measuring machine; the only interface class of ridge.
//
// A `Device` prepares a `Case` from an operation and its execution. The case owns its buffers and
// launches, checks its own result and takes samples on request. The caller decides what to sample,
// how often and when to stop (`sampling.h`), so a device stays simple, and every test can use a
// fake one (`fake_device.h`).
//
//   Maybe<std::unique_ptr<Device>> opened = open_device(0);
//   Device& device = *std::get<std::unique_ptr<Device>>(opened);
//   auto prepared = device.prepare(operation, execution, DataPattern::normal);
//   if (auto* unit = std::get_if<std::unique_ptr<Case>>(&prepared)) {
//       const SampleRequest ten{.method = Method::events, .count = 10};
//       if ((*unit)->verify().ok) samples = (*unit)->sample(ten);
//   }
//
// Errors: a request that the device cannot meet (fp8 on sm_80, not enough memory, no such bundled
// kernel) gives an `Unavailable`; a call that fails throws DeviceError. After a DeviceError,
// `usable` says whether the device can go on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware/quantity.h"
#include "measure/record/device_info.h"
#include "measure/record/energy_measurement.h"
#include "measure/record/observation.h"
#include "model/core/data_type.h"
#include "model/core/implementation.h"
#include "model/core/operation.h"

namespace ridge::measure {

/// What one call of `Case::sample` takes.
struct SampleRequest {
    Method method = Method::events;
    model::L2State l2 = model::L2State::warm;
    /// `stream` includes the host's launch cost: no blocking kernel runs first.
    model::LaunchMode launch = model::LaunchMode::kernel;
    std::int32_t count = 10;
};

/// Runs without a pause for `warm` and then for `window`, of which the steps of the counter are kept.
struct SteadyRequest {
    Time warm = 0.5 * units::s;
    Time window = 3.0 * units::s;
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

    /// Runs once and compares the result with the CPU's. A case that is not ok must not be timed.
    [[nodiscard]] virtual Verification verify() = 0;

    /// Takes `request.count` runs after a warm-up, each with a cold (flushed) or a warm L2.
    /// Throws DeviceError when the method's feature is missing; callers ask `DeviceInfo::feature`.
    [[nodiscard]] virtual std::vector<Sample> sample(const SampleRequest& request) = 0;

    /// Counters of profiled runs, as many runs as the counters need passes; their times are not
    /// used.
    [[nodiscard]] virtual Maybe<Counters> counters(std::span<const CounterGroup> groups,
                                                   model::L2State l2) = 0;

    /// Runs again and again while the energy counter is read.
    [[nodiscard]] virtual Maybe<SteadyRun> run_steadily(const SteadyRequest& request);
};

/// The DRAM benchmarks flush the L2 before every sample, so they measure DRAM at every size.
enum class Microbenchmark : std::uint8_t {
    dram_read,
    dram_write,
    dram_copy,   ///< counts bytes read and written
    dram_triad,  ///< counts two reads and one write
    l2_read,
    l1_read,
    shared_read,
    fma,            ///< vector pipe of `type`
    tensor_mma,     ///< mma.sync, register operands
    tensor_wgmma,   ///< wgmma, shared-memory operands
    exp2,           ///< special functions
    pointer_chase,  ///< dependent loads over a random permutation of `size`
    shared_chase,   ///< the same in shared memory
    launch_kernel,  ///< duration of an empty kernel
    launch_stream,  ///< time per kernel, launched back to back in a stream
    launch_graph,   ///< time per kernel of a replayed graph
    launch_call,    ///< one kernel in an idle stream, between two events
    launch_submit   ///< host time of one launch
};

[[nodiscard]] std::string_view name_of(Microbenchmark benchmark);

/// Short kernels, before the power limit acts, or kernels that run for seconds.
enum class Regime : std::uint8_t { burst, sustained };

struct MicrobenchmarkRequest {
    Microbenchmark benchmark = Microbenchmark::dram_read;
    model::DataType type = model::DataType::fp32;
    Bytes size{};             ///< working set: of each array for DRAM, of the buffer otherwise
    std::int64_t stride = 0;  ///< see the enumerators; 0 if unused
    Regime regime = Regime::burst;
    DataPattern pattern = DataPattern::normal;
    std::int32_t count = 10;  ///< samples
};

/// `amount / sample.time` is the rate: bytes, FLOP or special-function results per second. For
/// latencies and launches, `sample.time / amount` is the time of one load or one kernel.
struct MicrobenchmarkResult {
    double amount = 0.0;  ///< per sample, in bytes, FLOP, results, loads or launches
    std::vector<Sample> samples{};
    KernelLaunch kernel{};
    Environment environment{};  ///< read right after the last sample
};

class Device {
  public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    [[nodiscard]] virtual const DeviceInfo& info() const = 0;
    [[nodiscard]] virtual Environment environment() = 0;

    /// The operation must be valid, and `execution.implementation` not `automatic` (see `choose`).
    [[nodiscard]] virtual Maybe<std::unique_ptr<Case>> prepare(const model::Operation& operation,
                                                               const model::Execution& execution,
                                                               DataPattern pattern) = 0;

    [[nodiscard]] virtual Maybe<MicrobenchmarkResult> run(const MicrobenchmarkRequest& request) = 0;

    /// Does nothing for so long while the energy counter is read.
    [[nodiscard]] virtual Maybe<SteadyRun> rest(Time window);

    /// False after an error from which the device cannot recover within this process.
    [[nodiscard]] virtual bool usable() const = 0;
};

/// Why an implementation cannot be measured, and what to ask for instead: the operation does not
/// have it, or ridge can only predict it. Empty when `Device::prepare` decides.
[[nodiscard]] std::optional<Unavailable> not_measured(const model::Operation& operation,
                                                      model::Implementation implementation);

/// The implementation that `automatic` stands for on a device of this compute capability.
[[nodiscard]] model::Implementation choose(const model::Operation& operation,
                                           std::int32_t compute_capability);

/// The CUDA device with this number. Unavailable without a driver or a device, and in a build
/// without CUDA.
[[nodiscard]] Maybe<std::unique_ptr<Device>> open_device(std::int32_t ordinal);

}  // namespace ridge::measure
