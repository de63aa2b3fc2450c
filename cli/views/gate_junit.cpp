// The gate's verdict as JUnit's XML.
#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "cli/views/gate.h"
#include "plot/text.h"

namespace ridge::cli {

using answers::GateReport;
using answers::ItemChange;
using answers::Trend;

std::string junit_of(const GateReport& report) {
    const auto count = [&report](Trend which) {
        return report.counts[static_cast<std::size_t>(which)];
    };
    const bool total_fails =
        report.verdict == answers::GateVerdict::slower && count(Trend::slower) == 0;
    std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    xml += fmt::format(
        "<testsuite name=\"ridge check\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
        report.changes.size() + 1, count(Trend::slower) + (total_fails ? 1 : 0),
        count(Trend::undecided) + count(Trend::added) + count(Trend::removed) +
            (report.verdict == answers::GateVerdict::not_measured ? 1 : 0));
    const auto add = [&](const ItemChange& one, bool fails, bool skipped) {
        xml += fmt::format("  <testcase classname=\"ridge.check\" name=\"{}\" time=\"{:.9f}\"",
                           plot::escape_markup(one.name), one.now.base());
        if (fails) {
            xml +=
                fmt::format(">\n    <failure message=\"{:+.1f} %\">{}</failure>\n  </testcase>\n",
                            100.0 * (one.ratio - 1.0), plot::escape_markup(one.why));
        } else if (skipped) {
            xml += fmt::format(">\n    <skipped message=\"{}\"/>\n  </testcase>\n",
                               name_of(one.trend));
        } else {
            xml += "/>\n";
        }
    };
    add(report.total, total_fails, report.verdict == answers::GateVerdict::not_measured);
    for (const ItemChange& one : report.changes) {
        add(one, one.trend == Trend::slower,
            one.trend == Trend::undecided || one.trend == Trend::added ||
                one.trend == Trend::removed);
    }
    return xml + "</testsuite>\n";
}

}  // namespace ridge::cli
