// Operations, predicted and measured, as rooflines of one GPU.
//
//   RooflineCharts charts(machine, description, Levels::dram);
//   charts.add(answer);                  // a prediction
//   charts.add(comparison, record);      // a measurement beside its prediction
//   write_chart_output(context, output, charts.finish(type));
//
// A prediction is drawn at its predicted bytes, a measurement at its counted bytes or, without
// usable counters, at the predicted ones. Data that a warm L2 serves has almost no DRAM traffic;
// prediction and measurement are then drawn at the algorithmic intensity, in the colour of L2 and
// marked "(from L2)"; with all levels, at the bytes of L2. If there are more points than one
// picture holds, each operation gets a chart, and each type of a very large one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/views/prediction.h"
#include "hardware/description.h"
#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "plot/roofline.h"

namespace ridge::cli {

/// The roofs of these types, and no points; `main` decides which compute roof is emphasised.
[[nodiscard]] plot::Roofline roofs_alone(const model::Machine& machine,
                                         const hardware::Description& gpu,
                                         const std::set<model::DataType>& types,
                                         model::DataType main);

/// Memory levels of a hierarchical roofline.
enum class Levels { dram, all };

class RooflineCharts {
  public:
    RooflineCharts(const model::Machine& machine, const hardware::Description& gpu, Levels levels)
        : machine_(machine), gpu_(gpu), levels_(levels) {}

    /// Adds a prediction under its user's name, or else its own. An operation without an answer or
    /// without arithmetic becomes a note.
    void add(const Answer& answer, const std::string& called = {});
    void add(const measure::Comparison& comparison, const measure::Record& record);

    /// Adds an operator of a recorded program: the measurement beside the prediction, for one call.
    /// The marks have the given radius.
    void add(const std::string& name, const model::Operation& operation,
             const model::Prediction& prediction, Time measured, double radius);

    /// A kernel of a recorded program at the DRAM bytes and the FLOP that the hardware counted.
    struct CountedKernel {
        std::string name;
        Flop flop;
        bool tensor = false;
        Bytes dram;
        Time measured;  ///< of one launch
        std::optional<Time> predicted = {};
        model::Grade evidence = model::Grade::datasheet;  ///< of the predicted time
        double radius = 0.0;
    };
    void add(const CountedKernel& kernel);

    /// Adds a measurement without a prediction, at its algorithmic intensity.
    void add(const std::string& name, const measure::Record& record, const model::Work& work);

    void note(std::string text) { notes_.push_back(std::move(text)); }

    /// Charts with the roofs of every type that has a point, or of `type` if there are no points.
    [[nodiscard]] std::vector<plot::Chart> finish(model::DataType type) const;

    /// Everything as one roofline, however large, for its values (`chart_rows.h`).
    [[nodiscard]] plot::Roofline whole(model::DataType type) const;

  private:
    /// The points of one operation.
    struct Standing {
        std::string operation;
        model::DataType type;
        bool tensor = false;  ///< whether tensor cores do its work
        bool counted = false;
        bool from_l2 = false;
        bool measured = false;
        bool recorded = false;  ///< in a program's trace, without counters
        std::vector<plot::OperationPoint> points = {};
    };
    using Group = std::vector<const Standing*>;

    /// The measurements of one operation.
    struct Measured {
        Time time;
        std::optional<Bytes> dram{};
        std::optional<Bytes> l2{};
        std::optional<Bytes> shared{};
        std::optional<double> radius{};
    };

    void add(const std::string& name, const model::Operation& operation,
             const std::string& question, const model::Prediction& prediction,
             const std::optional<Measured>& measured);
    [[nodiscard]] static std::vector<plot::Term> terms_beside(
        const model::Prediction& prediction, const std::string& question,
        const std::optional<Measured>& measured);
    [[nodiscard]] std::vector<Group> groups() const;
    [[nodiscard]] plot::Roofline chart_of(const Group& group, model::DataType otherwise) const;
    [[nodiscard]] std::vector<std::string> closing_notes() const;

    const model::Machine& machine_;
    const hardware::Description& gpu_;
    Levels levels_;
    std::vector<Standing> standings_;
    std::vector<std::string> notes_;
    std::map<std::string, std::size_t> skipped_;  ///< operations without arithmetic
};

}  // namespace ridge::cli
