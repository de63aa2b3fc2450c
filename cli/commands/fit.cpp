// `ridge fit`: parameters, bands and corrections of the model, fitted to tables or records.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/keep_option.h"
#include "cli/options/operation_command.h"
#include "cli/views/fit.h"
#include "hardware/document.h"
#include "hardware/error.h"
#include "measure/fit/fit.h"
#include "measure/fit/fit_bands.h"
#include "measure/fit/fit_residual.h"
#include "measure/fit/fit_widths.h"
#include "plot/export.h"

namespace ridge::cli {
namespace {

struct FitOptions {
    explicit FitOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::string program;
    std::string data;
    std::vector<std::string> records;
    std::string keep;
    std::string source;
    std::string format;
    std::string output;
    bool held_out = false;
};

constexpr std::string_view bands = "bands";

std::optional<Format> format_of(const FitOptions& options) {
    if (options.format.empty() || options.format == "file") return std::nullopt;
    return parse_format(options.format);
}

constexpr std::string_view residual = "residual";
constexpr std::string_view widths = "widths";

/// The source of a correction: the user's words, else the names of the data.
std::string source_of(const FitOptions& options, std::size_t rows) {
    std::string from = options.source;
    if (from.empty()) {
        std::vector<std::string> names;
        if (!options.data.empty()) names.push_back(options.data);
        names.insert(names.end(), options.records.begin(), options.records.end());
        for (std::string& name : names) {
            name = std::filesystem::path(name).lexically_normal().filename().string();
        }
        from = fmt::format("{}", fmt::join(names, ", "));
    }
    std::string gpus;
    if (options.gpu.given()) gpus = fmt::format(" --gpu {}", fmt::join(options.gpu.names(), ","));
    return fmt::format("ridge fit residual{}: residuals of {} rows; {}", gpus, rows, from);
}

/// Writes one overlay for each GPU to the folder of --output or, without a format, to the console.
void write_overlays(const Context& context, const FitOptions& options,
                    const std::vector<measure::ResidualReport>& reports) {
    std::map<std::string, std::size_t> gpus;
    for (const measure::ResidualReport& report : reports) gpus[report.gpu] += report.rows;
    for (const auto& [gpu, rows] : gpus) {
        const std::string overlay = residual_overlay(reports, gpu, source_of(options, rows));
        if (options.output.empty()) {
            if (!format_of(options)) context.out << overlay << '\n';
            continue;
        }
        const auto path = std::filesystem::path(options.output) / (gpu + ".residual.toml");
        plot::write_bytes(path.string(), overlay, "overlay");
        context.err << "wrote " << path.string() << '\n';
    }
}

int fit_corrections(const Context& context, const FitOptions& options,
                    const measure::FitRequest& request) {
    if (!options.output.empty()) plot::require_writable_folder(options.output, "overlays");
    const std::vector<measure::ResidualReport> reports = measure::fit_residuals(request);
    if (reports.empty()) throw InputError("no rows of these GPUs to fit a correction to");
    write_overlays(context, options, reports);
    write_corrections(context, reports, format_of(options));
    return success;
}

/// Prints the widths, or writes them into a file of bands.
int fit_band_widths(const Context& context, const FitOptions& options,
                    const measure::FitRequest& request) {
    std::string before;
    if (!options.output.empty()) before = hardware::read_text_file(options.output);
    const measure::FittedWidths fitted = measure::fit_widths(request);
    if (!options.output.empty()) {
        plot::write_bytes(options.output, measure::with_widths(before, fitted), "bands");
        context.err << "wrote " << options.output << '\n';
    }
    write_widths(context, fitted, format_of(options));
    return success;
}

int run_program(const Context& context, const FitOptions& options) {
    if (options.data.empty() && options.records.empty()) {
        throw InputError("there is nothing to fit to", {},
                         "give tables with --data DIR, or records with --records DIR");
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
        .keep = measure::parse_kept_columns(options.keep),
        .held_out = options.held_out};
    if (options.held_out && options.program != bands) {
        throw InputError("held-out: --held-out goes with bands");
    }
    if (!options.output.empty() && options.program != residual && options.program != widths) {
        throw InputError("output: --output goes with residual and widths");
    }
    if (options.program == bands) {
        write_bands(context, measure::fit_bands(request), format_of(options));
        return success;
    }
    if (options.program == residual) return fit_corrections(context, options, request);
    if (options.program == widths) return fit_band_widths(context, options, request);
    if (!options.source.empty()) throw InputError("source: --source goes with residual");
    if (!options.data.empty() && !options.records.empty()) {
        throw InputError("--data and --records are both given", {},
                         "only bands, residual and widths take tables and records together");
    }
    for (const measure::FitProgram& program : measure::fit_programs()) {
        if (program.name != options.program) continue;
        const std::vector<measure::FitReport> reports = program.run(request);
        if (reports.empty()) {
            throw InputError("there are no rows of these GPUs to fit " + program.name + " to",
                             {options.data.empty() ? options.records.front() : options.data});
        }
        write_fits(context, reports, format_of(options));
        int code = success;
        for (const measure::FitReport& report : reports) {
            if (report.usable()) continue;
            context.err << "ridge: the fit on " << report.name << " is " << name_of(report.status)
                        << "; do not use its values\n";
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
    names.emplace_back(residual);
    names.emplace_back(bands);
    names.emplace_back(widths);
    joined += ", residual, bands, widths";
    line.positional("model", options->program, "what to fit: " + joined)
        .one_of(names)
        .value("MODEL");
    line.option("--data", options->data, "folder of CSV tables of measured times").value("DIR");
    add_keep_option(line, options->keep);
    line.option("--records", options->records,
                "records of bundled kernels (files or folders), instead of tables")
        .value("PATH");
    line.option("-o,--output", options->output,
                "folder for the overlays that residual writes, one for each GPU; for widths, the "
                "file of bands that they go into")
        .value("PATH");
    line.option("--source", options->source,
                "source of the data, cited in the overlays of residual")
        .value("TEXT");
    line.flag("--held-out", options->held_out,
              "for bands: no fit has seen these rows, so 10 % lie outside on each side, not 8");
    add_format_option(line, options->format, "file|table|json|csv|md");
    line.footer(
        "GPUs named together (--gpu a,b) are fitted together; without --gpu, each GPU in\n"
        "the tables is fitted by itself. The output lines are fields of a description\n"
        "file, each with its standard error and strongest correlation. A field that the\n"
        "rows do not determine keeps its value and becomes a comment. --format prints\n"
        "rows instead. MODEL bands makes the table of 80 % bands,\n"
        "calibration/bands.toml, from tables and records. MODEL residual corrects the\n"
        "errors of the analytic model, in one overlay for each GPU. MODEL widths makes\n"
        "the tables of how the width of a band depends on the time and the kernel.\n"
        "Example:\n"
        "  ridge fit memory --data measurements --gpu a100-pcie-40gb\n"
        "  ridge fit attention --records records/h200-sxm");
    return [options](const Context& context) { return run_program(context, *options); };
}

}  // namespace ridge::cli
