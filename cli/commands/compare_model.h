// Steps of a model side by side: `ridge compare model`, and `ridge model` with lists.
#pragma once

#include <string>

#include "cli/charts/chart_output.h"
#include "cli/commands/commands.h"
#include "cli/options/gpu_options.h"
#include "cli/options/model_options.h"

namespace ridge::cli {

/// Whether the word "model" stands before the model: `compare model gpt2` or `compare gpt2`.
enum class ModelWord { given, absent };

[[nodiscard]] Action build_compare_model(CommandLine& line, ModelWord first);

/// Every combination of the GPUs and of the lists is a row. InputError if there are more than 200.
int compare_steps(const Context& context, const GpuOptions& gpu, ModelOptions& model,
                  const std::string& format, const ChartOutput& chart);

}  // namespace ridge::cli
