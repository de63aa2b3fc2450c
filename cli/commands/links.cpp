// `ridge links`: what the links between the GPUs of this machine, and to its host, carry.
#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "cli/charts/chart_output.h"
#include "cli/charts/link_chart.h"
#include "cli/commands/commands.h"
#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/operation_command.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "measure/ranks/link_survey_json.h"

namespace ridge::cli {
namespace {

using measure::HostLink;
using measure::LinkSurvey;

struct LinksOptions {
    ChartOutput output;
    std::string format;
};

LinkSurvey surveyed_links(const Context& context) {
    auto found = context.survey_links();
    if (const auto* missing = std::get_if<measure::Unavailable>(&found)) {
        throw DeviceError(missing->remedy.empty() ? missing->reason
                                                  : missing->reason + "\n  " + missing->remedy);
    }
    return std::get<LinkSurvey>(std::move(found));
}

Table pairs_table(const LinkSurvey& survey) {
    Table table{.columns = {{"from"}, {"to"}, {"one way"}, {"both ways"}, {"load"}}, .rows = {}};
    for (std::size_t from = 0; from < survey.gpus.size(); ++from) {
        for (std::size_t to = 0; to < survey.gpus.size(); ++to) {
            const auto& one = survey.one_way[from][to];
            const auto& both = survey.both_ways[from][to];
            const auto& load = survey.load[from][to];
            if (!one && !load) continue;
            table.rows.push_back({std::to_string(from), std::to_string(to), one ? format(*one) : "",
                                  both ? format(*both) : "", load ? format(*load) : ""});
        }
    }
    return table;
}

Table hosts_table(const LinkSurvey& survey) {
    Table table{.columns = {{"GPU"},
                            {"to GPU"},
                            {"to host"},
                            {"both ways"},
                            {"to GPU, all at once"},
                            {"to host, all at once"},
                            {"to GPU, pageable"},
                            {"to host, pageable"}},
                .rows = {}};
    for (std::size_t gpu = 0; gpu < survey.host.size(); ++gpu) {
        const HostLink& link = survey.host[gpu];
        table.rows.push_back({std::to_string(gpu), format(link.to_device), format(link.to_host),
                              format(link.both_ways), format(link.together_to_device),
                              format(link.together_to_host), format(link.pageable_to_device),
                              format(link.pageable_to_host)});
    }
    return table;
}

int show_links(const Context& context, const LinksOptions& options) {
    require_place(options.output);
    const LinkSurvey survey = surveyed_links(context);
    switch (parse_format(options.format)) {
        case Format::json:
            write_document(context.out, "links", measure::json_of(survey));
            break;
        case Format::csv:
            write_csv(context.out, pairs_table(survey));
            break;
        case Format::markdown:
            write_markdown(context.out, pairs_table(survey));
            break;
        case Format::table:
            write_text(context.out, pairs_table(survey));
            context.out << '\n';
            write_text(context.out, hosts_table(survey));
            break;
    }
    if (!options.output.file.empty()) {
        write_chart_output(context, options.output, link_chart(survey));
    }
    return success;
}

}  // namespace

Action build_links(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<LinksOptions>();
    add_chart_options(line, options->output);
    add_format_option(line, options->format, "table|json|csv|md");
    line.footer(
        "`both ways` is the sum of both directions at once, `load` the latency of a load\n"
        "by the GPU `from` from the memory of `to`. -o draws the bandwidth between GPUs.\n"
        "Example:\n"
        "  ridge links -o links.svg\n"
        "Exit code 3 when there is no device to measure on.");
    return [options](const Context& context) { return show_links(context, *options); };
}

}  // namespace ridge::cli
