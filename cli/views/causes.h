// Why the kernels of a recorded program take longer than their ideal: text, JSON, cards of a page.
//
//   write_causes(context, report, 10);      // the ten kernels with the most time to win
//
// Kernels are sorted by the time to win: what their largest cause costs, over all launches.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "cli/console/context.h"
#include "hardware/json.h"
#include "plot/report.h"
#include "programs/report/trace_report.h"

namespace ridge::cli {

/// Writes nothing if no kernel was counted. Shows `rows` kernels, 0 for all.
void write_causes(const Context& context, const programs::TraceReport& report, std::size_t rows);

[[nodiscard]] Json to_json(const kernel::Split& split);

/// Where a kernel lies on the roofline; empty if that is not known.
using KernelChart = std::function<std::optional<plot::Chart>(const programs::OperatorRow&)>;

/// One card for each kernel: sentences, its roofline, then the split as a table with bars. At most
/// `most`.
void add_cards(plot::Report& page, const programs::TraceReport& report, std::size_t most,
               const KernelChart& chart);

}  // namespace ridge::cli
