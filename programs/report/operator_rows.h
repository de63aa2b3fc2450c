// The rows of a report: calls with equal arguments are added up and predicted once.
#pragma once

#include <cstdint>
#include <vector>

#include "programs/report/attribution.h"
#include "programs/report/trace_report.h"

namespace ridge::programs {

struct Rows {
    std::vector<OperatorRow> rows;
    std::vector<std::int32_t> row_of;    ///< row of each instance
    std::vector<Understood> understood;  ///< of each row; without steps if it is not understood
    std::vector<Call> calls;             ///< of each row, as recorded; without a name: it was not
    /// Of each row: the backward pass called it first, on another thread than the program's first operator.
    std::vector<bool> backward;
};

[[nodiscard]] Rows rows_of(const Trace& trace, const std::vector<Instance>& instances,
                           const model::Machine& machine);

}  // namespace ridge::programs
