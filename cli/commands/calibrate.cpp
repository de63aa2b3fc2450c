#include "cli/commands/calibrate.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/console/interruption.h"
#include "cli/console/rows.h"
#include "cli/console/version.h"
#include "cli/options/command_line.h"
#include "cli/options/keep_option.h"
#include "cli/options/operation_command.h"
#include "hardware/error.h"
#include "plot/export.h"

namespace ridge::cli {

const hardware::Description& base_of(const CalibrateArguments& arguments,
                                     const model::Catalogue& catalogue,
                                     const measure::DeviceInfo& info) {
    const model::View view = arguments.gpu.view();
    if (arguments.gpu.given()) return catalogue.at(arguments.gpu.name(), view);
    const std::string name = catalogue.canonical_name(info.name);
    if (name.empty()) {
        throw InputError(
            "no GPU description is called '" + info.name + "'", {},
            "name the description to add to with --gpu, or write one and give it with --gpu-file");
    }
    return catalogue.at(name, view);
}

measure::Calibration measure_ceilings(const Context& context, measure::Device& device,
                                      measure::CalibrateOptions options) {
    options.tool = std::string("ridge ") + version;
    if (context.terminal) {
        options.progress = [&context](std::string_view step, std::int64_t done,
                                      std::int64_t total) {
            context.err << fmt::format("\r\033[K{}/{} {}", done + 1, total, step) << std::flush;
        };
    }
    measure::Calibration calibration = measure::calibrate(device, options);
    if (context.terminal) context.err << "\r\033[K";
    return calibration;
}

namespace {

void write_results(const Context& context, const measure::Calibration& calibration, Format format) {
    Rows rows{.columns = {{"field"}, {"value"}, {"note"}}};
    for (const measure::CalibratedField& field : calibration.fields) {
        rows.rows.push_back({{field.path}, {field.value}, {field.note}});
    }
    write_rows(context, rows, format);
    for (const measure::Skipped& skipped : calibration.skipped) {
        context.err << "ridge: " << skipped.path << " was not measured: " << skipped.reason << '\n';
    }
}

int calibrate_ceilings(const Context& context, const CalibrateArguments& arguments) {
    const std::unique_ptr<measure::Device> device = arguments.device.open(context);
    const model::Catalogue catalogue = arguments.gpu.catalogue(context);
    const hardware::Description& base = base_of(arguments, catalogue, device->info());
    if (!arguments.output.empty()) plot::require_writable(arguments.output, "overlay");
    const Interruption interruption;
    measure::CalibrateOptions options{.samples = arguments.samples};
    options.hooks.interrupted = [&interruption] { return interruption.requested(); };
    const measure::Calibration calibration = measure_ceilings(context, *device, std::move(options));
    if (calibration.interrupted) {
        context.err << (interruption.requested()
                            ? "ridge: interrupted; nothing was written\n"
                            : "ridge: the device stopped working; nothing was written\n");
        return interruption.requested() ? interrupted : device_failure;
    }
    if (!arguments.output.empty()) {
        plot::write_bytes(arguments.output,
                          measure::to_overlay(calibration, base.name, base.title, base.vendor),
                          "overlay");
        context.err << "wrote " << arguments.output << '\n';
    }
    write_results(context, calibration, parse_format(arguments.format));
    return success;
}

int calibrate(const Context& context, const CalibrateArguments& arguments) {
    if (arguments.built_in) return calibrate_built_in(context, arguments);
    if (arguments.check) throw InputError("check: --check goes with --built-in");
    if (!arguments.data.empty()) throw InputError("data: --data goes with --built-in");
    if (!arguments.software.empty() && arguments.rows.empty()) {
        throw InputError(
            "software: --software goes with --built-in or --rows; "
            "scripts/measure/calibrate-engine.py measures an installed engine first");
    }
    if (!arguments.fits.empty()) throw InputError("fits: --fits goes with --built-in");
    if (!arguments.software.empty()) return calibrate_engine(context, arguments);
    if (!arguments.rows.empty()) return calibrate_from_rows(context, arguments);
    if (!arguments.keep.empty()) throw InputError("keep: --keep goes with --rows");
    if (arguments.full) return calibrate_fully(context, arguments);
    if (!arguments.folder.empty()) throw InputError("records: --records goes with --full");
    return calibrate_ceilings(context, arguments);
}

void add_built_in_options(CommandLine& line, CalibrateArguments& arguments) {
    line.flag("--check", arguments.check,
              "with --built-in: write nothing, exit with 4 if a file differs")
        .group("With --built-in");
    line.option("--data", arguments.data, "with --built-in: folder of public tables")
        .value("DIR")
        .group("With --built-in");
    line.option("--software", arguments.software,
                "with --built-in: only these, NAME or NAME-VERSION, separated by commas; with "
                "--rows: the engine whose kernels were timed, a folder of tables or one")
        .value("NAMES")
        .group("With --built-in");
    line.option("--fits", arguments.fits,
                "with --built-in: only these fits of the plan, separated by commas")
        .value("NAMES")
        .group("With --built-in");
    line.option("--tree", arguments.tree, "with --built-in: the source tree (default: .)")
        .value("DIR")
        .group("With --built-in");
}

}  // namespace

Action build_calibrate(CommandLine& line, std::span<const std::string>) {
    const auto arguments = std::make_shared<CalibrateArguments>(line);
    const Option full =
        line.flag("--full", arguments->full,
                  "measure ceilings, shapes and PyTorch's kernels, and fit everything to them");
    line.option(
            "--rows", arguments->rows,
            "without a device: fit to a CSV table of measured times, about 100 rows (the columns "
            "of predict --from, and measured_us), or to folders of records")
        .value("PATH")
        .excludes(full);
    line.option("-o,--output", arguments->output,
                "overlay to write (TOML); by default --full and --rows write NAME.calibrated.toml "
                "where --gpu NAME finds it")
        .value("FILE");
    line.option("--minutes", arguments->minutes, "with --full: minutes of measuring (default 9)")
        .value("MINUTES")
        .in_range(0.05, 1000.0)
        .group("With --full");
    line.option("--records", arguments->folder,
                "with --full: folder for the measurements (default ~/.local/share/ridge/NAME); a "
                "second run continues where the first stopped")
        .value("FOLDER")
        .group("With --full");
    line.option("--shapes", arguments->shapes,
                "with --full: random shapes to measure, besides the full suite (default 2100)")
        .value("COUNT")
        .in_range(1, 100000)
        .group("With --full");
    line.option("--python", arguments->python, "with --full: Python with PyTorch (default python3)")
        .value("PROGRAM")
        .group("With --full");
    line.flag("--no-torch", arguments->no_torch, "with --full: do not measure PyTorch's kernels")
        .group("With --full");
    line.flag(
            "--built-in", arguments->built_in,
            "make the calibrations that come with ridge from its records (calibration/plan.toml), "
            "of all GPUs and software or of those named")
        .excludes(full);
    add_built_in_options(line, *arguments);
    add_keep_option(line, arguments->keep);
    line.option("--samples", arguments->samples, "samples for each ceiling").in_range(5, 1000);
    add_format_option(line, arguments->format, "table|json|csv|md");
    line.footer(
        "Examples:\n"
        "  ridge calibrate --full                        # --gpu NAME then finds it\n"
        "  ridge calibrate --rows times.csv --gpu b200   # a GPU on another machine\n"
        "  ridge calibrate --software vllm --rows tables --gpu l40s  # an engine\n"
        "  ridge calibrate -o my-gpu.toml                # ceilings only, a minute\n"
        "  ridge predict matmul --m 64 --n 64 --k 64 --gpu-file my-gpu.toml");
    return [arguments](const Context& context) { return calibrate(context, *arguments); };
}

}  // namespace ridge::cli
