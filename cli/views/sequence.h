// Several operations as one table with their sum: text, CSV, Markdown and JSON of one value.
//
//   Sequence sequence;
//   sequence.add({.answer = answer, .count = 32, .name = "up"});
//   write_sequence(context, sequence, Format::table);
//
// A row's time is that of all its repetitions and its share is of the sum. Where times were measured
// the table sets them beside the predictions and says whether they lie inside the 80 % band.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/views/prediction.h"
#include "hardware/quantity.h"
#include "model/predict.h"

namespace ridge::cli {

/// One operation of a sequence with its prediction.
struct SequenceStep {
    Answer answer;
    std::int64_t count = 1;
    std::string name{};              ///< may be empty
    std::optional<Time> measured{};  ///< once
};

class Sequence {
  public:
    void add(SequenceStep step) { steps_.push_back(std::move(step)); }

    [[nodiscard]] const std::vector<SequenceStep>& steps() const { return steps_; }
    /// The sums, each operation as often as it is carried out. (R6)
    [[nodiscard]] model::WorkloadPrediction total() const;

  private:
    std::vector<SequenceStep> steps_;
};

/// The table or document. As text it fits the width of the terminal; CSV, Markdown and JSON have
/// six significant digits or more and end with the total.
void write_sequence(const Context& context, const Sequence& sequence, Format format);

}  // namespace ridge::cli
