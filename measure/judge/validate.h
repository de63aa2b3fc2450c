// How far predictions are from records, and why.
//
//   const Validation v = validate(records, catalogue, hardware::View::calibrated);
//   v.groups[0].errors.median   // of one operation and implementation
//
// The error of a record is predicted over measured time, minus 1. It is split in two factors where
// the record has counters: the work factor (what the limiter was said to move or compute, over what
// the hardware counted) and the rate factor (the rest: how well the rate was predicted);
// (1 + error) = work x rate. DRAM counters carry up to 24 MB of foreign write-backs under kernel
// replay, which also finds the L2 warm, so only operations that move at least ten times as much
// are compared. FLOP are compared as executed (whole tiles) and only for matrix products and
// attention: elsewhere an expression's function expands into instructions that a count of
// operations does not define.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware/catalogue.h"
#include "measure/record/record.h"
#include "measure/statistics/error_summary.h"
#include "model/core/prediction.h"

namespace ridge::measure {

/// One record beside its prediction.
struct Comparison {
    std::size_t record = 0;  ///< position in the records
    std::string device;      ///< the catalogue's name of the record's GPU
    model::Prediction prediction;
    double error = 0.0;            ///< predicted / measured time - 1
    bool in_band = false;          ///< measured time within the prediction's 80 % band
    std::optional<double> dram{};  ///< predicted / counted DRAM bytes
    std::optional<double> l2{};    ///< predicted / counted bytes between L2 and multiprocessors
    std::optional<double> flop{};  ///< predicted / counted FLOP of the pipe that does the work
    std::optional<double> work{};  ///< of the limiter: `dram` or `flop`
    std::optional<double> rate{};  ///< (1 + error) / work
};

/// Errors over a set of comparisons, as fractions.
struct GroupSummary {
    std::string operation;  ///< empty for all together
    std::string implementation;
    ErrorSummary errors;           ///< of the times
    std::int64_t counted = 0;      ///< comparisons with counters
    std::optional<double> dram{};  ///< medians of the ratios
    std::optional<double> l2{};
    std::optional<double> flop{};
    std::optional<double> rate{};
    std::optional<double> dram_error{};  ///< means of |ratio - 1|
    std::optional<double> l2_error{};
    std::vector<std::size_t>
        worst{};  ///< comparisons with the largest absolute errors, worst first
};

/// A record that has no error, and why.
struct Unused {
    std::size_t record = 0;
    std::string reason;
};

struct Validation {
    std::vector<Comparison> comparisons;
    std::vector<GroupSummary> groups;       ///< by operation and implementation
    std::optional<GroupSummary> overall{};  ///< empty without comparisons
    std::vector<Unused> unused;
};

/// Predicts each measured record on its own GPU, found in the catalogue by the driver's name.
[[nodiscard]] Validation validate(std::span<const Record> records,
                                  const hardware::Catalogue& catalogue, hardware::View view);

/// The groups whose median absolute error exceeds `bound` (a fraction).
[[nodiscard]] std::vector<const GroupSummary*> exceeding(const Validation& validation,
                                                         double bound);

}  // namespace ridge::measure
