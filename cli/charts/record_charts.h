// Records on charts: predicted against measured, sweeps, points of a roofline.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/gpu_options.h"
#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/sweep.h"

namespace ridge::cli {

/// Conditions on records such as "dtype=bf16", "impl=wgmma", "n=@m" (n equal to m).
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
};

/// The fields of a record's question.
[[nodiscard]] model::Parameters parameters_of(const measure::Question& question);

/// Predicted (x) against measured (y) time, one class per operation and implementation, or per
/// operation where those are more than a legend holds.
[[nodiscard]] plot::Scatter record_scatter(const measure::Validation& validation,
                                           std::span<const measure::Record> records);

/// What a sweep shows over its field.
enum class Ordinate { rate, bandwidth, time };

/// The one that `word` names; where it is empty, the rate of matmul and attention and the bandwidth
/// of other operations.
[[nodiscard]] Ordinate ordinate_of(const std::string& word, std::string_view operation);

/// TFLOP/s, GB/s or microseconds, as `ordinate_axis` says; `bandwidth` is the title of that axis.
[[nodiscard]] double ordinate_value(Ordinate ordinate, Flop flop, Bytes moved, Time time);
[[nodiscard]] plot::Axis ordinate_axis(Ordinate ordinate, const std::string& bandwidth);

/// Measured points and predicted lines over the count `x`, one class per operation, type and
/// implementation. InputError when no record has the field.
[[nodiscard]] plot::Sweep record_sweep(const measure::Validation& validation,
                                       std::span<const measure::Record> records, model::Field x,
                                       Ordinate ordinate);

/// Memory levels of a hierarchical roofline.
enum class Levels { dram, all };

/// Adds a measured and a predicted point per comparison, which the chart joins: at the DRAM
/// intensity and, with `all` and counters, at those of L2 and shared memory. Measured intensities
/// come from counters where there are any.
void add_record_points(plot::Roofline& chart, const measure::Validation& validation,
                       std::span<const measure::Record> records, Levels levels);

/// Adds the measured ceilings of a description as roofs.
void add_measured_roofs(plot::Roofline& chart, const hardware::Description& gpu,
                        model::DataType type);

}  // namespace ridge::cli
