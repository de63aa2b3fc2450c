// `ridge check`: did anything become slower since the baseline, and why.
#include <memory>

#include "answers/gate.h"
#include "cli/commands/commands.h"
#include "cli/input/timed_runs.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/gate.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "model/core/fields.h"
#include "plot/export.h"

namespace ridge::cli {
namespace {

struct CheckCommand {
    explicit CheckCommand(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::vector<std::string> files;
    std::string budget = "3%";
    std::string junit;
    std::string format;
    std::int64_t top = 20;
};

/// "3%" or "0.03".
double share_of(const std::string& text) {
    const bool percent = text.ends_with('%');
    const std::string number = percent ? text.substr(0, text.size() - 1) : text;
    const double value = parse_number(number, "budget") / (percent ? 100.0 : 1.0);
    if (!(value > 0.0) || value >= 1.0) {
        throw InputError("budget: a share above 0 and below 100 %", {}, "--budget 3%");
    }
    return value;
}

int run_check(const Context& context, const CheckCommand& command) {
    if (command.files.size() != 2) {
        throw InputError("a baseline and what is compared with it", {},
                         "ridge check baseline.json.gz now.json.gz");
    }
    if (command.top < 0) throw InputError("top: a number of rows, or 0 for all");
    const Format format = parse_format(command.format);
    const answers::GateOptions options{.budget = share_of(command.budget)};
    Machines machines = command.gpu.machines(context);
    const auto before = read_runs(context, command.files.front(), machines);
    const auto now = read_runs(context, command.files.back(), machines);
    const answers::GateReport report = answers::compare(before, now, options);
    write_gate(context, report, static_cast<std::size_t>(command.top), format);
    if (!command.junit.empty()) {
        plot::write_bytes(command.junit, junit_of(report), "report");
    }
    switch (report.verdict) {
        case answers::GateVerdict::slower:
            return bound_exceeded;
        case answers::GateVerdict::not_measured:
            return bad_data;
        case answers::GateVerdict::within:
            break;
    }
    return success;
}

}  // namespace

Action build_check(CommandLine& line, std::span<const std::string> /*arguments*/) {
    const auto command = std::make_shared<CheckCommand>(line);
    line.positional("runs", command->files,
                    "the baseline, then what is compared with it: traces, records, tables with a "
                    "column of times; several runs of a side with commas, or in a folder")
        .value("BASELINE NOW");
    line.option("--budget", command->budget, "growth that is allowed (default 3%)").value("SHARE");
    line.option("--junit", command->junit, "also write the verdict as JUnit's XML").value("FILE");
    line.option("--top", command->top, "changes to show (default 20; 0: all)");
    add_format_option(line, command->format, "table|json|csv|md");
    line.footer(
        "Examples:\n"
        "  ridge check baseline.json.gz now.json.gz\n"
        "  ridge check baseline/ now/ --budget 2% --junit check.xml  # several runs\n"
        "  ridge check old.csv new.csv --format md                   # a pull request\n"
        "Exit code 4: something is slower than the budget allows. 2: no verdict.");
    return [command](const Context& context) { return run_check(context, *command); };
}

}  // namespace ridge::cli
