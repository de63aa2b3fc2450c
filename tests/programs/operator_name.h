// The name of an operator or range of a trace.
//
//   CHECK(operator_name(trace, kernel.range) == "step");
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "programs/traces/trace.h"

namespace ridge::test {

/// The name at this index of the operators; "-" for `none`.
inline std::string operator_name(const programs::Trace& trace, std::int32_t at) {
    if (at == programs::none) return "-";
    return std::string(trace.text(trace.operators[static_cast<std::size_t>(at)].name));
}

}  // namespace ridge::test
