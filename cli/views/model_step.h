// A step of a model as a table and as JSON.
#pragma once

#include <optional>

#include "cli/console/context.h"
#include "hardware/json.h"
#include "programs/model_step.h"

namespace ridge::cli {

struct StepAnswer {
    const programs::Architecture* architecture = nullptr;
    programs::Request request;
    programs::ModelStep step;
    programs::StepMemory memory;
    programs::Host host;
    const model::Machine* machine = nullptr;  ///< nullptr: memory alone was asked for
    std::optional<Bytes> usable{};
    std::optional<programs::StepTime> time{};
};

[[nodiscard]] Json json_of(const StepAnswer& answer, bool all_kernels);
void write_step(const Context& context, const StepAnswer& answer, bool all_kernels);

}  // namespace ridge::cli
