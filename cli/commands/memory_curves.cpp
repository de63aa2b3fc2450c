#include "cli/commands/memory_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/options/operation_command.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

/// The largest size whose memory is within the limit; 0 when none is.
std::int64_t largest_within(const MemoryCurves& all, const MemoryLine& line,
                            const MemoryLimit& limit) {
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < all.sizes.size(); ++i) {
        const auto* bytes = std::get_if<Bytes>(&line.memory[i]);
        if (bytes != nullptr && *bytes <= limit.usable) largest = std::max(largest, all.sizes[i]);
    }
    return largest;
}

void write_curves_text(const Context& context, const MemoryCurves& all) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(all.title, width, 2) << '\n';
    Table table{.columns = {{"  " + all.size, Align::right}}, .rows = {}};
    for (const MemoryLine& line : all.lines) table.columns.push_back({line.name, Align::right});
    for (std::size_t i = 0; i < all.sizes.size(); ++i) {
        std::vector<std::string> row{std::to_string(all.sizes[i])};
        for (const MemoryLine& line : all.lines) {
            const auto* bytes = std::get_if<Bytes>(&line.memory[i]);
            row.push_back(bytes == nullptr ? "refused" : format_capacity(*bytes));
        }
        table.rows.push_back(std::move(row));
    }
    write_text(context.out, table);
    if (!all.limits.empty()) context.out << '\n';
    for (const MemoryLimit& limit : all.limits) {
        std::string fits;
        for (const MemoryLine& line : all.lines) {
            const std::int64_t largest = largest_within(all, line, limit);
            fits += (fits.empty() ? "" : ", ") + line.name + " ";
            fits += largest == 0 ? "no size" : fmt::format("up to {}", largest);
        }
        write_sentence(context, fmt::format("{}: enough for {}.", text_of(limit), fits));
    }
}

Table exact_curves(const MemoryCurves& all) {
    Table table{.columns = {{all.size, Align::right},
                            {all.named},
                            {"bytes", Align::right},
                            {"evidence"},
                            {"error"}},
                .rows = {}};
    for (const MemoryLine& line : all.lines) {
        for (std::size_t i = 0; i < all.sizes.size(); ++i) {
            const auto* bytes = std::get_if<Bytes>(&line.memory[i]);
            table.rows.push_back(
                {std::to_string(all.sizes[i]), line.name,
                 bytes == nullptr ? "" : fmt::format("{:.0f}", bytes->base()),
                 bytes == nullptr ? "" : std::string(name_of(line.evidence.grade())),
                 bytes == nullptr ? std::get<std::string>(line.memory[i]) : std::string()});
        }
    }
    return table;
}

Json curves_json(const MemoryCurves& all) {
    Json list = Json::array();
    for (const MemoryLine& line : all.lines) {
        for (std::size_t i = 0; i < all.sizes.size(); ++i) {
            Json json{{all.named, line.name}};
            json[all.size] = all.sizes[i];
            if (const auto* bytes = std::get_if<Bytes>(&line.memory[i])) {
                json["bytes"] = bytes->base();
                json["evidence"] = to_json(line.evidence);
            } else {
                json["refused"] = std::get<std::string>(line.memory[i]);
            }
            list.push_back(std::move(json));
        }
    }
    return list;
}

plot::Chart curves_chart(const MemoryCurves& all) {
    plot::Sweep sweep;
    sweep.title = "Memory of " + all.title;
    sweep.subtitle = all.subtitle;
    sweep.x = {.title = all.size};
    const bool wide = all.sizes.size() > 2 && all.sizes.back() > 8 * all.sizes.front();
    if (wide && all.sizes.front() > 0) sweep.x.scale = plot::Scale::log;
    sweep.y = {.title = "Memory", .unit = "GiB", .scale = plot::Scale::log};
    std::size_t refused = 0;
    for (const MemoryLine& line : all.lines) {
        plot::Series series;
        series.name = line.name;
        for (std::size_t i = 0; i < all.sizes.size(); ++i) {
            const auto* bytes = std::get_if<Bytes>(&line.memory[i]);
            if (bytes == nullptr) {
                ++refused;
                continue;
            }
            plot::SeriesPoint point{.x = static_cast<double>(all.sizes[i]),
                                    .y = bytes->in(units::GiB)};
            point.terms = {{"memory", both_units(*bytes)}};
            series.points.push_back(std::move(point));
        }
        sweep.series.push_back(std::move(series));
    }
    for (const MemoryLimit& limit : all.limits) {
        const double size = limit.usable.in(units::GiB);
        sweep.limits.push_back(
            {.name = limit.label + " " + format_number(size, size < 99.5 ? 2 : 3) + " GiB",
             .y = size});
    }
    if (refused > 0) sweep.notes.push_back(fmt::format("{} sizes are refused", refused));
    return plot::sweep_chart(sweep);
}

}  // namespace

void write_curves(const Context& context, const MemoryCurves& curves, const std::string& given,
                  const ChartOutput& chart) {
    const std::string format = chart.file.empty() ? format_in_pipe(context, given) : given;
    const bool drawn = format == "chart";
    if (drawn || !chart.file.empty()) {
        write_chart_output(context, chart, curves_chart(curves));
        if (drawn || format.empty()) return;
    }
    switch (parse_format(format)) {
        case Format::json:
            write_document(context.out, "lengths", curves_json(curves));
            return;
        case Format::csv:
            write_csv(context.out, exact_curves(curves));
            return;
        case Format::markdown:
            write_markdown(context.out, exact_curves(curves));
            return;
        case Format::table:
            write_curves_text(context, curves);
            return;
    }
}

}  // namespace ridge::cli
