// What the reports on the recorded programs say on a machine whose parameters do not change (frozen_machine.h): each
// operator, each saving, ranges and ranks, against data/reports.txt (table.h).
//
// A question is "FILE PART NUMBER": "trace_gpt2_train operator 3".
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "programs/report/rank_report.h"
#include "programs/report/trace_report.h"
#include "tests/frozen/frozen_machine.h"
#include "tests/frozen/table.h"

namespace ridge::programs {
namespace {

double us(Time time) {
    return time.in(units::us);
}

const TraceReport& frozen_report(const std::string& name) {
    static std::map<std::string, TraceReport> reports;
    const auto found = reports.find(name);
    if (found != reports.end()) return found->second;
    const Trace trace = read_trace(RIDGE_TRACES "/" + name);
    return reports.emplace(name, report_of(trace, test::frozen_machine("h200-sxm", "")))
        .first->second;
}

std::string whole_text(const TraceReport& r) {
    const Timeline& t = r.timeline;
    return fmt::format(
        "{} {} attributed {:.6g} {:.6g} error {:.6g} bound {:.6g} rate {:.6g} {:.6g} {:.6g} "
        "predicted {:.6g} rows {} "
        "savings {} ranges {} uncounted {} ns {} {} {} {} {} {} {} {} {} left {}",
        r.device, r.machine, r.attributed_share, r.modelled_share, r.weighted_error,
        r.memory_bound_share, r.achieved_flop_per_s, r.utilisation, r.modelled_flop,
        us(r.predicted), r.operators.size(), r.savings.size(), r.ranges.size(),
        r.uncounted_products, t.span_ns, t.busy_ns, t.kernel_ns, t.host_late_ns, t.communication_ns,
        t.communication_hidden_ns, t.gaps, t.starting_ns, t.starting_kernels, r.left_out.text());
}

std::string row_text(const OperatorRow& row) {
    return fmt::format(
        "{} {} {} family {} {} {} {} count {} {} measured {:.6g} predicted {:.6g} {:.6g} late "
        "{:.6g} slower "
        "{:.6g} avoidable {:.6g} rule {:.6g} {} {} law {} {}",
        row.name, row.shape, row.kernel.substr(0, 40), static_cast<int>(row.family), row.launched,
        row.driver, row.placed, row.count, row.kernels, us(row.measured),
        row.predicted ? us(*row.predicted) : 0.0, us(row.lower_bound), us(row.host_late),
        us(row.slower), us(row.avoidable), us(row.rule), row.bound, row.limiter, row.law,
        row.reason);
}

const RankReport& frozen_ranks(const std::string& name) {
    static std::map<std::string, RankReport> reports;
    const auto found = reports.find(name);
    if (found != reports.end()) return found->second;
    std::vector<Trace> traces;
    for (int i = 0; i < 4; ++i) {
        traces.push_back(
            read_trace(RIDGE_TRACES "/ranks/" + name + "/rank" + std::to_string(i) + ".json.gz"));
    }
    return reports.emplace(name, ranks_of(traces, &test::frozen_machine("h200-sxm", "")))
        .first->second;
}

std::string rank_text(const RankRow& r) {
    return fmt::format(
        "{} us {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} last {} {:.6g} {:.6g} {:.6g}", r.name,
        us(r.computing), us(r.communication), us(r.exposed), us(r.waiting), us(r.idle),
        us(r.host_late), r.came_last, us(r.caused), us(r.cost), us(r.shift));
}

std::string collective_text(const CollectiveRow& c) {
    return fmt::format(
        "{} {} {} us {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} late {} bus {:.6g} predicted {:.6g} {:.6g}",
        c.name.substr(0, 40), c.what, c.number, us(c.start), us(c.skew), us(c.time), us(c.waiting),
        us(c.exposed), c.late, c.bus ? c.bus->base() : 0.0, c.predicted ? us(*c.predicted) : 0.0,
        c.predicted_bus ? c.predicted_bus->base() : 0.0);
}

std::string report_answer(const std::string& question) {
    std::istringstream words(question);
    std::string file;
    std::string part;
    std::size_t number = 0;
    words >> file >> part >> number;
    if (part == "rank") return rank_text(frozen_ranks(file).ranks.at(number));
    if (part == "collective") return collective_text(frozen_ranks(file).collectives.at(number));
    if (part == "finding") return findings_of(frozen_ranks(file)).at(number);
    const TraceReport& report = frozen_report(file);
    if (part == "whole") return whole_text(report);
    if (part == "operator") return row_text(report.operators.at(number));
    if (part == "saving") {
        const Saving& s = report.savings.at(number);
        return fmt::format("{} {} count {} {} now {:.6g} then {:.6g}", name_of(s.kind), s.what,
                           s.count, s.kernels, us(s.now), us(s.then));
    }
    const RangeRow& range = report.ranges.at(number);
    return fmt::format("{} kernels {} measured {:.6g} predicted {:.6g} {}", range.name,
                       range.kernels, us(range.measured), us(range.predicted),
                       range.left_out.text());
}

TEST_CASE("reports on recorded programs say what they said", "[frozen]") {
    test::check_table("reports", report_answer);
}

TEST_CASE("lists the parts of the reports", "[.][frozen-draw]") {
    std::vector<std::string> questions;
    const auto add = [&questions](const std::string& file, const char* part, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            questions.push_back(file + " " + part + " " + std::to_string(i));
    };
    for (const char* file :
         {"trace_gpt2_train.json.gz", "trace_llama_compiled.json.gz", "trace_llama_prefill.json.gz",
          "kernels_h200.ridge", "kernels_h200.counters.ridge"}) {
        const TraceReport& report = frozen_report(file);
        add(file, "whole", 1);
        add(file, "operator", std::min<std::size_t>(report.operators.size(), 40));
        add(file, "saving", std::min<std::size_t>(report.savings.size(), 20));
        add(file, "range", std::min<std::size_t>(report.ranges.size(), 10));
    }
    for (const char* name :
         {"busy-link", "gathers", "none", "one-bucket", "slow-gpu", "slow-host"}) {
        add(name, "rank", 4);
        add(name, "collective", std::min<std::size_t>(frozen_ranks(name).collectives.size(), 6));
        add(name, "finding", findings_of(frozen_ranks(name)).size());
    }
    test::write_table("reports", questions, report_answer);
}

}  // namespace
}  // namespace ridge::programs
