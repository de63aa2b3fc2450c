// Several operations as one table with their sum, in text, CSV, Markdown and JSON.
//
//   Sequence sequence;
//   sequence.add({.answer = answer, .count = 32, .name = "up"});
//   write_sequence(context, sequence, Format::table);
//
// A row's time covers all its repetitions; its share is of the sum. If times were measured, the
// table shows them beside the predictions and says whether they lie inside the 80 % band.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/views/prediction.h"
#include "hardware/quantity.h"
#include "model/energy/sum.h"
#include "model/predict.h"

namespace ridge::cli {

/// One operation of a sequence with its prediction.
struct SequenceStep {
    Answer answer;
    std::int64_t count = 1;
    std::string name{};              ///< may be empty
    std::optional<Time> measured{};  ///< of one repetition
};

class Sequence {
  public:
    void add(SequenceStep step) { steps_.push_back(std::move(step)); }

    /// The operations end early, so that their sum is not that of the whole sequence.
    void cut_short() { whole_ = false; }

    [[nodiscard]] const std::vector<SequenceStep>& steps() const { return steps_; }
    [[nodiscard]] bool whole() const { return whole_; }
    /// The sums over all operations and their repetitions. (R6)
    [[nodiscard]] model::WorkloadPrediction total() const;
    /// Of all steps in turn; empty if one of them has none.
    [[nodiscard]] std::optional<model::StepEnergy> energy() const;

  private:
    std::vector<SequenceStep> steps_;
    bool whole_ = true;
};

/// Writes the table or document. Text fits the width of the terminal; CSV, Markdown and JSON have
/// at least six significant digits and end with the total.
void write_sequence(const Context& context, const Sequence& sequence, Format format);

}  // namespace ridge::cli
