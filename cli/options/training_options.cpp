#include "cli/options/training_options.h"

#include "cli/options/command_line.h"
#include "hardware/error.h"

namespace ridge::cli {

TrainingOptions::TrainingOptions(CommandLine& line) {
    line.option("--pp", pipeline_,
                "stages of a pipeline; in prefill and decode, what each of them holds")
        .value("COUNT")
        .in_range(1, 1024)
        .group("Several GPUs");
    line.option("--cp", context_, "train: GPUs that share each sequence")
        .value("COUNT")
        .in_range(1, 1024)
        .group("Several GPUs");
    line.option("--micro-batches", micro_batches_,
                "train: micro-batches of --batch sequences in a step")
        .value("COUNT")
        .in_range(1, 65536)
        .group("Several GPUs");
    line.option("--schedule", schedule_,
                "with --pp: gpipe, 1f1b (default), interleaved or zero-bubble")
        .one_of({"gpipe", "1f1b", "interleaved", "zero-bubble"})
        .group("Several GPUs");
    line.option("--parts", parts_,
                "with --schedule interleaved or zero-bubble: stages of each GPU (default 2)")
        .value("COUNT")
        .in_range(1, 64)
        .group("Several GPUs");
}

bool TrainingOptions::asked() const {
    return pipeline_ > 1 || of_training();
}

bool TrainingOptions::of_training() const {
    return context_ > 1 || micro_batches_ > 1 || !schedule_.empty() || parts_ > 0;
}

answers::TrainingShape TrainingOptions::shape() const {
    answers::TrainingShape shape{
        .pipeline = pipeline_, .context = context_, .micro_batches = micro_batches_};
    if (!schedule_.empty()) shape.schedule = programs::find_schedule(schedule_);
    if (!schedule_.empty() && pipeline_ == 1) {
        throw InputError("schedule: one stage has none", {}, "--pp 4");
    }
    const bool several = shape.schedule == programs::Schedule::interleaved ||
                         shape.schedule == programs::Schedule::zero_bubble;
    constexpr std::int64_t usual_parts = 2;
    if (parts_ > 1 && !several) {
        throw InputError("parts: only with --schedule interleaved or zero-bubble");
    }
    if (several) shape.parts = parts_ > 0 ? parts_ : usual_parts;
    return shape;
}

}  // namespace ridge::cli
