// What a measuring machine can observe, as plain values that need no device.
//
// Times, clocks, power and counters are quantities. What was not observed is absent (an empty
// optional), never zero. A reasonable request that cannot be met gives an `Unavailable` with the
// reason and what the user can do about it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hardware/quantity.h"
#include "model/core/data_pattern.h"
#include "model/core/implementation.h"

namespace ridge::measure {

/// Why something is not available, and what would help (may be empty).
struct Unavailable {
    std::string reason;
    std::string remedy{};

    friend bool operator==(const Unavailable&, const Unavailable&) = default;
};

/// A value, or the reason why there is none.
template <class Value>
using Maybe = std::variant<Value, Unavailable>;

/// What fills the inputs. Zeros and other constants toggle few transistors and run up to 15 %
/// faster under a power limit, so normally distributed random numbers are the default.
using model::DataPattern;
using model::parse_data_pattern;

/// How a time is taken.
enum class Method : std::uint8_t {
    events,    ///< a pair of events around the launches, queued behind a blocking kernel
    activity,  ///< the sum of the kernels' own durations, from the driver's activity records
    graph,     ///< replay of a graph with many repetitions, divided by their number
    together,  ///< kernels' own durations on several GPUs, which a flag on the devices starts together
    calls      ///< many calls in a row from the host, by the host's clock, divided by their number
};

[[nodiscard]] std::string_view name_of(Method method);
/// The inverse of name_of. InputError lists the known words.
[[nodiscard]] Method parse_method(std::string_view text);

/// One run of the whole operation.
struct Sample {
    Time time;
    std::optional<Frequency> clock{};  ///< mean SM clock during the run, read on the device
    bool throttled = false;            ///< the clock was below what a cool, idle device can hold
    std::optional<Time> skew{};        ///< several GPUs: last start after the first; not in `time`

    friend bool operator==(const Sample&, const Sample&) = default;
};

/// One kernel of an operation, as it was launched.
struct KernelLaunch {
    std::string name;  ///< readable, not mangled
    std::int64_t grid_x = 1;
    std::int64_t grid_y = 1;
    std::int64_t grid_z = 1;
    std::int64_t block_threads = 0;
    std::int64_t registers_per_thread = 0;
    std::int64_t shared_bytes = 0;  ///< static and dynamic, per block
    std::int64_t repeat = 1;        ///< launches of this kernel in one run of the operation

    friend bool operator==(const KernelLaunch&, const KernelLaunch&) = default;
};

/// How a library of collectives carried one out, by its own account.
struct CollectiveChoice {
    std::string library;    ///< "NCCL 2.28.3"
    std::string algorithm;  ///< "ring", "tree", "nvls"; empty if the library does not say
    std::string protocol;   ///< "ll", "ll128", "simple"
    std::optional<std::int64_t> channels{};

    friend bool operator==(const CollectiveChoice&, const CollectiveChoice&) = default;
};

/// How the operation was executed.
struct Geometry {
    std::vector<KernelLaunch> kernels{};
    std::optional<CollectiveChoice> collective{};
    std::optional<model::Tile> tile{};     ///< the part of the output that one block computes
    std::int64_t split = 1;                ///< number of parts along k or along the keys
    std::optional<Bytes> device_memory{};  ///< buffers allocated for the case

    /// Kernel launches in one run of the operation.
    [[nodiscard]] std::int64_t launches() const;

    friend bool operator==(const Geometry&, const Geometry&) = default;
};

/// Comparison of the result with a reference computed on the CPU in double precision.
struct Verification {
    double max_error = 0.0;        ///< largest |x - reference| over the largest |reference|
    double frobenius_error = 0.0;  ///< ||x - reference|| / ||reference||
    double tolerance = 0.0;        ///< limit of the Frobenius error
    std::int64_t checked = 0;      ///< elements compared; large outputs are sampled
    bool ok = false;

    friend bool operator==(const Verification&, const Verification&) = default;
};

/// Hardware counters of one run of the whole operation, summed over its kernels. Times are never
/// taken from a run with counters.
struct Counters {
    std::optional<Bytes> dram_read{};
    std::optional<Bytes> dram_write{};
    std::optional<Bytes> sm_l2{};     ///< between the SMs and L2 over the crossbar, both directions
    std::optional<Bytes> l2{};        ///< looked up in L2 for these; identical requests are merged
    std::optional<Bytes> shared{};    ///< shared memory, including operand reads of tensor cores
    std::optional<Flop> tensor{};     ///< tensor cores, all types
    std::optional<Flop> fma{};        ///< vector pipes: fp64, fp32 and packed fp16; an FMA counts 2
    std::optional<double> special{};  ///< special-function results
    std::optional<double> occupancy{};  ///< resident warps over the maximum, while the SM is active
    std::optional<double> tensor_active{};  ///< share of the time that the tensor pipe was busy
    std::optional<Frequency> sm_clock{};
    std::optional<Frequency> dram_clock{};
    std::map<std::string, double> metrics{};  ///< raw values by the profiler's name of the metric

    friend bool operator==(const Counters&, const Counters&) = default;
};

enum class CounterGroup : std::uint8_t {
    traffic,     ///< DRAM, L2 and shared memory; clocks, occupancy
    arithmetic,  ///< vector FLOP and special functions
    tensor       ///< tensor FLOP, tensor-pipe activity
};

/// State of the device at one moment, from the management library (NVML).
struct Environment {
    std::optional<Frequency> sm_clock{};
    std::optional<Frequency> memory_clock{};
    std::optional<Power> power{};
    std::optional<Power> power_limit{};
    std::optional<double> temperature_celsius{};
    std::optional<Energy> energy{};            ///< since the driver was loaded
    std::vector<std::string> clock_reasons{};  ///< why the clocks are limited: "sw_power_cap" ...
    std::optional<std::int64_t> other_processes{};  ///< other processes that compute on the device

    friend bool operator==(const Environment&, const Environment&) = default;
};

/// Words of the bits of NVML's clock event reasons, lowest bit first; unknown bits as hexadecimal.
[[nodiscard]] std::vector<std::string> clock_reason_words(std::uint64_t bits);

}  // namespace ridge::measure
