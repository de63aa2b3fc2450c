// The hardware metrics that ridge reads, what each means and how it becomes a counter, as data.
//
// Method: one table. A metric has the profiler's name, the quantity that it contributes to, and the
// factor that converts it to that quantity's unit (32 bytes per sector, 2 FLOP per FMA, 4 per
// packed HFMA2). Names differ between chips, so a set is always filtered by what the profiler
// accepts for a chip; that needs no GPU.
//
//   metrics_of(groups)                      // the default set: 4 passes on GH100 for all groups
//   plan_profile(cupti, "GH100", metrics).passes
//
// Deliberately unused: `lts__t_bytes` counts traffic between the two halves of L2 a second time,
// and `peak_sustained` of the tensor counters is the sparse rate. The compiler builds constants
// with packed FP16 instructions, which are subtracted from the FLOP count (counter_values.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/cuda/libraries/cupti.h"
#include "measure/record/observation.h"

namespace ridge::measure::cuda {

/// What a metric contributes to. Sums are added over the kernels of an operation; shares and clocks
/// are averaged, weighted by the kernels' durations.
enum class Meaning : std::uint8_t {
    duration,             ///< ns, used only as a weight
    dram_read,            ///< byte
    dram_write,           ///< byte
    sm_l2,                ///< bytes over the crossbar between SMs and L2
    l2,                   ///< bytes looked up in L2 for SMs; identical requests are merged
    shared,               ///< byte
    fma,                  ///< FLOP on the vector pipes, fp64 and fp32
    packed_fma,           ///< FLOP of two-wide fp16 FMA, including constants
    packed_other,         ///< FLOP of other two-wide fp16 instructions
    special,              ///< results
    tensor,               ///< FLOP of wgmma, fp8 and fp64
    tensor_by_type,       ///< FLOP of all tensor instructions of one type
    hmma_instructions,    ///< warp instructions on the half-precision tensor pipe
    hfma_on_tensor_pipe,  ///< vector instructions among these
    gmma_instructions,    ///< wgmma of all types
    occupancy,            ///< percent
    tensor_active,        ///< percent
    sm_clock,             ///< Hz
    dram_clock,           ///< Hz
    informative           ///< kept only as a raw value
};

/// True if values are added, false if they are averaged.
[[nodiscard]] bool is_sum(Meaning meaning);

struct Metric {
    std::string_view name;
    CounterGroup group = CounterGroup::traffic;
    Meaning meaning = Meaning::informative;
    double factor = 1.0;
};

/// The default metrics of these groups, in the table's order. If chips use different names for the
/// same counter, the table has both names; no chip knows both.
[[nodiscard]] std::vector<Metric> metrics_of(std::span<const CounterGroup> groups);

/// Tensor operations of every type for any instruction (mma.sync, wgmma). They take 7 passes on
/// GH100, so they are read only for kernels whose default metrics show mma.sync at work.
[[nodiscard]] std::span<const Metric> tensor_types();

/// The same by instruction and type, in sets that each take a single pass on GH100 and begin with
/// one type of mma.sync. wgmma of 8 and 16 bits is left out, because the default metrics include
/// it.
[[nodiscard]] std::vector<std::vector<Metric>> single_tensor_types();

[[nodiscard]] std::vector<const char*> names_of(std::span<const Metric> metrics);

/// Chips that this CUPTI knows: "GH100", "GA100", ... Needs no GPU. Throws DeviceError, for example
/// when libnvperf_host.so is missing.
[[nodiscard]] std::vector<std::string> supported_chips(const Cupti& cupti);

/// The metrics that the profiler accepts on `chip`. `availability` is the device's counter image;
/// empty means everything that the chip can do in principle.
[[nodiscard]] std::vector<Metric> accepted_metrics(const Cupti& cupti, const std::string& chip,
                                                   std::span<const Metric> metrics,
                                                   std::span<const std::uint8_t> availability = {});

/// A profiler configuration for one chip: the image and the number of passes.
struct ProfilePlan {
    std::vector<Metric> metrics;
    std::vector<std::uint8_t> image;
    std::size_t passes = 0;
};
[[nodiscard]] ProfilePlan plan_profile(const Cupti& cupti, const std::string& chip,
                                       std::vector<Metric> accepted,
                                       std::span<const std::uint8_t> availability = {});

/// Owns the host profiler object of one chip.
class HostProfiler {
  public:
    HostProfiler(const Cupti& cupti, const std::string& chip,
                 std::span<const std::uint8_t> availability,
                 CUpti_ProfilerType type = CUPTI_PROFILER_TYPE_RANGE_PROFILER);
    HostProfiler(const HostProfiler&) = delete;
    HostProfiler& operator=(const HostProfiler&) = delete;
    ~HostProfiler();

    [[nodiscard]] CUptiResult add(std::span<const Metric> metrics) const;
    [[nodiscard]] std::vector<std::uint8_t> image() const;
    /// Values of the metrics in range `range` of a decoded counter data image.
    [[nodiscard]] std::vector<double> evaluate(std::span<const Metric> metrics,
                                               std::span<const std::uint8_t> data,
                                               std::size_t range) const;

  private:
    const Cupti* cupti_;
    CUpti_Profiler_Host_Object* object_ = nullptr;
};

}  // namespace ridge::measure::cuda
