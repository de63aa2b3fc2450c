#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/options/gpu_options.h"
#include "cli/views/table.h"
#include "hardware/error.h"
#include "measure/fit/fit.h"

namespace ridge::cli {
namespace {

struct FitOptions {
    explicit FitOptions(CLI::App& app) : gpu(app) {}

    GpuOptions gpu;
    std::string program;
    std::string data;
    std::vector<std::string> records;
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
        table.rows.push_back({s.group, std::to_string(s.count), percent(s.mean), percent(s.median),
                              percent(s.p90), percent(s.worst),
                              fmt::format("{:+.2f}", 100.0 * s.bias), fmt::format("{:+.3f}", s.low),
                              fmt::format("{:+.3f}", s.high),
                              fmt::format("{:.0f}", 100.0 * s.coverage)});
    }
    return table;
}

void write_report(const Context& context, const measure::FitReport& report) {
    context.out << "# fitted on " << report.name << '\n';
    for (const measure::FittedParameter& parameter : report.parameters) {
        context.out << parameter.field << " = { value = " << parameter.value
                    << ", source = \"FIT\" }";
        if (!parameter.gpu.empty()) context.out << "  # " << parameter.gpu;
        context.out << '\n';
    }
    context.out << "\nResiduals of the fitted rows:\n";
    write_text(context.out, residual_table(report.fitted));
    context.out << "\nCross-validated, five folds over whole shapes:\n";
    write_text(context.out, residual_table(report.cross_validated));
    context.out << '\n';
}

int run_program(const Context& context, const FitOptions& options) {
    if (options.data.empty() && options.records.empty()) {
        throw InputError("there is nothing to fit to", {},
                         "name tables by --data DIR, or records by --records DIR");
    }
    Machines machines = options.gpu.machines();
    const measure::FitRequest request{
        .data = options.data,
        .gpus = options.gpu.given() ? options.gpu.names() : std::vector<std::string>{},
        .machine = [&machines](const std::string& name) { return machines.at(name); },
        .records = options.records};
    for (const measure::FitProgram& program : measure::fit_programs()) {
        if (program.name != options.program) continue;
        for (const measure::FitReport& report : program.run(request)) write_report(context, report);
        return success;
    }
    throw InputError("model is missing", {}, "for example: ridge fit memory --data DIR");
}

}  // namespace

Action build_fit(CLI::App& app, std::span<const std::string>) {
    const auto options = std::make_shared<FitOptions>(app);
    std::vector<std::string> names;
    for (const measure::FitProgram& program : measure::fit_programs()) {
        names.push_back(program.name);
    }
    app.add_option("model", options->program, "what to fit: " + CLI::detail::join(names, ", "))
        ->check(CLI::IsMember(names))
        ->type_name("MODEL");
    auto* const data =
        app.add_option("--data", options->data, "folder of CSV tables of measured times")
            ->type_name("DIR");
    app.add_option("--records", options->records,
                   "records of bundled kernels (files or folders), in place of tables")
        ->excludes(data)
        ->type_name("PATH");
    app.footer(
        "GPUs named together (--gpu a,b) are fitted together; without --gpu each GPU of the "
        "tables\n"
        "is fitted by itself. The lines printed are fields of a description file.\n"
        "Example:\n"
        "  ridge fit memory --data measurements --gpu a100-pcie-40gb\n"
        "  ridge fit attention --records measure/records/h200-sxm");
    return [options](const Context& context) { return run_program(context, *options); };
}

}  // namespace ridge::cli
