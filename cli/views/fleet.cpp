#include "cli/views/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/console/json_document.h"
#include "cli/console/percent.h"
#include "cli/console/table.h"
#include "hardware/json.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using measure::GpuStanding;
using measure::LinkStanding;
using measure::Standing;
using measure::WorkKind;

constexpr std::size_t most_links = 10;

const std::optional<Standing>& work_of(const GpuStanding& gpu, WorkKind kind) {
    return gpu.work[static_cast<std::size_t>(kind)];
}

std::string standing_text(const std::optional<Standing>& standing) {
    return standing ? signed_percent(standing->ratio - 1.0) : std::string();
}

Table gpu_table(std::span<const GpuStanding> gpus) {
    Table table{.columns = {{"GPU"},
                            {"kind"},
                            {"shared", Align::right},
                            {"compute", Align::right},
                            {"DRAM", Align::right},
                            {"other", Align::right},
                            {"measured / predicted", Align::right},
                            {"temperature", Align::right},
                            {"clock", Align::right},
                            {"throttled", Align::right}},
                .rows = {}};
    for (const GpuStanding& gpu : gpus) {
        table.rows.push_back({gpu.label, gpu.name, std::to_string(gpu.shared),
                              standing_text(work_of(gpu, WorkKind::compute)),
                              standing_text(work_of(gpu, WorkKind::memory)),
                              standing_text(work_of(gpu, WorkKind::other)),
                              gpu.predicted ? fmt::format("{:.3f}", *gpu.predicted) : "",
                              gpu.temperature ? fmt::format("{:.0f} C", *gpu.temperature) : "",
                              gpu.clock ? format(*gpu.clock) : "",
                              fmt::format("{:.1f} %", 100.0 * gpu.throttled)});
    }
    return table;
}

Table link_table(std::span<const LinkStanding> links) {
    Table table{.columns = {{"link"},
                            {"kind"},
                            {"measured", Align::right},
                            {"usual", Align::right},
                            {"ratio", Align::right}},
                .rows = {}};
    for (const LinkStanding& link : links) {
        if (table.rows.size() == most_links) break;
        table.rows.push_back(
            {link.link, link.kind, link.measured, link.usual, fmt::format("{:.3f}", link.ratio)});
    }
    return table;
}

std::vector<std::string> faults_of(std::span<const GpuStanding> gpus,
                                   std::span<const LinkStanding> links) {
    std::vector<std::string> faults;
    for (const GpuStanding& gpu : gpus) {
        for (const std::string& fault : gpu.faults) faults.push_back(gpu.label + " is " + fault);
    }
    for (const LinkStanding& link : links) {
        if (!link.slow) continue;
        faults.push_back(fmt::format("{} is slow: {}, {} where {} is usual", link.link, link.kind,
                                     link.measured, link.usual));
    }
    return faults;
}

constexpr std::string_view legend =
    "Times over those of GPUs of the same kind, medians over the questions that both answered, by "
    "what\n"
    "bounds the kernel. Two suites on one GPU differ by up to 3 %.\n";

void write_report(const Context& context, std::span<const GpuStanding> gpus,
                  std::span<const LinkStanding> links, Format format) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    const auto write = format == Format::markdown ? write_markdown : write_text;
    const std::vector<std::string> faults = faults_of(gpus, links);
    if (faults.empty()) context.out << "nothing stands out\n";
    for (const std::string& fault : faults) {
        context.out << "- " << wrap(printable(fault), width, 2, 2) << '\n';
    }
    context.out << '\n';
    write(context.out, gpu_table(gpus));
    context.out << '\n' << legend;
    if (links.empty()) return;
    context.out << '\n';
    write(context.out, link_table(links));
}

Json to_json(const std::optional<Standing>& standing) {
    if (!standing) return {};
    return {{"questions", standing->questions}, {"ratio", standing->ratio}};
}

Json to_json(const GpuStanding& gpu) {
    return {{"gpu", gpu.label},
            {"kind", gpu.name},
            {"records", gpu.records},
            {"shared", gpu.shared},
            {"compute", to_json(work_of(gpu, WorkKind::compute))},
            {"memory", to_json(work_of(gpu, WorkKind::memory))},
            {"other", to_json(work_of(gpu, WorkKind::other))},
            {"measured_over_predicted", gpu.predicted ? Json(*gpu.predicted) : Json()},
            {"temperature_celsius", gpu.temperature ? Json(*gpu.temperature) : Json()},
            {"clock_hz", gpu.clock ? Json(gpu.clock->base()) : Json()},
            {"throttled", gpu.throttled},
            {"clock_reasons", gpu.reasons},
            {"faults", gpu.faults}};
}

void write_json(const Context& context, std::span<const GpuStanding> gpus,
                std::span<const LinkStanding> links) {
    Json json{
        {"gpus", Json::array()}, {"links", Json::array()}, {"faults", faults_of(gpus, links)}};
    for (const GpuStanding& gpu : gpus) json["gpus"].push_back(to_json(gpu));
    for (const LinkStanding& link : links) {
        json["links"].push_back({{"link", link.link},
                                 {"kind", link.kind},
                                 {"measured", link.measured},
                                 {"usual", link.usual},
                                 {"ratio", link.ratio},
                                 {"slow", link.slow}});
    }
    write_document(context.out, "fleet", json);
}

}  // namespace

void write_fleet(const Context& context, std::span<const GpuStanding> gpus,
                 std::span<const LinkStanding> links, Format format) {
    switch (format) {
        case Format::json:
            write_json(context, gpus, links);
            break;
        case Format::csv:
            write_csv(context.out, gpu_table(gpus));
            break;
        default:
            write_report(context, gpus, links, format);
            break;
    }
}

}  // namespace ridge::cli
