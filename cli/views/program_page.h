// The report on a recorded program as figures, sentences and tables of a page.
// cli/charts/program_charts.h adds the charts.
#pragma once

#include <string>

#include "cli/views/causes.h"
#include "plot/report.h"
#include "programs/report/trace_report.h"

namespace ridge::cli {

/// A page with the savings, then a card for each kernel with counters, the operators, annotations and
/// modules. `chart` draws a kernel's roofline for its card.
[[nodiscard]] plot::Report program_page(const programs::TraceReport& report,
                                        const KernelChart& chart = {});

/// "mm [2048,2048] x [2048,8192] bf16"
[[nodiscard]] std::string operator_name(const programs::OperatorRow& row);

}  // namespace ridge::cli
