// A prediction as a terminal summary, JSON, CSV and Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/console/context.h"
#include "cli/console/result_columns.h"
#include "hardware/json.h"
#include "model/core/fields.h"
#include "model/energy/energy.h"
#include "model/machine/machine.h"
#include "model/predict.h"

namespace ridge::cli {

/// One question and its answer, for the views.
struct Answer {
    model::OperationKind kind = model::OperationKind::matmul;
    model::Parameters parameters;
    model::Operation operation;
    model::Execution execution;
    const model::Machine* machine = nullptr;
    model::Outcome outcome;
    std::string gpu_origin{};  ///< of a default GPU: "from RIDGE_GPU"
    model::EnergyConditions conditions{};
};

/// Fills operation, execution and outcome from the other members. InputError names a broken field.
void predict(Answer& answer);

enum class Detail { summary, explained };

/// Writes the text that `ridge predict` prints, at most `context.width` columns wide.
void write_summary(const Context& context, const Answer& answer, Detail detail);

/// FLOP/s or, if the operation computes nothing, the bytes moved per second.
[[nodiscard]] std::string rate_of(const model::Prediction& prediction);

/// "related: a GPU of its architecture".
[[nodiscard]] std::string evidence_text(const model::Prediction& prediction);

/// "137 GFLOP on tensor cores, 2 kernels".
[[nodiscard]] std::string work_text(const model::Work& work);
/// "algorithmic 101 MB; L2 1.64 GB; DRAM 198 MB (165 MB read, 33.6 MB written)".
[[nodiscard]] std::string traffic_text(const model::Work& work);

/// The object described by docs/prediction.schema.json.
[[nodiscard]] Json to_json(const Answer& answer);

[[nodiscard]] std::vector<std::string> result_cells(const Answer& answer);

/// Appends the cells above, separated by commas, without allocating per cell.
void append_result_cells(std::string& line, const model::Outcome& outcome);

}  // namespace ridge::cli
