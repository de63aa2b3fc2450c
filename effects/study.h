// An effect evaluated on one GPU: every point predicted, measured where there is a measurement, the
// ratio it is about, and its text with all figures filled in.
//
//   const Study study = evaluate(*find_effect("coalescing"), {machine, gpu, catalogue},
//                                Measured::of("h200-sxm"));
//   study.paragraphs, study.verdict, charts_of(study)
//
// Method: a point's operations are predicted one by one and added up; a point is measured where each
// of its operations is, by the same question (measure/record/question.h). `questions` lists what a
// device can be asked for.
// Limits: operations follow each other without overlap; a sum's band takes their errors as alike.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "effects/core/effect.h"
#include "effects/measured.h"
#include "measure/record/question.h"

namespace ridge::effects {

/// y of a point, in base units.
struct Value {
    double x = 0.0;
    std::string name = {};
    bool labelled = false;
    std::optional<double> predicted = {};
    std::optional<double> low = {};  ///< of the band, where it is a time
    std::optional<double> high = {};
    std::optional<double> measured = {};
    std::string refused = {};  ///< why it is not predicted
    std::vector<plot::Term> terms = {};
};

struct StudiedSeries {
    std::string id = {};
    std::string name = {};
    std::string detail = {};
    bool joined = true;
    Quantity quantity = Quantity::time;
    std::vector<Value> values = {};
};

struct StudiedFigure {
    Figure figure = {};  ///< without its series
    std::vector<StudiedSeries> series = {};
};

/// The kernels of one operation.
struct KernelRow {
    std::string name = {};
    std::string operation = {};
    std::string predicted = {};  ///< tile and blocks that the model takes
    std::string measured = {};   ///< names of what ran, empty where nothing was seen
};

struct Study {
    const Effect* effect = nullptr;
    std::string gpu = {};  ///< its title
    std::string gpu_name = {};
    std::vector<StudiedFigure> figures = {};
    std::vector<KernelRow> kernels = {};
    Ratio ratio = {};
    std::optional<double> predicted_ratio = {};
    std::optional<double> measured_ratio = {};
    std::string formula = {};
    std::vector<std::string> paragraphs = {};
    std::string verdict = {};
    std::string refused = {};                ///< why this GPU cannot show it, empty where it can
    std::vector<std::string> unfilled = {};  ///< places of the text without a figure
};

/// How far apart two ratios are: the larger over the smaller, less 1.
[[nodiscard]] double apart(double one, double other);
/// Whether both say that the one is more, less, or (within 5 %) as much.
[[nodiscard]] bool same_direction(double one, double other);
inline constexpr double close_enough = 0.2;

[[nodiscard]] Study evaluate(const Effect& effect, const Subject& subject,
                             const Measured& measured);

/// Every question of the effect's points that is modelled and that a run could answer, each once,
/// implementations resolved.
[[nodiscard]] std::vector<measure::Question> questions(const Effect& effect,
                                                       const Subject& subject);

/// What the effect asks that is no operation, in words: memory, a whole step.
[[nodiscard]] std::vector<std::string> further_questions(const Effect& effect,
                                                         const Subject& subject);

/// All effects, in the order in which they are read.
[[nodiscard]] std::span<const Effect> effects();
/// InputError with the nearest name.
[[nodiscard]] const Effect& find_effect(std::string_view name);

/// y as a reader writes it, with its unit.
[[nodiscard]] std::string text_of(Quantity quantity, double value);

}  // namespace ridge::effects
