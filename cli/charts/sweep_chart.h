// The chart of a sweep: predicted points by class, and records that lie on the sweep over them.
//
// Classes are the values of the second swept field or, where only one is swept, the alignment of a
// matrix product's rows where it changes the time: the sawtooth of throughput over size takes one
// colour per class.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/charts/record_charts.h"
#include "cli/options/sweep_plan.h"
#include "measure/record/record.h"
#include "plot/sweep.h"
#include "plot/text.h"

namespace ridge::cli {

class SweepChart {
  public:
    SweepChart(const SweepPlan& plan, Ordinate ordinate) : plan_(plan), ordinate_(ordinate) {}

    void add_predicted(const Answer& answer);

    /// Adds a record that answers a point of the sweep within its range: same operation, L2 state
    /// and launch mode, and the implementation that the prediction is of. False when it does not.
    bool add_measured(const measure::Record& record, const model::Machine& machine);

    /// The chart without a title; the object is spent.
    [[nodiscard]] plot::Sweep finish();

  private:
    struct Class {
        plot::Series predicted;
        plot::Series measured;
    };

    [[nodiscard]] std::string class_of(const model::Parameters& parameters,
                                       const model::Prediction& prediction) const;

    const SweepPlan& plan_;
    Ordinate ordinate_;
    std::map<std::string, Class, plot::NaturalOrder> classes_;
    std::optional<model::Implementation> implementation_;
    std::int64_t skipped_ = 0;
    std::optional<FlopRate> peak_;
};

}  // namespace ridge::cli
