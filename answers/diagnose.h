// Measured times judged: what is slow, why, and what would help, the most time to win first.
//
//   const Report report = diagnose(rows, machine_of, {"b200"});
//   report.cases[0].row.name, .verdict, .of_roof, .to_win, .why, .advice
//
// Method: each row is predicted for its GPU. `of_roof` is the share of what the hardware allows: the
// time of the algorithmic work at peak, or of the compulsory bytes at the bandwidth of the level
// that must serve them (R7), over the measured time. A row is slow if it took longer than the upper
// end of its 80 % band by `slow_factor`; then `to_win` is the time beyond the expected, times the
// calls. It is impossible if it took less than `impossible_factor` of the roof's time. Why: other
// ways to carry out the operation (another implementation, data in DRAM, launches in a stream) are
// predicted, and one that explains the time is named.
// Thresholds: docs/diagnose.md compares them with records of library kernels.
// Limits: rows are judged alone; what ridge cannot predict is listed, not judged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "answers/times_table.h"
#include "model/machine/machine.h"
#include "model/predict.h"

namespace ridge::answers {

enum class Verdict : std::uint8_t {
    slow,
    as_expected,  ///< within the band, or not far above it
    fast,         ///< below the band, but possible
    impossible,   ///< faster than the hardware: the row says something that did not run
    unknown       ///< not modelled
};

/// A time beyond the band by less than this factor is not called slow.
inline constexpr double slow_factor = 1.15;
/// A time below the roof's by less than this factor is not called impossible.
inline constexpr double impossible_factor = 0.97;

/// The same call on another GPU.
struct Elsewhere {
    std::string gpu;
    std::optional<Time> expected{};  ///< empty: not modelled
    Time low{};
    Time high{};
    model::Grade evidence = model::Grade::datasheet;  ///< the weakest of its operations
};

struct Case {
    TimedOperation row{};
    std::string gpu{};  ///< the catalogue's name
    Verdict verdict = Verdict::unknown;
    std::optional<Time> expected{};
    Time low{};
    Time high{};
    model::Grade evidence = model::Grade::datasheet;  ///< the weakest of its operations
    Time roof{};                                      ///< no run is faster
    std::string roof_name{};  ///< "DRAM", "L2", "tensor cores", "vector pipes", "link"
    std::string limiter{};    ///< what the prediction is limited by
    double of_roof = 0.0;     ///< roof / measured
    Time to_win{};            ///< of all calls
    std::vector<Elsewhere> elsewhere{};
    std::string why{};     ///< one sentence
    std::string advice{};  ///< one sentence; may be empty

    [[nodiscard]] Time total() const { return static_cast<double>(row.count) * row.measured; }
};

struct Report {
    std::vector<Case> cases{};  ///< by time to win, then by time; impossible ones first
    Time measured{};            ///< of all calls that are modelled
    Time to_win{};
    std::int64_t unknown = 0;
    std::vector<std::string> others{};  ///< the GPUs of `Case::elsewhere`
};

/// InputError if the GPU is unknown.
using MachineOf = std::function<const model::Machine&(std::string_view)>;

[[nodiscard]] Report diagnose(std::span<const TimedOperation> rows, const MachineOf& machine_of,
                              const std::vector<std::string>& others = {});

/// "2 of 9 rows are slow and could win 1.2 ms of 8.4 ms (14 %), most of all in qkv."
[[nodiscard]] std::string verdict_of(const Report& report);

[[nodiscard]] std::string_view name_of(Verdict verdict);

}  // namespace ridge::answers
