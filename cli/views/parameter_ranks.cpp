#include "cli/views/parameter_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "cli/console/rows.h"

namespace ridge::cli {
namespace {

Cell points_of(double part) {
    return {fmt::format("{:.3f}", 100.0 * part), part};
}

Cell error_of(double relative) {
    if (std::isinf(relative)) return {};
    return {fmt::format("{:.2g} %", 100.0 * relative), relative};
}

}  // namespace

void write_parameter_ranks(const Context& context, const measure::ParameterRanks& found,
                           Format format) {
    constexpr std::size_t shown = 30;
    const bool people = format == Format::table || format == Format::markdown;
    Rows rows{.columns = {{"parameter"},
                          {"mean_error_change", "points"},
                          {"class", "of"},
                          {"standard_error", "std. error"},
                          {"like", "moves like", Shown::where_room},
                          {"cosine", {}, Shown::where_room}}};
    for (const measure::ParameterRank& each : found.ranks) {
        if (people && rows.rows.size() == shown) break;
        const bool alone = each.like == nullptr;
        rows.rows.push_back(
            {{each.parameter->field.path},
             points_of(each.points),
             {each.moved},
             error_of(each.standard_error),
             {alone ? std::string() : each.like->field.path},
             alone ? Cell{} : Cell{fmt::format("{:+.2f}", each.cosine), each.cosine}});
    }
    write_rows(context, rows, format);
    if (!people) return;
    context.out << fmt::format(
        "\n{} parameters, each moved by a quarter: {} carry nine tenths of the changes, {} change "
        "no class by "
        "0.01 points.\n",
        found.ranks.size(), found.most, found.idle);
}

}  // namespace ridge::cli
