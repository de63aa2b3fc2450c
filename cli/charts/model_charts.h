// Charts of a step of a model: where its time goes, its operations on a roofline, its latency
// against the batch.
//
//   write_chart_output(context, output, step_chart(answer));
//
// `step_chart` is a flame graph: the step, its passes and parts, their modules and operations, each
// as wide as its time and in the order in which they run; equal layers are merged. On the roofline,
// the area of a point is its operation's share of the time. `latency_chart` predicts the step at
// batches that double, with the band of its kernels and the time of the host.
// Limits: operations that are narrower than their names have no label; a page has tooltips.
#pragma once

#include <vector>

#include "cli/views/model_step.h"
#include "hardware/description.h"
#include "plot/chart.h"
#include "programs/serving.h"

namespace ridge::cli {

[[nodiscard]] plot::Chart step_chart(const StepAnswer& answer);
[[nodiscard]] plot::Chart step_roofline(const StepAnswer& answer, const hardware::Description& gpu);
[[nodiscard]] plot::Chart latency_chart(const StepAnswer& answer);
/// Tokens/s of a GPU against tokens/s of a sequence: a line for each number of GPUs, and the front.
[[nodiscard]] plot::Chart pareto_chart(const std::vector<programs::ServingPoint>& points,
                                       const std::string& title);
/// Joules a token against the time between two tokens, with the points that no other beats in both.
[[nodiscard]] plot::Chart energy_chart(const std::vector<programs::ServingPoint>& points,
                                       const std::string& title);

}  // namespace ridge::cli
