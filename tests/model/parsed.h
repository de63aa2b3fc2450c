// Parses the text of an operation, predicts it, and finds what is wrong with a text.
//
//   const Prediction p = prediction_of("copy elements=4096", {.l2 = L2State::cold}, h200());
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "model/core/fields.h"
#include "model/core/operation.h"
#include "model/predict.h"
#include "tests/support/error_message.h"

namespace ridge::test {

/// Throws `InputError` as the program does.
inline model::Operation operation_of(std::string_view text) {
    const model::OperationText parsed = model::parse_operation(text);
    return model::make_operation(parsed.kind, parsed.parameters);
}

/// Throws std::bad_variant_access if it is another operation.
template <class Op>
Op make(std::string_view text) {
    return std::get<Op>(operation_of(text));
}

/// Fields of the text that are not the operation's, such as impl, have no effect. Throws
/// std::bad_variant_access if the question is not modelled.
inline model::Prediction prediction_of(std::string_view text, const model::Execution& execution,
                                       const model::Machine& machine) {
    return std::get<model::Prediction>(model::predict(operation_of(text), execution, machine));
}

/// The message of the error, or an empty string if there is none.
inline std::string problem_of(std::string_view text) {
    return message_of([&] { return operation_of(text); });
}

}  // namespace ridge::test
