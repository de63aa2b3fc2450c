// The chart of a sweep: predicted points by class, and records on the sweep drawn over them.
//
// Classes are the GPUs, the listed words and the values of the other swept fields. If only one
// field varies and the alignment of a matrix product's rows changes the time, classes are the
// alignments: the sawtooth of throughput over size then has one colour per class.
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
    /// `gpus` is the number of GPUs; if there are several, the classes name them.
    SweepChart(const SweepPlan& plan, Ordinate ordinate, std::size_t gpus = 1)
        : plan_(plan), ordinate_(ordinate), several_gpus_(gpus > 1) {}

    void add_predicted(const Answer& answer);

    /// Adds a record that answers a point of the sweep within its range: same operation, L2 state,
    /// launch mode and implementation as the prediction. Returns false if it does not.
    bool add_measured(const measure::Record& record, const model::Machine& machine);

    /// Returns the chart without a title. The object must not be used afterwards.
    [[nodiscard]] plot::Sweep finish();

  private:
    struct Class {
        plot::Series predicted;
        plot::Series measured;
        model::Grade weakest = model::Grade::measured;  ///< of the predicted points
        model::Grade strongest = model::Grade::datasheet;
    };
    /// "evidence: distant to measured"
    [[nodiscard]] static std::string evidence_of(const Class& of);

    [[nodiscard]] std::string class_of(const model::Machine& machine,
                                       const model::Parameters& parameters,
                                       const model::Prediction& prediction) const;
    /// Whether only the abscissa varies.
    [[nodiscard]] bool one_line() const;

    const SweepPlan& plan_;
    Ordinate ordinate_;
    bool several_gpus_;
    std::map<std::string, Class, plot::NaturalOrder> classes_;
    std::optional<model::Implementation> implementation_;
    std::int64_t skipped_ = 0;
    std::map<std::string, FlopRate> peaks_;  ///< by GPU and type
};

}  // namespace ridge::cli
