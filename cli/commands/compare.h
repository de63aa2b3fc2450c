// Parts of `ridge compare` that `ridge predict` uses, too, and its tables of shapes.
#pragma once

#include <string>

#include "cli/console/context.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"

namespace ridge::cli {

/// Whether several GPUs, types, implementations or sizes are named: the answer is a comparison.
[[nodiscard]] bool has_lists(const GpuOptions& gpu, const OperationArgument& operation);

/// Whether types or other words are listed, and no size is: a sweep of it has no abscissa.
[[nodiscard]] bool lists_only_words(const OperationArgument& operation);

/// Every combination of the lists as a table; returns the exit code.
int compare_lists(const Context& context, const GpuOptions& gpu, const OperationArgument& operation,
                  const std::string& format);

/// The rows of a table of shapes on each GPU, with totals; returns the exit code.
int compare_table(const Context& context, const GpuOptions& gpu, const OperationArgument& operation,
                  const std::string& file, const std::string& format);

}  // namespace ridge::cli
