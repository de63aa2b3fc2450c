// A recorded program as charts and as a page: its timeline, its roofline, its operators and what
// could be saved.
//
//   const ProgramCharts program{trace, report, machine, description};
//   plot::write_bytes("report.html", plot::render_report(program.page()));
//
// The timeline shows the kernels of each stream and, in a lane of its own, when the GPU was idle;
// for a long trace, it shows the middle. On the roofline, an operator's filled mark is measured and
// its half-filled or hollow mark predicted; the area of both is proportional to the operator's time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hardware/description.h"
#include "model/machine/machine.h"
#include "plot/chart.h"
#include "plot/report.h"
#include "programs/report/trace_report.h"
#include "programs/traces/trace.h"

namespace ridge::cli {

class ProgramCharts {
  public:
    ProgramCharts(const programs::Trace& trace, const programs::TraceReport& report,
                  const model::Machine& machine, const hardware::Description& gpu)
        : trace_(trace), report_(report), machine_(machine), gpu_(gpu) {}

    /// The charts: none without kernels; only the roofline without a timeline.
    [[nodiscard]] std::vector<plot::Chart> charts() const;
    [[nodiscard]] plot::Report page() const;

  private:
    [[nodiscard]] plot::Chart timeline() const;
    [[nodiscard]] plot::Chart roofline() const;
    /// One kernel at its bytes of every level that was counted; empty without FLOP.
    [[nodiscard]] std::optional<plot::Chart> kernel_roofline(
        const programs::OperatorRow& row) const;

    const programs::Trace& trace_;
    const programs::TraceReport& report_;
    const model::Machine& machine_;
    const hardware::Description& gpu_;
};

}  // namespace ridge::cli
