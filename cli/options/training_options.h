// Options of a training step on several GPUs beyond copies: stages, shared sequences, micro-batches.
#pragma once

#include <cstdint>
#include <string>

#include "answers/training_step.h"

namespace ridge::cli {

class CommandLine;

class TrainingOptions {
  public:
    explicit TrainingOptions(CommandLine& line);

    /// Whether one of the options asks for something.
    [[nodiscard]] bool asked() const;
    /// Whether an option was given that only a training step has.
    [[nodiscard]] bool of_training() const;
    /// InputError names the option.
    [[nodiscard]] answers::TrainingShape shape() const;

  private:
    std::int64_t pipeline_ = 1;
    std::int64_t context_ = 1;
    std::int64_t micro_batches_ = 1;
    std::int64_t parts_ = 0;
    std::string schedule_;
};

}  // namespace ridge::cli
