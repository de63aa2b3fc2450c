// The points of a sweep: fields that are ranges, fields that follow them, words that are lists, and
// the rest.
//
//   const SweepPlan plan = make_sweep_plan(kind, texts);  // --m 1024:8192:128 --dtype bf16,fp8
//   plan.set_variant(1, parameters);   // dtype=fp8; 0 to plan.variants() - 1
//   plan.set_point(index, parameters);  // index from 0 to plan.size() - 1
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/views/prediction.h"
#include "model/core/fields.h"

namespace ridge::cli {

/// A swept field and the fields that follow it.
struct SweptField {
    model::Field field;
    std::vector<std::int64_t> values;
    std::vector<model::Field> followers;
    bool geometric = false;  ///< each value is the same multiple of the one before
};

/// A word field, such as dtype or impl, with several values.
struct ListedWords {
    model::Field field;
    std::vector<std::string> words;
};

struct SweepPlan {
    model::OperationKind kind;
    model::Parameters fixed;
    std::vector<SweptField> swept;  ///< the first is the abscissa
    std::vector<ListedWords> listed;

    /// Points of one variant; 1 if no field is a range.
    [[nodiscard]] std::int64_t size() const;
    /// Combinations of the words that are lists; 1 if there are none.
    [[nodiscard]] std::int64_t variants() const;

    /// Sets the words of the variant; the last list varies fastest.
    void set_variant(std::int64_t index, model::Parameters& parameters) const;

    /// Sets the swept fields of the point; the last one varies fastest.
    void set_point(std::int64_t index, model::Parameters& parameters) const;

    /// The fields that vary, in the table's order.
    [[nodiscard]] std::vector<model::Field> varying() const;
};

/// What a plan is for: a sweep needs a range, a comparison does not.
enum class PlanUse : std::uint8_t { sweep, comparison };

/// The abscissa is the field named `x`, else the first of `order` that is a range, else the first
/// of the table. InputError if a sweep has no range, a field follows one that is not swept, `x` is
/// not a range, a listed word is not known, or there are more than 50 million points.
[[nodiscard]] SweepPlan make_sweep_plan(model::OperationKind kind,
                                        const std::map<model::Field, std::string>& texts,
                                        PlanUse use = PlanUse::sweep, const std::string& x = {},
                                        std::span<const std::string> order = {});

/// The listed words of the parameters: "fp8, impl=wgmma"; empty if no field is a list.
[[nodiscard]] std::string variant_name(const SweepPlan& plan, const model::Parameters& parameters);

/// Fills `answer` for one point; an invalid shape becomes an outcome with the reason.
void predict_point(const SweepPlan& plan, std::int64_t index, Answer& answer);

/// The fixed fields plus, from `parameters` (for example of a record), the values of the swept
/// fields. Empty if a follower differs from its leader, or if a field other than the abscissa has a
/// value that is not swept.
[[nodiscard]] std::optional<model::Parameters> at_values_of(const SweepPlan& plan,
                                                            const model::Parameters& parameters);

}  // namespace ridge::cli
