// `ridge trace`: what a recorded program spent its time on, and how much it could save.
#include "cli/commands/trace.h"

#include <memory>
#include <ostream>
#include <span>

#include "answers/timed_runs.h"
#include "cli/charts/program_charts.h"
#include "cli/charts/rank_chart.h"
#include "cli/commands/commands.h"
#include "cli/console/json_document.h"
#include "cli/input/nsight_report.h"
#include "cli/options/command_line.h"
#include "cli/options/operation_command.h"
#include "cli/views/ranks.h"
#include "cli/views/trace.h"
#include "hardware/error.h"
#include "plot/export.h"
#include "programs/report/rank_report.h"
#include "programs/report/trace_report.h"
#include "programs/traces/trace_set.h"

namespace ridge::cli {
namespace {

/// Whether the file is a page (.html) rather than a chart; InputError for an unknown ending.
bool is_page(const std::string& file) {
    return plot::format_of(file) == plot::Format::html;
}

/// The GPU that --gpu names, else the one that the trace names.
const model::Machine& machine_of(const TraceOptions& options, Machines& machines,
                                 const programs::Trace& trace) {
    if (options.gpu.given()) return machines.at(options.gpu.name());
    const std::string device = trace.device_name();
    if (device.empty()) {
        throw InputError("gpu: the trace does not name its GPU", {.file = trace.file},
                         "give --gpu NAME");
    }
    return machines.at(device);
}

/// Whether the prediction is for the GPU that the trace names. If ridge does not know that GPU, it
/// is assumed to be the one that the user names.
programs::Target target_of(const programs::Trace& trace, const model::Machine& machine,
                           Machines& machines) {
    const std::string device = trace.device_name();
    if (device.empty()) {
        const std::int64_t capability = trace.capability();
        const bool other = capability > 0 && machine.compute_capability > 0 &&
                           capability != machine.compute_capability;
        return other ? programs::Target::other : programs::Target::recorded;
    }
    try {
        return machines.at(device).name == machine.name ? programs::Target::recorded
                                                        : programs::Target::other;
    } catch (const InputError&) {
        return programs::Target::recorded;
    }
}

void write_one(const Context& context, const programs::TraceReport& report, Format format,
               std::size_t rows) {
    switch (format) {
        case Format::json:
            write_document(context.out, "trace", to_json(report));
            break;
        case Format::csv:
            write_csv(context.out, operator_table(report, true));
            break;
        case Format::markdown:
            write_markdown(context.out, operator_table(report, false));
            break;
        case Format::table:
            write_report(context, report, rows);
            break;
    }
}

void write_file(const Context& context, const std::string& file, const programs::Trace& trace,
                const programs::TraceReport& report, Machines& machines) {
    const ProgramCharts program(trace, report, machines.at(report.machine),
                                machines.description(report.machine));
    if (is_page(file)) {
        plot::write_bytes(file, plot::render_report(program.page()));
    } else {
        const std::vector<plot::Chart> charts = program.charts();
        if (charts.empty())
            throw InputError("the trace has no kernels to draw", {.file = trace.file});
        plot::write_charts(file, charts);
    }
    context.err << "wrote " << file << '\n';
}

/// The GPU that predicts collectives; none if the traces name one that ridge does not know.
const model::Machine* machine_of_ranks(const TraceOptions& options, Machines& machines,
                                       const std::vector<programs::Trace>& traces) {
    if (options.gpu.given()) return &machines.at(options.gpu.name());
    const std::string device = traces.front().device_name();
    const bool known = !machines.catalogue().canonical_name(device).empty();
    return known ? &machines.at(device) : nullptr;
}

int report_ranks(const Context& context, const TraceOptions& options,
                 const std::vector<std::vector<std::string>>& runs) {
    Machines machines = options.gpu.machines(context);
    std::vector<programs::Trace> traces;
    bool damaged = false;
    for (const std::vector<std::string>& files : runs) {
        traces.push_back(programs::read_run(files));
        programs::Trace& read = traces.back();
        if (!options.range.empty()) programs::keep_range(read, options.range);
        if (read.read.damage.empty()) continue;
        context.err << "ridge: " << printable(read.file) << ": " << printable(read.read.damage)
                    << '\n';
        damaged = true;
    }
    const programs::RankReport report =
        programs::ranks_of(traces, machine_of_ranks(options, machines, traces));
    const auto rows = static_cast<std::size_t>(options.top);
    switch (parse_format(options.format)) {
        case Format::json:
            write_document(context.out, "ranks", to_json(report));
            break;
        case Format::csv:
            write_csv(context.out, collective_table(report, 0));
            break;
        case Format::markdown:
            write_markdown(context.out, collective_table(report, rows));
            break;
        case Format::table:
            write_ranks(context, report, rows);
            break;
    }
    if (!options.output.empty()) {
        plot::write_charts(options.output, std::vector{rank_chart(report)});
        context.err << "wrote " << options.output << '\n';
    }
    return damaged ? bad_data : success;
}

}  // namespace

void require_report_place(const TraceOptions& options) {
    static_cast<void>(is_page(options.output));
    plot::require_writable(options.output, "report");
}

namespace {

/// What belongs to one trace is refused for two.
void require_one_trace(const TraceOptions& options, std::size_t runs) {
    if (!options.execution.empty() && runs > 1) {
        throw InputError("execution: an execution trace belongs to one trace, not two");
    }
    if (options.output.empty()) return;
    require_report_place(options);
    if (runs > 1) throw InputError("output: -o takes one trace, not two");
}

}  // namespace

int report_traces(const Context& context, const TraceOptions& options) {
    if (options.files.empty()) {
        throw InputError("FILE is missing", {}, "ridge trace trace.json.gz");
    }
    const ImportedReports imported(options.files);
    const auto runs = programs::runs_of(imported.files());
    if (options.top < 0) throw InputError("top: a number of rows, or 0 for all");
    if (options.ranks) {
        if (!options.output.empty()) require_report_place(options);
        return report_ranks(context, options, runs);
    }
    if (runs.size() > 2) {
        throw InputError("FILE: one trace, or two to compare", {}, "the ranks of a run: --ranks");
    }
    const Format format = parse_format(options.format);
    require_one_trace(options, runs.size());
    Machines machines = options.gpu.machines(context);
    std::vector<programs::TraceReport> reports;
    std::vector<answers::TimedRun> timed;
    bool damaged = false;
    for (const std::vector<std::string>& files : runs) {
        programs::Trace read = programs::read_run(files);
        if (files.size() == 1) read.file = imported.name_of(files.front());
        if (!options.range.empty()) programs::keep_range(read, options.range);
        if (!options.execution.empty()) {
            read.execution = programs::read_execution_trace(options.execution);
        }
        const model::Machine& machine = machine_of(options, machines, read);
        reports.push_back(programs::report_of(read, machine, target_of(read, machine, machines)));
        if (runs.size() > 1) timed.push_back(answers::run_of(read, reports.back()));
        if (!options.output.empty()) {
            write_file(context, options.output, read, reports.back(), machines);
        }
        if (!read.read.damage.empty()) {
            context.err << "ridge: " << printable(read.file) << ": " << printable(read.read.damage)
                        << '\n';
            damaged = true;
        }
    }
    if (!options.output.empty()) return damaged ? bad_data : success;
    const auto rows = static_cast<std::size_t>(options.top);
    if (reports.size() == 2 && format == Format::table) {
        write_comparison(context, reports[0], reports[1],
                         answers::compare(std::span(timed).first(1), std::span(timed).last(1)),
                         rows);
    } else if (reports.size() == 2 && format == Format::json) {
        Json both = Json::array();
        for (const programs::TraceReport& report : reports) both.push_back(to_json(report));
        context.out << both.text(2) << '\n';
    } else {
        for (const programs::TraceReport& report : reports) {
            write_one(context, report, format, rows);
        }
    }
    return damaged ? bad_data : success;
}

void add_trace_options(CommandLine& line, TraceOptions& options) {
    line.option("--range", options.range,
                "only what ran within NVTX ranges or annotations of this name")
        .value("NAME");
    line.option("--top", options.top, "operators and savings to show (default 20; 0: all)");
    add_format_option(line, options.format, "table|json|csv|md");
}

Action build_trace(CommandLine& line, std::span<const std::string> /*arguments*/) {
    const auto options = std::make_shared<TraceOptions>(line);
    line.positional("file", options->files,
                    "trace of the PyTorch profiler or JAX (.json, .json.gz, .xplane.pb), Nsight "
                    "Systems (.sqlite), Nsight Compute (.csv, .ncu-rep), rocprofv3 (.csv) or ridge "
                    "profile (.ridge, those of one run together); two are compared")
        .value("FILE");
    add_trace_options(line, *options);
    line.flag("--ranks", options->ranks,
              "the files are the ranks of one run: who waited for whom, and what was exposed");
    line.option(
            "--execution", options->execution,
            "execution trace of the same run (torch.profiler.ExecutionTraceObserver), which says "
            "what each operator reads and writes")
        .value("FILE");
    line.option("-o,--output", options->output,
                "report as a page (.html), or its charts (.svg, .png, .pdf)")
        .value("FILE");
    line.footer(
        "Examples:\n"
        "  ridge trace trace.json.gz\n"
        "  ridge trace trace.json.gz --gpu b200         # the same program on another GPU\n"
        "  ridge trace before.json.gz after.json.gz     # what changed\n"
        "  ridge trace trace.json.gz -o report.html     # with timeline and roofline\n"
        "  ridge trace --ranks rank*.json.gz -o ranks.svg\n"
        "A trace: with torch.profiler.profile(record_shapes=True) as p: ...\n"
        "         p.export_chrome_trace(\"trace.json.gz\")");
    return [options](const Context& context) { return report_traces(context, *options); };
}

}  // namespace ridge::cli
