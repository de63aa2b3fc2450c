// Operations, predicted and measured, as rooflines of one GPU.
//
//   RooflineCharts charts(machine, description, Levels::dram);
//   charts.add(answer);                  // a prediction
//   charts.add(comparison, record);      // a measurement beside its prediction
//   write_chart_output(context, output, charts.finish(type));
//
// Like stands beside like: a prediction at its predicted bytes, a measurement at its counted ones,
// or at the predicted ones where there are no counters to compare. What a warm L2 serves has next to
// no DRAM traffic; both then stand at the algorithmic intensity, in the colour of L2 and marked
// "(from L2)"; with all levels, at the bytes of L2. With more points than one picture holds there is
// a chart for each operation, and for each type of an operation with very many.
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

    /// An operation without an answer or without arithmetic becomes a note.
    void add(const Answer& answer);
    void add(const measure::Comparison& comparison, const measure::Record& record);

    /// An operator of a recorded program: what was measured beside its prediction, of one call. The
    /// marks have the radius.
    void add(const std::string& name, const model::Operation& operation,
             const model::Prediction& prediction, Time measured, double radius);

    /// A kernel of a recorded program at the bytes of DRAM and the FLOP that the hardware counted.
    struct CountedKernel {
        std::string name;
        Flop flop;
        bool tensor = false;
        Bytes dram;
        Time measured;  ///< of one launch
        std::optional<Time> predicted = {};
        double radius = 0.0;
    };
    void add(const CountedKernel& kernel);

    /// A measurement without a prediction, at its algorithmic intensity.
    void add(const std::string& name, const measure::Record& record, const model::Work& work);

    void note(std::string text) { notes_.push_back(std::move(text)); }

    /// Charts with the roofs of every type that has a point, and of `type` where there is no point.
    [[nodiscard]] std::vector<plot::Chart> finish(model::DataType type) const;

    /// All of it as one, whether or not a picture holds it: for its values (`chart_rows.h`).
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

    /// What is known of one operation beside its prediction.
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
