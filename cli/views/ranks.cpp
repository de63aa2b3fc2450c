#include "cli/views/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "hardware/units.h"

namespace ridge::cli {
namespace {

using programs::CollectiveRow;
using programs::RankReport;
using programs::RankRow;

Table ranks_table(const RankReport& report) {
    Table table{.columns = {{"rank"},
                            {"computing"},
                            {"communication"},
                            {"exposed"},
                            {"of it waiting"},
                            {"idle"},
                            {"host late"},
                            {"came last"},
                            {"others waited"}},
                .rows = {}};
    for (const RankRow& row : report.ranks) {
        table.rows.push_back({row.name, format(row.computing), format(row.communication),
                              format(row.exposed), format(row.waiting), format(row.idle),
                              format(row.host_late), std::to_string(row.came_last),
                              format(row.caused)});
    }
    return table;
}

std::string rate_text(const std::optional<Bandwidth>& rate) {
    return rate ? format(*rate) : std::string();
}

Json optional_number(const std::optional<Bandwidth>& rate) {
    return rate ? Json(rate->base()) : Json();
}

}  // namespace

Table collective_table(const RankReport& report, std::size_t rows) {
    Table table{.columns = {{"collective"},
                            {"number"},
                            {"size"},
                            {"came last"},
                            {"skew"},
                            {"waiting"},
                            {"time"},
                            {"predicted"},
                            {"bus"},
                            {"predicted bus"}},
                .rows = {}};
    for (const CollectiveRow& row : report.collectives) {
        if (rows > 0 && table.rows.size() == rows) break;
        table.rows.push_back({printable(row.name.substr(0, row.name.find('('))),
                              std::to_string(row.number), row.what, report.ranks[row.late].name,
                              format(row.skew), format(row.waiting), format(row.time),
                              row.predicted ? format(*row.predicted) : "", rate_text(row.bus),
                              rate_text(row.predicted_bus)});
    }
    return table;
}

void write_ranks(const Context& context, const RankReport& report, std::size_t rows) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << fmt::format("{} ranks over {}\n\n", report.ranks.size(), format(report.span));
    write_text(context.out, ranks_table(report));
    const std::vector<std::string> findings = programs::findings_of(report);
    if (!findings.empty()) context.out << '\n';
    for (const std::string& finding : findings) {
        context.out << "  - " << wrap(finding, width, 4, 4) << '\n';
    }
    if (!report.collectives.empty()) {
        context.out << "\nCollectives by waiting of all ranks; their time counts from the last "
                       "start.\n";
        write_text(context.out, collective_table(report, rows));
    }
    for (const std::string& note : report.notes) context.out << wrap(note, width, 0) << '\n';
}

Json to_json(const RankReport& report) {
    Json ranks = Json::array();
    for (const RankRow& row : report.ranks) {
        ranks.push_back({{"rank", row.name},
                         {"device", row.device},
                         {"computing_s", row.computing.base()},
                         {"communication_s", row.communication.base()},
                         {"exposed_s", row.exposed.base()},
                         {"waiting_s", row.waiting.base()},
                         {"idle_s", row.idle.base()},
                         {"host_late_s", row.host_late.base()},
                         {"came_last", row.came_last},
                         {"others_waited_s", row.caused.base()},
                         {"cost_s", row.cost.base()},
                         {"clock_shift_s", row.shift.base()}});
    }
    Json collectives = Json::array();
    for (const CollectiveRow& row : report.collectives) {
        collectives.push_back(
            {{"name", row.name},
             {"number", row.number},
             {"size", row.what},
             {"start_s", row.start.base()},
             {"came_last", report.ranks[row.late].name},
             {"skew_s", row.skew.base()},
             {"waiting_s", row.waiting.base()},
             {"time_s", row.time.base()},
             {"exposed_s", row.exposed.base()},
             {"predicted_s", row.predicted ? Json(row.predicted->base()) : Json()},
             {"bus_bytes_per_s", optional_number(row.bus)},
             {"predicted_bus_bytes_per_s", optional_number(row.predicted_bus)}});
    }
    return {{"span_s", report.span.base()},
            {"ranks", std::move(ranks)},
            {"findings", programs::findings_of(report)},
            {"collectives", std::move(collectives)},
            {"notes", report.notes}};
}

}  // namespace ridge::cli
