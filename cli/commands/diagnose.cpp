// `ridge diagnose`: which of my times are slow, why, and what to do.
#include <algorithm>
#include <fstream>
#include <memory>
#include <ostream>

#include "answers/diagnose.h"
#include "answers/times_table.h"
#include "cli/charts/diagnosis_chart.h"
#include "cli/commands/commands.h"
#include "cli/console/table.h"
#include "cli/input/times.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/lists.h"
#include "cli/options/operation_command.h"
#include "cli/views/diagnosis.h"
#include "hardware/error.h"
#include "plot/export.h"

namespace ridge::cli {
namespace {

struct DiagnoseCommand {
    explicit DiagnoseCommand(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::vector<std::string> files;
    std::string others;
    std::string unit;
    std::string output;
    std::string format;
    std::string text;  ///< the command line, for the page
    std::int32_t top = 20;
};

/// The GPUs of --gpu: the first is that of rows that name none, the others are compared with.
struct NamedGpus {
    std::string own;
    std::vector<std::string> others;
};

NamedGpus gpus_of(const DiagnoseCommand& command) {
    NamedGpus named;
    if (command.gpu.known()) {
        std::vector<std::string> names = command.gpu.names();
        named.own = names.front();
        named.others.assign(names.begin() + 1, names.end());
    }
    if (!command.others.empty()) {
        for (const std::string& name : words_in(command.others, "on")) named.others.push_back(name);
    }
    return named;
}

/// If all rows name another GPU than --gpu, the user asks about that one beside theirs.
void settle(NamedGpus& named, const DiagnoseCommand& command, const Times& times,
            Machines& machines) {
    if (!command.gpu.given() || times.rows.empty()) return;
    const std::string own = machines.at(named.own).name;
    const bool elsewhere = std::all_of(times.rows.begin(), times.rows.end(), [&](const auto& row) {
        return machines.at(row.gpu).name != own;
    });
    if (elsewhere) named.others.insert(named.others.begin(), named.own);
}

void write_page(const DiagnoseCommand& command, const answers::Report& report,
                const Context& context) {
    const plot::Chart chart = diagnosis_chart(report);
    if (plot::format_of(command.output) == plot::Format::html) {
        plot::Report page = diagnosis_page(report, command.text);
        if (!chart.spans.empty()) page.blocks.insert(page.blocks.begin() + 1, chart);
        plot::write_bytes(command.output, plot::render_report(page), "page");
    } else {
        plot::write_charts(command.output, std::vector{chart});
    }
    context.err << "wrote " << command.output << '\n';
}

int run_diagnose(const Context& context, const DiagnoseCommand& command) {
    if (command.files.empty()) {
        throw InputError("TIMES is missing", {}, "ridge diagnose times.csv --gpu h100");
    }
    if (command.top < 0) throw InputError("top: a number of rows, or 0 for all");
    const Format format = parse_format(command.format);
    if (!command.output.empty()) {
        static_cast<void>(plot::format_of(command.output));
        plot::require_writable(command.output, "page");
    }
    Machines machines = command.gpu.machines(context);
    NamedGpus named = gpus_of(command);
    const Times times = read_all_times(context, command.files, machines,
                                       {.usual_gpu = named.own, .unit = time_unit(command.unit)});
    settle(named, command, times, machines);
    const answers::Report report = answers::diagnose(
        times.rows, [&](std::string_view gpu) -> const model::Machine& { return machines.at(gpu); },
        named.others);
    if (command.output.empty()) {
        write_diagnosis(context, report, static_cast<std::size_t>(command.top), format);
    } else {
        write_page(command, report, context);
    }
    const bool none = report.unknown == static_cast<std::int64_t>(report.cases.size());
    return times.damaged || none ? bad_data : success;
}

}  // namespace

Action build_diagnose(CommandLine& line, std::span<const std::string> arguments) {
    const auto command = std::make_shared<DiagnoseCommand>(line);
    command->text = command_text("ridge diagnose", arguments);
    line.positional("times", command->files,
                    "tables (.csv, .tsv; - is stdin), records, or a trace or report that `ridge "
                    "trace` reads")
        .value("TIMES");
    line.option("--on", command->others, "other GPUs to compare with, separated by commas")
        .value("NAMES");
    line.option("--unit", command->unit, "unit of a time column whose name has none")
        .one_of({"ns", "us", "ms", "s"});
    line.option("--top", command->top, "rows to show (0: all)");
    line.option("-o,--output", command->output,
                "page (.html) with the verdict, or its chart (.svg, .png, .pdf)")
        .value("FILE");
    add_format_option(line, command->format, "table|json|csv|md");
    line.footer(
        "Examples:\n"
        "  ridge diagnose times.csv --gpu h100\n"
        "  ridge diagnose times.csv --gpu h100 --on b200 -o times.html\n"
        "  ridge diagnose records/ --gpu b200          # what another GPU would give\n"
        "A table: name,op,m,n,k,time_us          with the fields of `ridge ops`, and\n"
        "         qkv,matmul,4096,6144,4096,412  time_us, time_ms, ... for one call.");
    return [command](const Context& context) { return run_diagnose(context, *command); };
}

}  // namespace ridge::cli
