// The points of a sweep: fields that are ranges, fields that follow them, and the rest.
//
//   const SweepPlan plan = make_sweep_plan(kind, texts);   // --m 1024:8192:128 --n @m --k 4096
//   plan.set_point(index, parameters);                      // index from 0 to plan.size() - 1
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
};

struct SweepPlan {
    model::OperationKind kind;
    model::Parameters fixed;
    std::vector<SweptField> swept;  ///< never empty

    [[nodiscard]] std::int64_t size() const;

    /// Sets the swept fields of the point; the last one varies fastest.
    void set_point(std::int64_t index, model::Parameters& parameters) const;

    /// The fields that vary, in the table's order.
    [[nodiscard]] std::vector<model::Field> varying() const;
};

/// InputError when no field is a range, one follows a field that is not swept, or there are more
/// than 50 million points.
[[nodiscard]] SweepPlan make_sweep_plan(model::OperationKind kind,
                                        const std::map<model::Field, std::string>& texts);

/// Fills `answer` for one point; a shape that is invalid becomes an outcome with the reason.
void predict_point(const SweepPlan& plan, std::int64_t index, Answer& answer);

/// The parameters at the values that the swept fields have in `parameters`, which may be those of
/// a record; empty when a follower differs from its leader, or a field other than the first, which
/// is the abscissa, has a value that is not swept.
[[nodiscard]] std::optional<model::Parameters> at_values_of(const SweepPlan& plan,
                                                            const model::Parameters& parameters);

}  // namespace ridge::cli
