// GPUs of one kind beside each other: which of a fleet are slow, hot or throttled.
//
//   const std::vector<GpuStanding> standings = compare_siblings(records, validation);
//   standings.front().label      // of the slowest: "GPU-3f2a91c0 on node7"
//   standings.front().faults     // "its kernels bound by DRAM take 6.2 % longer than its siblings'"
//
// Method: a GPU is told from others by the serial that its records carry, together with the host; records
// of older versions have none, and there the folder of the file stands for the GPU. Of every question
// that at least two GPUs of a kind answered, a GPU's time (the median of its own) is divided by the median of the
// others'. The median of these ratios over the questions of one kind of work is the GPU's standing:
// kernels that compute, kernels bound by DRAM, and all others (small kernels, L2), as the prediction
// says. A GPU is slow if such a median is above 1 by more than two suites on one GPU differ; it is hot or
// throttled against the median of its siblings.
//
// Limits: what all GPUs share, all share: a fleet that is slow as a whole shows only in the error of
// the prediction. With two GPUs, the faster one is the reference of the slower one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/judge/validate.h"
#include "measure/record/record.h"

namespace ridge::measure {

enum class WorkKind : std::uint8_t { compute, memory, other };
inline constexpr std::size_t work_kinds = 3;

/// What tells one GPU from another: serial and host, or the folder of its records.
[[nodiscard]] std::string gpu_label(const RecordDevice& device, const Location& location);

/// Times of one kind of work over those of the siblings.
struct Standing {
    std::int64_t questions = 0;
    double ratio = 1.0;  ///< median
};

struct GpuStanding {
    std::string label;
    std::string name;  ///< of the kind: the driver's
    std::int64_t records = 0;
    std::int64_t shared = 0;  ///< questions that a sibling answered as well
    std::array<std::optional<Standing>, work_kinds> work{};
    std::optional<double> predicted{};    ///< median of measured over predicted time
    std::optional<double> temperature{};  ///< after a measurement, median, in degrees Celsius
    std::optional<Frequency> clock{};     ///< of kernels that compute, median
    double throttled = 0.0;               ///< share of its samples
    std::vector<std::string> reasons{};   ///< that limited its clocks, as NVML calls them
    std::vector<std::string> faults{};    ///< sentences; empty if nothing is wrong

    /// The largest of the ratios; 1 without any.
    [[nodiscard]] double worst() const;
};

/// GPUs in the order of `worst`, the slowest first. `validation` is of the same records.
[[nodiscard]] std::vector<GpuStanding> compare_siblings(std::span<const Record> records,
                                                        const Validation& validation);

}  // namespace ridge::measure
