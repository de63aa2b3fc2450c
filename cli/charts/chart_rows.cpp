#include "cli/charts/chart_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/algorithms.h"
#include "hardware/si.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using si::giga;
using si::tera;

std::string source_of(plot::Evidence evidence) {
    return evidence == plot::Evidence::datasheet ? "datasheet" : "measured";
}

std::string source_of(plot::Origin origin) {
    return origin == plot::Origin::measured ? "measured" : "predicted";
}

/// The value in base units, rounded to drop the error of the change of units.
double in_base_units(double value, double unit) {
    return std::stod(fmt::format("{:.12g}", value * unit));
}

Cell performance(double teraflops) {
    const double rate = in_base_units(teraflops, tera);
    return {format(FlopRate::from_base(rate)), rate};
}

Cell performance(const std::optional<double>& teraflops) {
    return teraflops ? performance(*teraflops) : Cell{};
}

/// The text of the tooltip's term of this name.
std::string term_of(const std::vector<plot::Term>& terms, std::string_view name) {
    const auto found =
        algorithms::find_if(terms, [name](const plot::Term& term) { return term.name == name; });
    return found == terms.end() ? std::string() : found->value;
}

/// The column of an ordinate, and the unit of its values on a chart.
struct OrdinateColumn {
    Rows::Column column;
    double unit;
};

OrdinateColumn column_of(Ordinate ordinate) {
    switch (ordinate) {
        case Ordinate::rate:
            return {{"flop_per_s", "performance"}, tera};
        case Ordinate::bandwidth:
            return {{"bytes_per_s", "bandwidth"}, giga};
        case Ordinate::time:
            break;
    }
    return {{"time_us", "time"}, 1.0};
}

Cell ordinate_cell(Ordinate ordinate, double value) {
    switch (ordinate) {
        case Ordinate::rate:
            return {format(FlopRate::from_base(value)), value};
        case Ordinate::bandwidth:
            return {format(Bandwidth::from_base(value)), value};
        case Ordinate::time:
            break;
    }
    return {format(value * units::us), value};
}

}  // namespace

Rows roofline_rows(const plot::Roofline& roofline) {
    Rows rows{.columns = {{"kind", {}, Shown::never},
                          {"name"},
                          {"level", {}, Shown::where_room},
                          {"source"},
                          {"intensity_flop_per_byte", "intensity"},
                          {"bytes_per_s", "bandwidth"},
                          {"flop_per_s", "performance"},
                          {"flop_per_s_low", {}, Shown::never},
                          {"flop_per_s_high", {}, Shown::never},
                          {"evidence"},
                          {"question", {}, Shown::never}}};
    for (const plot::MemoryRoof& roof : roofline.memory) {
        rows.rows.push_back({{"roof"},
                             {roof.name},
                             {std::string(name_of(roof.resource))},
                             {source_of(roof.evidence)},
                             {},
                             {roof.value, in_base_units(roof.slope, tera)},
                             {},
                             {},
                             {},
                             {source_of(roof.evidence)},
                             {}});
    }
    for (const plot::ComputeRoof& roof : roofline.compute) {
        rows.rows.push_back({{"roof"},
                             {roof.type + " " + roof.name},
                             {std::string(name_of(roof.resource))},
                             {source_of(roof.evidence)},
                             {},
                             {},
                             {roof.value, in_base_units(roof.rate, tera)},
                             {},
                             {},
                             {source_of(roof.evidence)},
                             {}});
    }
    for (const plot::OperationPoint& point : roofline.points) {
        rows.rows.push_back({{"point"},
                             {point.name},
                             {point.level ? std::string(name_of(*point.level)) : std::string()},
                             {source_of(point.origin)},
                             {format(Intensity::from_base(point.x)), point.x},
                             {},
                             performance(point.y),
                             performance(point.low),
                             performance(point.high),
                             {term_of(point.terms, "evidence")},
                             {term_of(point.terms, "question")}});
    }
    return rows;
}

Rows scatter_rows(const plot::Scatter& scatter) {
    Rows rows{.columns = {{"class"},
                          {"question", {}, Shown::where_room},
                          {"measured_us", "measured"},
                          {"predicted_us", "predicted"},
                          {"ratio", "predicted / measured"},
                          {"ratio_low", {}, Shown::never},
                          {"ratio_high", {}, Shown::never},
                          {"evidence"}}};
    for (const plot::Series& group : scatter.groups) {
        for (const plot::SeriesPoint& point : group.points) {
            const double predicted = in_base_units(point.x * point.y, 1.0);
            rows.rows.push_back({{group.name},
                                 {point.name},
                                 {format(point.x * units::us), point.x},
                                 {format(predicted * units::us), predicted},
                                 {fmt::format("{:.3f}", point.y), point.y},
                                 {{}, point.low},
                                 {{}, point.high},
                                 {term_of(point.terms, "evidence")}});
        }
    }
    return rows;
}

Rows sweep_rows(const plot::Sweep& sweep, Ordinate ordinate) {
    const OrdinateColumn y = column_of(ordinate);
    Rows rows{.columns = {{"class"},
                          {"question", {}, Shown::where_room},
                          {"source"},
                          {sweep.x.title},
                          y.column,
                          {"evidence"}}};
    for (const plot::Series& series : sweep.series) {
        for (const plot::SeriesPoint& point : series.points) {
            rows.rows.push_back({{series.name},
                                 {point.name},
                                 {source_of(series.origin)},
                                 {fmt::format("{:.0f}", point.x), point.x},
                                 ordinate_cell(ordinate, in_base_units(point.y, y.unit)),
                                 {term_of(point.terms, "evidence")}});
        }
    }
    return rows;
}

}  // namespace ridge::cli
