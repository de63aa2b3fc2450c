// Parses the text of an operation, and finds what is wrong with a text.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "hardware/error.h"
#include "model/core/fields.h"
#include "model/core/operation.h"

namespace ridge::test {

/// Throws `InputError` as the program does, and std::bad_variant_access if it is another operation.
template <class Op>
Op make(std::string_view text) {
    const model::OperationText parsed = model::parse_operation(text);
    return std::get<Op>(model::make_operation(parsed.kind, parsed.parameters));
}

/// The message of the error, or an empty string if there is none.
inline std::string problem_of(std::string_view text) {
    try {
        const model::OperationText parsed = model::parse_operation(text);
        static_cast<void>(model::make_operation(parsed.kind, parsed.parameters));
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

}  // namespace ridge::test
