#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/keep_option.h"
#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "measure/fit/fit_bands.h"

namespace ridge::cli {
namespace {

struct FitOptions {
    explicit FitOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::string program;
    std::string data;
    std::vector<std::string> records;
    std::string keep;
};

std::string percent(double part) {
    return fmt::format("{:.2f}", 100.0 * part);
}

Table residual_table(const std::vector<measure::ResidualSummary>& summaries) {
    Table table{.columns = {{"class"},
                            {"rows", Align::right},
                            {"mean %", Align::right},
                            {"median %", Align::right},
                            {"p90 %", Align::right},
                            {"worst %", Align::right},
                            {"bias %", Align::right},
                            {"ln low", Align::right},
                            {"ln high", Align::right},
                            {"in band %", Align::right}},
                .rows = {}};
    for (const measure::ResidualSummary& s : summaries) {
        table.rows.push_back(
            {s.group, std::to_string(s.errors.count), percent(s.errors.mean),
             percent(s.errors.median), percent(s.errors.p90), percent(s.errors.worst),
             fmt::format("{:+.2f}", 100.0 * s.errors.bias),
             fmt::format("{:+.3f}", s.errors.log_low), fmt::format("{:+.3f}", s.errors.log_high),
             fmt::format("{:.0f}", 100.0 * s.errors.coverage)});
    }
    return table;
}

std::string with_gpu(const std::string& gpu, const std::string& text) {
    return gpu.empty() ? text : gpu + ": " + text;
}

/// The fields of a description file, each with how sure it is; comments where it may not be used.
void write_parameters(const Context& context, const measure::FitReport& report) {
    for (const measure::FittedParameter& p : report.parameters) {
        std::string how = fmt::format("+- {:.2g} %", 100.0 * p.standard_error);
        if (!p.correlated_with.empty()) {
            how += fmt::format(", correlation {:+.2f} with {}", p.correlation, p.correlated_with);
        }
        context.out << (report.usable() ? "" : "# not usable: ") << p.field
                    << " = { value = " << p.value << ", source = \"FIT\" }  # "
                    << with_gpu(p.gpu, how) << '\n';
    }
    for (const measure::HeldParameter& p : report.held) {
        context.out << "# not determined: " << p.field << " keeps " << p.value << "  # "
                    << with_gpu(p.gpu, p.reason) << '\n';
    }
}

void write_report(const Context& context, const measure::FitReport& report) {
    context.out << "# fitted on " << report.name << '\n';
    if (!report.seeds.empty()) {
        context.out << fmt::format("# seeds of random shapes seen: {}\n",
                                   fmt::join(report.seeds, ", "));
    }
    context.out << fmt::format("# {} after {} steps, cost {:.4g} (start {:.4g})\n",
                               name_of(report.status), report.iterations, report.cost,
                               report.cost_at_start);
    write_parameters(context, report);
    if (!report.usable()) return;
    context.out << "\nResiduals of the fitted rows:\n";
    write_text(context.out, residual_table(report.fitted));
    context.out << "\nCross-validated, five folds over whole shapes:\n";
    write_text(context.out, residual_table(report.cross_validated));
    context.out << '\n';
}

constexpr std::string_view bands = "bands";

int write_bands(const Context& context, const measure::FitRequest& request) {
    context.out << "// Made by `ridge fit bands`: class, 8 % and 92 % quantile of "
                   "ln(measured / predicted), rows, basis.\n";
    for (const measure::FittedBand& band : measure::fit_bands(request)) {
        context.out << table_line(band) << '\n';
    }
    return success;
}

int run_program(const Context& context, const FitOptions& options) {
    if (options.data.empty() && options.records.empty()) {
        throw InputError("there is nothing to fit to", {},
                         "name tables by --data DIR, or records by --records DIR");
    }
    if (!options.keep.empty() && options.data.empty()) {
        throw InputError("keep: --keep goes with --data");
    }
    Machines machines = options.gpu.machines(context);
    const measure::FitRequest request{
        .data = options.data,
        .gpus = options.gpu.given() ? options.gpu.names() : std::vector<std::string>{},
        .machine = [&machines](const std::string& name) { return machines.at(name); },
        .records = options.records,
        .keep = measure::parse_kept_columns(options.keep)};
    if (options.program == bands) return write_bands(context, request);
    if (!options.data.empty() && !options.records.empty()) {
        throw InputError("--data and --records are both given", {},
                         "only bands take tables and records together");
    }
    for (const measure::FitProgram& program : measure::fit_programs()) {
        if (program.name != options.program) continue;
        int code = success;
        for (const measure::FitReport& report : program.run(request)) {
            write_report(context, report);
            if (report.usable()) continue;
            context.err << "ridge: the fit on " << report.name << " is " << name_of(report.status)
                        << "; its values are not to be used\n";
            code = bad_data;
        }
        return code;
    }
    throw InputError("model is missing", {}, "for example: ridge fit memory --data DIR");
}

}  // namespace

Action build_fit(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<FitOptions>(line);
    std::vector<std::string> names;
    std::string joined;
    for (const measure::FitProgram& program : measure::fit_programs()) {
        names.push_back(program.name);
        joined += (joined.empty() ? "" : ", ") + program.name;
    }
    names.emplace_back(bands);
    joined += ", bands";
    line.positional("model", options->program, "what to fit: " + joined)
        .one_of(names)
        .value("MODEL");
    line.option("--data", options->data, "folder of CSV tables of measured times").value("DIR");
    add_keep_option(line, options->keep);
    line.option("--records", options->records,
                "records of bundled kernels (files or folders), in place of tables")
        .value("PATH");
    line.footer(
        "GPUs named together (--gpu a,b) are fitted together; without --gpu each GPU of the "
        "tables\n"
        "is fitted by itself. The lines printed are fields of a description file, with the\n"
        "standard error and the strongest correlation of each; one that the rows do not\n"
        "determine keeps its value and is a comment. MODEL bands makes the table of 80 %\n"
        "bands, model/roof/band_table.inc, from tables and records together.\n"
        "Example:\n"
        "  ridge fit memory --data measurements --gpu a100-pcie-40gb\n"
        "  ridge fit attention --records measure/records/h200-sxm");
    return [options](const Context& context) { return run_program(context, *options); };
}

}  // namespace ridge::cli
