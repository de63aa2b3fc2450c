#include "measure/fit/fit_attention.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "model/attention_work.h"
#include "model/predict.h"

namespace ridge::measure {
namespace {

using model::FlashField;
using model::FlashParameters;
using model::Implementation;

constexpr double softening = 0.03;
constexpr int folds = 5;

std::vector<FlashField> free_fields(Implementation implementation) {
    const auto names = free_attention_fields(implementation);
    std::vector<FlashField> fields;
    for (const FlashField& field : model::flash_fields()) {
        if (std::find(names.begin(), names.end(), field.name) != names.end()) {
            fields.push_back(field);
        }
    }
    return fields;
}

/// A row with what does not change during a fit.
struct Sample {
    const model::Machine* machine;
    const AttentionRow* row;
    model::AttentionWork counted;
    double log_measured;
};

std::vector<Sample> samples_of(std::span<const MeasuredMachine> measured,
                               Implementation implementation, int left_out) {
    std::vector<Sample> samples;
    for (const MeasuredMachine& each : measured) {
        for (const AttentionRow& row : each.rows) {
            const bool short_prefill = row.op.seq_q > 1 && row.measured < 14.0 * units::us;
            if (row.fold == left_out || short_prefill) continue;
            samples.push_back({.machine = &each.machine,
                               .row = &row,
                               .counted = model::count_attention(
                                   row.op, implementation, model::attention_context(each.machine)),
                               .log_measured = std::log(row.measured.base())});
        }
    }
    return samples;
}

Eigen::VectorXd errors_of(const std::vector<Sample>& samples, Implementation implementation,
                          const FlashParameters& fitted) {
    Eigen::VectorXd errors(static_cast<Eigen::Index>(samples.size()));
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const Sample& sample = samples[i];
        const Time time =
            model::attention_time(sample.row->op, sample.counted, implementation, fitted,
                                  sample.row->execution, *sample.machine)
                .total;
        errors[static_cast<Eigen::Index>(i)] = std::log(time.base()) - sample.log_measured;
    }
    return errors;
}

double cost_of(const Eigen::VectorXd& errors) {
    return (errors.array().square() + softening * softening).sqrt().mean();
}

FlashParameters moved(FlashParameters parameters, const std::vector<FlashField>& fields,
                      const Eigen::VectorXd& step) {
    for (std::size_t j = 0; j < fields.size(); ++j) {
        const double by = std::clamp(step[static_cast<Eigen::Index>(j)], -0.4, 0.4);
        fields[j].write(parameters, fields[j].read(parameters) * std::exp(by));
    }
    return parameters;
}

/// One damped step; false when no damping helps.
class Descent {
  public:
    Descent(const std::vector<Sample>& samples, Implementation implementation,
            FlashParameters start)
        : samples_(samples),
          implementation_(implementation),
          fields_(free_fields(implementation)),
          best_(start),
          errors_(errors_of(samples, implementation, start)) {}

    [[nodiscard]] const FlashParameters& best() const { return best_; }

    bool step() {
        const Eigen::MatrixXd slopes = numerical_slopes();
        const Eigen::ArrayXd weights =
            (errors_.array().square() + softening * softening).sqrt().inverse();
        const Eigen::MatrixXd weighted = slopes.array().colwise() * weights;
        const Eigen::MatrixXd normal = slopes.transpose() * weighted;
        const Eigen::VectorXd target = -weighted.transpose() * errors_;
        const double before = cost_of(errors_);
        const double floor = 1e-3 * static_cast<double>(samples_.size());
        for (int attempt = 0; attempt < 6; ++attempt) {
            Eigen::MatrixXd damped = normal;
            damped.diagonal().array() += damping_ * (normal.diagonal().array() + floor);
            const FlashParameters trial = moved(best_, fields_, damped.ldlt().solve(target));
            Eigen::VectorXd errors = errors_of(samples_, implementation_, trial);
            if (const double after = cost_of(errors); after < before) {
                best_ = trial;
                errors_ = std::move(errors);
                damping_ = std::max(1e-5, damping_ / 4.0);
                return before - after > 1e-6;
            }
            damping_ *= 5.0;
        }
        return false;
    }

  private:
    [[nodiscard]] Eigen::MatrixXd numerical_slopes() const {
        constexpr double by = 0.01;
        const auto count = static_cast<Eigen::Index>(fields_.size());
        Eigen::MatrixXd slopes(errors_.size(), count);
        for (Eigen::Index j = 0; j < count; ++j) {
            const FlashParameters trial =
                moved(best_, fields_, by * Eigen::VectorXd::Unit(count, j));
            slopes.col(j) = (errors_of(samples_, implementation_, trial) - errors_) / by;
        }
        return slopes;
    }

    const std::vector<Sample>& samples_;
    Implementation implementation_;
    std::vector<FlashField> fields_;
    FlashParameters best_;
    Eigen::VectorXd errors_;
    double damping_ = 1e-2;
};

}  // namespace

std::span<const std::string_view> free_attention_fields(Implementation implementation) {
    static constexpr std::array<std::string_view, 19> flash3{
        "start",       "softmax_fraction", "tile",           "decode_tile", "tile_rows",
        "bulk_rows",   "tile_columns",     "decode_columns", "split_tile",  "load",
        "l2_fraction", "dram_fraction",    "dram_start",     "droop",       "cache_write",
        "scan",        "combine",          "combine_split",  "combine_block"};
    static constexpr std::array<std::string_view, 16> flash2{
        "start",         "page_block", "lone_block_factor", "tile",  "decode_tile", "tile_rows",
        "l2_fraction",   "dram_fraction", "dram_start",     "droop", "cache_write", "fold",
        "copy",          "copy_fraction", "combine",        "combine_split"};
    if (implementation == Implementation::flash3) return flash3;
    return flash2;
}

model::AttentionTime fitted_time(const model::Machine& machine, const FlashParameters& fitted,
                                 const AttentionRow& row) {
    const Implementation implementation = row.execution.implementation;
    const model::AttentionWork counted =
        model::count_attention(row.op, implementation, model::attention_context(machine));
    return model::attention_time(row.op, counted, implementation, fitted, row.execution, machine);
}

FlashParameters fit_attention(std::span<const MeasuredMachine> measured,
                              Implementation implementation, FlashParameters start,
                              int left_out) {
    const std::vector<Sample> samples = samples_of(measured, implementation, left_out);
    // Damping that has grown too far ends a descent early; a fresh one goes on from its end.
    constexpr int restarts = 4;
    constexpr int most_steps = 40;
    for (int round = 0; round < restarts; ++round) {
        Descent descent(samples, implementation, start);
        for (int i = 0; i < most_steps && descent.step();) ++i;
        start = descent.best();
    }
    return start;
}

}  // namespace ridge::measure
