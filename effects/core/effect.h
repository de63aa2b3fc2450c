// An effect: one lesson of GPU performance as data. It holds the sweeps that show it, the axes of
// its figures, the ratio that it is about, and a text whose figures are filled in from the sweeps.
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
// Points are operations in the notation of `ridge predict --op`, so predictions come from the model
// and measurements from records of the same question. If an effect is about memory or occupancy,
// points are values of the model's functions, and a record answers the point's `question`. There
// are no formulas here: equation numbers refer to docs/model.md.
//
// Places in the text (one sentence per line, an empty line between paragraphs):
//   {id@x}        y of series `id` at x, with unit; x is a number, a point's name, first or last
//   {a@x/b@y}     their ratio; `:%` after it gives a percentage
//   {...:measured} the same, measured
//   {if measured} nothing, in a sentence about measured points: it is left out if there are none
//   {fact}        one of `facts`, or gpu, sms, bandwidth, memory, l2, peak_TYPE, ridge_TYPE
//   $knob         the value of a knob
// A sentence with a place that cannot be filled (not modelled, not measured, or predicted from a
// data sheet alone) is left out.
//
// A sentence that compares begins with its relations, which become data of the claim:
//   [useful@1/useful@8 > 1.05] The bandwidth falls from {useful@1} to {useful@8}.
//   | [useful@1/useful@8 ~ 1] The bandwidth stays at {useful@8}.
// It is said only if they hold (`~`: within 5 %; `;` between several). A line that begins with `|`
// is said only if no line of its group was said. An operand is a number, a place, or one of
// `numbers`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "model/machine/machine.h"
#include "plot/chart.h"

namespace ridge::effects {

/// What y is, and where a prediction or a record gets it from.
enum class Quantity {
    time,
    latency,     ///< time over `amount`: of one load among many
    bandwidth,   ///< useful bytes over time
    rate,        ///< FLOP over time
    traffic,     ///< DRAM bytes
    l2_traffic,  ///< bytes between L2 and SMs
    memory,      ///< bytes held in memory
    clock,       ///< of the SMs
    number       ///< a pure number
};

struct Point {
    double x = 0.0;
    std::string name = {};  ///< if x stands for a name
    /// Operations as text, one after another, separated by ';'. `data=zeros` says what fills them.
    std::string work = {};
    std::optional<double> value = {};  ///< in base units, instead of what `work` gives
    std::string question = {};  ///< its text in records, if `work` does not give it: memory, a step
    std::optional<double> measured = {};  ///< the measured value, from the GPU's description
    double amount = 0.0;    ///< useful bytes, FLOP or loads; 0: what the operations count
    bool labelled = false;  ///< its name is written next to it
};

struct Series {
    std::string id = {};  ///< unique in the plan; the text refers to it
    std::string name = {};
    std::vector<Point> points = {};
    std::string detail = {};                ///< second line in the legend
    bool joined = true;                     ///< by a line; points with names are not joined
    std::optional<Quantity> quantity = {};  ///< if it differs from the figure's
};

struct Figure {
    std::string title = {};
    plot::Axis x = {};
    plot::Axis y = {};
    Quantity quantity = Quantity::time;
    double unit = 1.0;  ///< of the y axis, in base units
    std::vector<Series> series = {};
    std::vector<std::pair<std::string, double>> limits = {};  ///< in base units
    bool roofline = false;  ///< x is the intensity of each point, under the GPU's roofs
};

/// Something that the question leaves open: `ridge effect coalescing --stride 5`.
struct Knob {
    std::string_view name;
    std::int64_t least = 1;
    std::int64_t most = 1;
    std::int64_t usual = 1;
    std::string_view help;
};

/// The ratio that the effect is about: one value over another.
struct Ratio {
    std::string what = {};
    std::string above = {};  ///< "strided@1"
    std::string below = {};
    std::string why = {};         ///< why prediction and measurement differ, if they do
    std::string unmeasured = {};  ///< why there is no measurement, if there is none
};

/// A name and its operations.
struct Named {
    std::string name;
    std::string work;
};

struct Plan {
    std::vector<Figure> figures = {};
    /// Operations whose kernels are listed: the tile in the model next to the names of the kernels
    /// that ran.
    std::vector<Named> kernels = {};
    Ratio ratio = {};
    std::string formula = {};  ///< for a reader, one line
    std::map<std::string, std::string> facts = {};
    std::map<std::string, double> numbers = {};  ///< that relations of the text name
    std::string text = {};
    std::string refused = {};  ///< why this GPU cannot show it
};

/// What an effect is evaluated on.
struct Subject {
    const model::Machine& machine;
    const hardware::Description& gpu;
    const model::Catalogue& catalogue;
    std::map<std::string_view, std::int64_t> knobs = {};  ///< those that were set

    [[nodiscard]] std::int64_t at(const Knob& knob) const {
        const auto found = knobs.find(knob.name);
        return found == knobs.end() ? knob.usual : found->second;
    }
};

struct Effect {
    std::string_view name;
    std::string_view title;
    std::string_view question;
    std::string_view equations;  ///< of docs/model.md
    Plan (*plan)(const Subject& subject);
    std::span<const Knob* const> knobs = {};
    bool of_all_chips = false;  ///< the asked GPU does not matter, so titles do not name it

    /// "roofline on NVIDIA H100 SXM5 80GB", with its name or its title in front.
    [[nodiscard]] std::string on(std::string_view what, const std::string& gpu) const {
        return std::string(what) + (of_all_chips ? "" : " on " + gpu);
    }
};

using Work = std::function<std::string(std::int64_t)>;

/// A series over numbers; `amount` gives the useful amount at each, or 0 for what the operations
/// count.
[[nodiscard]] Series sweep(std::string id, std::string name, const std::vector<double>& xs,
                           const Work& work,
                           const std::function<double(std::int64_t)>& amount = {});

/// A series over names, which lie at x = 1, 2, 3 ...; each has its own work.
[[nodiscard]] Series named(std::string id, std::string name, const std::vector<Named>& points);

/// The values and one more, in order, if it is not among them.
[[nodiscard]] std::vector<double> with(std::vector<double> values, std::int64_t further);

/// Values from `first` to `last`, each `factor` times the one before: 1, 2, 4 ...
[[nodiscard]] std::vector<double> doubling(double first, double last, double factor = 2.0);

}  // namespace ridge::effects
