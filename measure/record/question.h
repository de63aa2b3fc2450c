// What one measurement answers: an operation, how it is carried out, with which data.
//
//   canonical_text(Question{.operation = Matmul{.m = 64, .n = 64, .k = 64}});
//   // "matmul dtype=bf16 m=64 n=64 k=64 impl=auto l2=warm launch=kernel"
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "measure/record/observation.h"
#include "model/core/fields.h"

namespace ridge::measure {

/// Which operation, how, and under which circumstances: what one measurement answers.
struct Question {
    model::Operation operation;
    model::Execution execution{};
    DataPattern pattern = DataPattern::normal;
    /// Of the random shapes that it was drawn among; not part of its identity.
    std::optional<std::uint64_t> seed{};
};

/// The operation in words with every field that is not a default, in the order of the field table:
/// "matmul dtype=bf16 m=4096 n=4096 k=4096". parse_operation reads it back to the same operation.
[[nodiscard]] std::string canonical_text(const model::Operation& operation);

/// The same with implementation, tile, L2 state, launch mode and data pattern.
[[nodiscard]] std::string canonical_text(const Question& question);

/// Stable identity of a measurement: question and device, not date or outcome.
[[nodiscard]] std::string key_of(const Question& question, const std::string& device_name);

}  // namespace ridge::measure
