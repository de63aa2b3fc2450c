// Charts of records: errors of the predictions, and sweeps.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/gpu_options.h"
#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "plot/scatter.h"
#include "plot/sweep.h"

namespace ridge::cli {

/// Conditions on records such as "op=matmul", "dtype=bf16", "impl=wgmma", "n=@m" (n equal to m).
class RecordFilter {
  public:
    /// InputError when a condition is not field=value or names an unknown field.
    explicit RecordFilter(const std::vector<std::string>& conditions);

    [[nodiscard]] bool accepts(const measure::Record& record) const;
    [[nodiscard]] std::vector<measure::Record> apply(std::vector<measure::Record> records) const;

  private:
    struct Condition {
        model::Field field;
        std::string value;
        std::optional<model::Field> other;
    };
    std::vector<Condition> conditions_;
    std::optional<model::OperationKind> operation_;
};

/// The fields of a record's question.
[[nodiscard]] model::Parameters parameters_of(const measure::Question& question);

/// Predicted over measured time against the measured time, one class per operation and
/// implementation, or per operation if a legend cannot hold those.
[[nodiscard]] plot::Scatter record_scatter(const measure::Validation& validation,
                                           std::span<const measure::Record> records);

/// "not measured (3), unknown GPU (1)": why records have no error, in words.
[[nodiscard]] std::string unused_reasons(const measure::Validation& validation);

/// What a sweep shows over its field.
enum class Ordinate { rate, bandwidth, time };

/// The ordinate that `word` names. If empty: rate for matmul and attention, else bandwidth.
[[nodiscard]] Ordinate ordinate_of(const std::string& word, std::string_view operation);

/// TFLOP/s, GB/s or microseconds, as `ordinate_axis` says; `bandwidth` is the title of that axis.
[[nodiscard]] double ordinate_value(Ordinate ordinate, Flop flop, Bytes moved, Time time);
[[nodiscard]] plot::Axis ordinate_axis(Ordinate ordinate, const std::string& bandwidth);

/// Measured points and predicted lines over the count `x`, one class per operation, type and
/// implementation. A line joins records that differ only in `x`, or in fields that equal it
/// (m = n = k). Empty if no record has the field.
[[nodiscard]] plot::Sweep record_sweep(const measure::Validation& validation,
                                       std::span<const measure::Record> records, model::Field x,
                                       Ordinate ordinate);

}  // namespace ridge::cli
