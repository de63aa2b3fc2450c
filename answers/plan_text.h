// A plan in words and as JSON (docs/plan.schema.json), the same for every front end.
#pragma once

#include <string>
#include <vector>

#include "answers/plan.h"
#include "hardware/json.h"

namespace ridge::answers {

inline constexpr std::string_view plan_schema = "ridge/plan/1";

/// What was asked: "served: prompts of 2048 tokens, answers of 256, bf16".
[[nodiscard]] std::string question_of(const Plan& plan);

/// "Evidence of the recommended row, by time of its kernels: measured 98 %, related 2 %."; empty
/// without a time.
[[nodiscard]] std::string evidence_of(const Plan& plan);

/// The answer in one or two sentences: on what it fits, how fast it is there; or that it does not
/// fit, and by how much.
[[nodiscard]] std::string verdict_of(const Plan& plan);

/// "23.4 of 78.66 GiB", "needs 131.5 of 78.66 GiB".
[[nodiscard]] std::string memory_text(const PlanRow& row);

/// "fp8 weights: fits in 68.1 of 78.66 GiB, 512 tokens/s, 31 ms per token"
[[nodiscard]] std::string text_of(const Change& change, Purpose asked);

/// What the numbers leave out or assume, one sentence each.
[[nodiscard]] std::vector<std::string> remarks_on(const Plan& plan);

[[nodiscard]] Json to_json(const PlanRow& row, Purpose purpose);
[[nodiscard]] Json to_json(const Plan& plan);

}  // namespace ridge::answers
