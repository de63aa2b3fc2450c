// What one measurement answers: which operation, how it is executed, and with which data.
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

/// An operation, how it is executed and under which conditions: what one measurement answers.
struct Question {
    model::Operation operation;
    model::Execution execution{};
    DataPattern pattern = DataPattern::normal;
    /// Seed of the random shapes that include this one; not part of the question's identity.
    std::optional<std::uint64_t> seed{};
};

/// The operation in words, with every field that differs from its default, in the order of the
/// field table: "matmul dtype=bf16 m=4096 n=4096 k=4096". parse_operation reads it back.
[[nodiscard]] std::string canonical_text(const model::Operation& operation);

/// The operation in words, plus implementation, tile, L2 state, launch mode and data pattern.
[[nodiscard]] std::string canonical_text(const Question& question);

/// Stable identity of a measurement: question and device, but not date or outcome.
[[nodiscard]] std::string key_of(const Question& question, const std::string& device_name);

}  // namespace ridge::measure
