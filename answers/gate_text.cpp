// The gate's verdict in words, and as JUnit's XML.
#include <fmt/format.h>

#include <algorithm>

#include "answers/gate.h"

namespace ridge::answers {
namespace {

std::string change_text(const ItemChange& one) {
    return fmt::format("{} ({:+.1f} %)", one.name, 100.0 * (one.ratio - 1.0));
}

std::string xml_text(std::string_view text) {
    std::string out;
    for (const char letter : text) {
        switch (letter) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                // XML 1.0 has no other control characters
                out += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
        }
    }
    return out;
}

}  // namespace

std::string verdict_of(const GateReport& report) {
    const auto budget = fmt::format("{:.3g} %", 100.0 * report.options.budget);
    if (report.verdict == GateVerdict::not_measured) {
        return report.changes.empty()
                   ? "No verdict: nothing was measured on both sides."
                   : "No verdict: no item was measured well enough on both sides.";
    }
    const auto slower = report.counts[static_cast<std::size_t>(Trend::slower)];
    const std::string all = fmt::format("{:+.1f} % in all", 100.0 * (report.total.ratio - 1.0));
    if (report.verdict == GateVerdict::within) {
        return fmt::format("Within {}: none of {} items is slower by more; {}.", budget,
                           report.changes.size(), all);
    }
    if (slower == 0) return fmt::format("Slower: {}, more than {}.", all, budget);
    std::string text = fmt::format("{} of {} items {} slower by more than {}: ", slower,
                                   report.changes.size(), slower == 1 ? "is" : "are", budget);
    constexpr std::int64_t most = 3;
    for (std::int64_t i = 0; i < std::min(most, slower); ++i) {
        text += (i > 0 ? ", " : "") + change_text(report.changes[static_cast<std::size_t>(i)]);
    }
    return text + (slower > most ? ", ...; " : "; ") + all + ".";
}

std::string junit_of(const GateReport& report) {
    const auto count = [&report](Trend which) {
        return report.counts[static_cast<std::size_t>(which)];
    };
    const bool total_fails = report.verdict == GateVerdict::slower && count(Trend::slower) == 0;
    std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    xml += fmt::format(
        "<testsuite name=\"ridge check\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
        report.changes.size() + 1, count(Trend::slower) + (total_fails ? 1 : 0),
        count(Trend::undecided) + count(Trend::added) + count(Trend::removed) +
            (report.verdict == GateVerdict::not_measured ? 1 : 0));
    const auto add = [&](const ItemChange& one, bool fails, bool skipped) {
        xml += fmt::format("  <testcase classname=\"ridge.check\" name=\"{}\" time=\"{:.9f}\"",
                           xml_text(one.name), one.now.base());
        if (fails) {
            xml +=
                fmt::format(">\n    <failure message=\"{:+.1f} %\">{}</failure>\n  </testcase>\n",
                            100.0 * (one.ratio - 1.0), xml_text(one.why));
        } else if (skipped) {
            xml += fmt::format(">\n    <skipped message=\"{}\"/>\n  </testcase>\n",
                               name_of(one.trend));
        } else {
            xml += "/>\n";
        }
    };
    add(report.total, total_fails, report.verdict == GateVerdict::not_measured);
    for (const ItemChange& one : report.changes) {
        add(one, one.trend == Trend::slower,
            one.trend == Trend::undecided || one.trend == Trend::added ||
                one.trend == Trend::removed);
    }
    return xml + "</testsuite>\n";
}

}  // namespace ridge::answers
