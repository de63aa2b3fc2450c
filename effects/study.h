// An effect evaluated on one GPU: each point predicted and, if a measurement exists, measured; its
// ratio; and its text with all figures filled in.
//
//   const Study study = evaluate(*find_effect("coalescing"), {machine, gpu, catalogue},
//                                Measured::of("h200-sxm"));
//   study.paragraphs, study.verdict, charts_of(study)
//
// Method: the operations of a point are predicted one by one and added up. A point counts as
// measured if each of its operations was measured under the same question
// (measure/record/question.h). `questions` lists what can be measured on a device.
// Limits: operations follow each other without overlap; the band of a sum assumes that the errors
// of all operations have the same sign.
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
    std::optional<double> low = {};  ///< of the band, if the quantity has one
    std::optional<double> high = {};
    std::optional<double> measured = {};
    std::string refused = {};                   ///< why it is not predicted
    std::optional<model::Grade> evidence = {};  ///< the weakest of its operations, if it has any
    bool computed = false;                      ///< by a formula from facts of the data sheet
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
    std::string predicted = {};  ///< tile and blocks that the model assumes
    std::string measured = {};   ///< names of the kernels that ran; empty if none were recorded
};

/// A relation among two figures, with their texts: "useful@1/useful@8 > 1.05".
struct Relation {
    std::string left = {};
    double a = 0.0;
    char relation = '>';  ///< '>', '<' or '~' (within 5 %)
    std::string right = {};
    double b = 0.0;

    [[nodiscard]] bool holds() const;
};

/// A sentence and the relations that it rests on.
struct Claim {
    std::string text = {};
    std::vector<Relation> relations = {};
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
    std::vector<std::vector<Claim>> claims = {};  ///< by paragraph; the first is the answer
    std::vector<std::string> paragraphs = {};     ///< the same as text
    std::string verdict = {};
    std::optional<model::Grade> evidence = {};  ///< the weakest of its points
    std::string refused = {};                   ///< why this GPU cannot show it; empty if it can
    std::vector<std::string> unfilled = {};     ///< places of the text that could not be filled
};

/// How far apart two ratios are: the larger divided by the smaller, minus 1.
[[nodiscard]] double apart(double one, double other);
/// The same as text: "less than 1 %", "12 %".
[[nodiscard]] std::string distance_text(double one, double other);
/// Whether both ratios agree that the first value is larger, smaller, or (within 5 %) equal.
[[nodiscard]] bool same_direction(double one, double other);
inline constexpr double close_enough = 0.2;

[[nodiscard]] Study evaluate(const Effect& effect, const Subject& subject,
                             const Measured& measured);

/// Every question of the effect's points that is modelled and that a run could answer, each listed
/// once, with implementations resolved.
[[nodiscard]] std::vector<measure::Question> questions(const Effect& effect,
                                                       const Subject& subject);

/// Questions of the effect that are not operations, as text: memory, a whole step.
[[nodiscard]] std::vector<std::string> further_questions(const Effect& effect,
                                                         const Subject& subject);

/// All effects, in reading order.
[[nodiscard]] std::span<const Effect> effects();
/// Throws InputError with the nearest name.
[[nodiscard]] const Effect& find_effect(std::string_view name);

/// A value as text for a reader, with its unit.
[[nodiscard]] std::string text_of(Quantity quantity, double value);

}  // namespace ridge::effects
