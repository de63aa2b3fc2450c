// An effect: one lesson of GPU performance as data. Which sweeps show it, what stands on the axes,
// which ratio it is about, and a text whose figures are filled in from the sweeps.
//
//   Plan plan;
//   plan.figures.push_back(
//       {.title = "Useful bandwidth", .x = {.title = "stride", .unit = "words"},
//        .y = {.title = "Bandwidth", .unit = "GB/s"}, .quantity = Quantity::bandwidth, .unit = 1e9,
//        .series = {sweep("strided", "strided", {1, 2, 4, 8}, [](std::int64_t stride) {
//            return fmt::format("access pattern=strided elements=32Mi stride={} l2=cold", stride);
//        })}});
//   plan.ratio = {.what = "bandwidth at stride 1 over stride 8", .above = "strided@1",
//                 .below = "strided@8"};
//   plan.text = "Every eighth word leaves {strided@8/strided@1:%} of the bandwidth.";
//
// Points are operations in the words of `ridge predict --op`, so that predictions come from the model
// and measurements from records of the same question; where an effect is about memory or occupancy
// they are values of the model's functions, and a record answers the point's `question`. No formula
// stands here: equation numbers are those of docs/model.md.
//
// Places in the text, one sentence a line, paragraphs apart by an empty line:
//   {id@x}        y of series `id` at x, with its unit; x is a number, a point's name, first or last
//   {a@x/b@y}     their ratio; `:%` behind it gives a percentage
//   {...:measured} the same, measured
//   {fact}        one of `facts`, or gpu, sms, peak, bandwidth, l2 of the GPU
// A sentence with a place that cannot be filled (not modelled, not measured) is left out.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/catalogue.h"
#include "model/machine/machine.h"
#include "plot/chart.h"

namespace ridge::effects {

/// What y is, and where a prediction or a record has it.
enum class Quantity {
    time,
    latency,     ///< time over `amount`: of one load among many
    bandwidth,   ///< bytes of use over time
    rate,        ///< FLOP over time
    traffic,     ///< bytes of DRAM
    l2_traffic,  ///< bytes between L2 and the multiprocessors
    memory,      ///< bytes that are held
    clock,       ///< of the multiprocessors
    number       ///< a pure number
};

struct Point {
    double x = 0.0;
    std::string name = {};  ///< where x stands for a name
    /// Operations in words, one after the other, apart by ';'. `data=zeros` says what fills them.
    std::string work = {};
    std::optional<double> value = {};  ///< in base units, in place of what `work` gives
    std::string question = {};  ///< what records call it, where `work` does not say: memory, a step
    std::optional<double> measured = {};  ///< the same, seen on the GPU (from its description)
    double amount = 0.0;    ///< bytes, FLOP or loads of use; 0: what the operations count
    bool labelled = false;  ///< its name is written beside it
};

struct Series {
    std::string id = {};  ///< of one plan; the text names it
    std::string name = {};
    std::vector<Point> points = {};
    std::string detail = {};                ///< second line in the legend
    bool joined = true;                     ///< points of a sweep; names are not joined
    std::optional<Quantity> quantity = {};  ///< where it is not the figure's
};

struct Figure {
    std::string title = {};
    plot::Axis x = {};
    plot::Axis y = {};
    Quantity quantity = Quantity::time;
    double unit = 1.0;  ///< of the y axis in base units
    std::vector<Series> series = {};
    std::vector<std::pair<std::string, double>> limits = {};  ///< in base units
    bool roofline = false;  ///< x is the intensity of each point, under the GPU's roofs
};

/// What the effect is about: one figure over another.
struct Ratio {
    std::string what = {};
    std::string above = {};  ///< "strided@1"
    std::string below = {};
    std::string why = {};         ///< why predicted and measured differ, where they do
    std::string unmeasured = {};  ///< why there is nothing to measure, where there is not
};

/// A name and the operations behind it.
struct Named {
    std::string name;
    std::string work;
};

struct Plan {
    std::vector<Figure> figures = {};
    /// Operations whose kernels are listed: the tile that the model takes beside what ran, by name.
    std::vector<Named> kernels = {};
    Ratio ratio = {};
    std::string formula = {};  ///< for a reader, one line
    std::map<std::string, std::string> facts = {};
    std::string text = {};
    std::string refused = {};  ///< why this GPU cannot show it
};

/// What an effect is asked of.
struct Subject {
    const model::Machine& machine;
    const hardware::Description& gpu;
    const hardware::Catalogue& catalogue;
};

struct Effect {
    std::string_view name;
    std::string_view title;
    std::string_view question;
    std::string_view equations;  ///< of docs/model.md
    Plan (*plan)(const Subject& subject);
};

using Work = std::function<std::string(std::int64_t)>;

/// A series over numbers; `amount` is what is of use at each, 0 for what the operations count.
[[nodiscard]] Series sweep(std::string id, std::string name, const std::vector<double>& xs,
                           const Work& work,
                           const std::function<double(std::int64_t)>& amount = {});

/// A series over names, which stand at 1, 2, 3 ...; each has its work.
[[nodiscard]] Series named(std::string id, std::string name, const std::vector<Named>& points);

/// 1, 2, 4 ... from `first` to `last`.
[[nodiscard]] std::vector<double> doubling(double first, double last, double factor = 2.0);

}  // namespace ridge::effects
