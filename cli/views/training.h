// A training step on several GPUs as text, JSON and charts: `ridge model --phase train --pp 4 ...`.
#pragma once

#include "answers/training_step.h"
#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/views/model_step.h"
#include "plot/chart.h"

namespace ridge::cli {

/// A layout and its answer. `architecture` must outlive it.
struct TrainingAnswer {
    const programs::Architecture* architecture = nullptr;
    programs::Request request;
    answers::TrainingShape shape;
    answers::TrainingStep step;
    Place place;
    std::vector<std::int64_t> memory{};  ///< of each rank of a pipeline, or of every GPU

    /// GPUs of one copy of the model, and of all.
    [[nodiscard]] std::int64_t gpus_of_copy() const;
    [[nodiscard]] std::int64_t gpus() const;
    /// Of all GPUs together; empty if the step is not modelled.
    [[nodiscard]] std::optional<double> tokens_per_s() const;
};

/// InputError without a GPU.
[[nodiscard]] TrainingAnswer answer_training(const programs::Architecture& architecture,
                                             programs::Request request,
                                             const answers::TrainingShape& shape,
                                             const Place& place);

void write_training(const Context& context, const TrainingAnswer& answer, Format format);

/// The blocks of a pipeline's ranks below each other. InputError without a pipeline.
[[nodiscard]] plot::Chart pipeline_chart(const TrainingAnswer& answer);

/// Time, efficiency and exposed communication of the same step on more and more GPUs.
void write_scaling(const Context& context, const std::vector<TrainingAnswer>& answers,
                   Format format);
/// What each stage of a pipeline holds in prefill or decode, and its time.
void write_stages(const Context& context, const programs::Architecture& architecture,
                  const programs::Request& request, const Place& place, std::int64_t stages,
                  Format format);
[[nodiscard]] plot::Chart scaling_chart(const std::vector<TrainingAnswer>& answers);

}  // namespace ridge::cli
