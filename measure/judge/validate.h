// Compares predictions with records and shows where the errors come from.
//
//   const Validation v = validate(records, catalogue, model::View::calibrated);
//   v.groups[0].errors.median   // of one operation and implementation
//
// The error of a record is predicted over measured time, minus 1. When the record has counters, the
// error is split into two factors: the work factor (the predicted traffic or work of the limiter
// over what the hardware counted) and the rate factor (the rest: how well the rate was predicted);
// (1 + error) = work x rate. DRAM counters of older records, taken under kernel replay, include up
// to 24 MB of write-backs of other data; DRAM traffic is therefore compared only for operations
// that move at least ten times as much per kernel. FLOP are compared as executed (whole tiles) and
// only for matrix products and attention: elsewhere a function in an expression expands into
// several instructions, and a count of operations does not say how many.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/record/record.h"
#include "measure/statistics/error_summary.h"
#include "model/catalogue/catalogue.h"
#include "model/core/prediction.h"

namespace ridge::measure {

/// One record and its prediction.
struct Comparison {
    std::size_t record = 0;  ///< position in the records
    std::string device;      ///< the catalogue's name of the record's GPU
    model::Prediction prediction;
    double error = 0.0;            ///< predicted / measured time - 1
    bool in_band = false;          ///< measured time within the prediction's 80 % band
    std::optional<double> dram{};  ///< predicted / counted DRAM bytes
    std::optional<double> l2{};    ///< predicted / counted bytes between L2 and multiprocessors
    std::optional<double>
        flop{};  ///< predicted / counted FLOP of the pipe that does most of the work
    std::optional<double> work{};  ///< `dram` or `flop`, whichever is the limiter
    std::optional<double> rate{};  ///< (1 + error) / work
};

/// Errors over a set of comparisons, as fractions.
struct GroupSummary {
    std::string operation;  ///< empty for all operations together
    std::string implementation;
    ErrorSummary errors;           ///< of the times
    std::int64_t counted = 0;      ///< comparisons with counters
    std::optional<double> dram{};  ///< median of the ratio
    std::optional<double> l2{};
    std::optional<double> flop{};
    std::optional<double> rate{};
    std::optional<double> dram_error{};  ///< mean of |ratio - 1|
    std::optional<double> l2_error{};
    std::vector<std::size_t>
        worst{};  ///< comparisons with the largest absolute errors, worst first
};

/// A record that was not compared, and why.
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

/// Predicts each measured record on its own GPU, which the catalogue finds by the driver's name.
[[nodiscard]] Validation validate(std::span<const Record> records,
                                  const model::Catalogue& catalogue, model::View view);

/// The groups whose median absolute error is above `bound` (a fraction).
[[nodiscard]] std::vector<const GroupSummary*> exceeding(const Validation& validation,
                                                         double bound);

}  // namespace ridge::measure
