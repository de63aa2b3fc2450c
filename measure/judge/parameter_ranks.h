// Ranks the parameters of a GPU by what they do to the errors of its records.
//
//   const ParameterRanks found = rank_parameters(records, validate(records, catalogue, view), machine);
//   found.ranks[0].parameter->field.path, found.ranks[0].points   // the strongest first
//
// Method. One parameter at a time is multiplied by 1 + move, and by its reciprocal, in the machine, and all
// rows are predicted again. `points` is the largest change of the mean error of any class (operation and
// implementation). The slopes d ln(time) / d ln(parameter) of all rows give the rest: the standard error of a
// parameter if all were fitted to these rows at once, from the inverse of the normal equations and the mean
// square of the errors; and the parameter whose slopes are most parallel, with the cosine between the two. With
// a cosine near 1 or -1 the records cannot tell the two apart.
//
// Limits: rows of one GPU. A parameter that is zero is left out. Standard errors take the errors of rows as
// independent, which makes them too small.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/judge/validate.h"
#include "model/machine/machine.h"
#include "model/machine/parameters.h"

namespace ridge::measure {

struct ParameterRank {
    const model::ModelParameter* parameter = nullptr;
    double value = 0.0;           ///< in base units
    double points = 0.0;          ///< largest change of a class's mean error, as a fraction
    std::string moved;            ///< that class; empty if no row depends on the parameter
    double standard_error = 0.0;  ///< relative; infinite if these rows do not determine it
    const model::ModelParameter* like = nullptr;  ///< with the most parallel slopes
    double cosine = 0.0;
};

struct ParameterRanks {
    std::vector<ParameterRank> ranks;  ///< the largest change first
    std::size_t idle = 0;              ///< change no class by `least_points`
    std::size_t most = 0;  ///< how many of the first carry nine tenths of all changes together
};

inline constexpr double least_points = 1e-4;  ///< a hundredth of a point

/// InputError when the comparisons are of several GPUs, or there are none.
[[nodiscard]] ParameterRanks rank_parameters(std::span<const Record> records,
                                             const Validation& validation,
                                             const model::Machine& machine, double move = 0.25);

}  // namespace ridge::measure
