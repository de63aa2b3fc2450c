// Predictions side by side: a dot with its 80 % band per GPU, implementation, type or shape.
//
//   write_chart_output(context, output, comparison_chart(answers, names, "matmul m=4096 ..."));
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/views/prediction.h"
#include "plot/chart.h"

namespace ridge::cli {

/// The place of an answer along the axis, and the class that gives it a colour, which may be empty.
struct ComparedName {
    std::string place;
    std::string series;
};

/// One name per answer; answers without a prediction are counted in a note.
[[nodiscard]] plot::Chart comparison_chart(std::span<const Answer> answers,
                                           std::span<const ComparedName> names,
                                           const std::string& title);

}  // namespace ridge::cli
