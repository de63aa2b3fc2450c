#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/console/interruption.h"
#include "cli/console/rows.h"
#include "cli/console/version.h"
#include "cli/options/command_line.h"
#include "cli/options/device_option.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "hardware/error.h"
#include "measure/run/calibrate.h"

namespace ridge::cli {
namespace {

struct CalibrateArguments {
    explicit CalibrateArguments(CommandLine& line) : device(line), gpu(line) {}

    DeviceOption device;
    GpuOptions gpu;
    std::string output;
    std::string format;
    std::int32_t samples = 20;
};

/// The description that the overlay adds to: --gpu, or the one of the driver's name.
const hardware::Description& base_of(const CalibrateArguments& arguments, const Machines& machines,
                                     const measure::DeviceInfo& info) {
    if (arguments.gpu.given()) return machines.description(arguments.gpu.name());
    const std::string name = machines.catalogue().canonical_name(info.name);
    if (name.empty()) {
        throw InputError(
            "no GPU description is called '" + info.name + "'", {},
            "name the description to add to with --gpu, or write one and give it with --gpu-file");
    }
    return machines.description(name);
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream stream(path, std::ios::binary);
    stream << text;
    stream.flush();
    if (!stream) throw InputError(path + ": cannot be written");
}

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

int calibrate_device(const Context& context, const CalibrateArguments& arguments) {
    const std::unique_ptr<measure::Device> device = arguments.device.open(context);
    const Machines machines = arguments.gpu.machines(context);
    const hardware::Description& base = base_of(arguments, machines, device->info());
    const Interruption interruption;
    measure::CalibrateOptions options{.samples = arguments.samples,
                                      .tool = std::string("ridge ") + version};
    options.hooks.interrupted = [&interruption] { return interruption.requested(); };
    if (context.terminal) {
        options.progress = [&context](std::string_view step, std::int64_t done,
                                      std::int64_t total) {
            context.err << fmt::format("\r\033[K{}/{} {}", done + 1, total, step) << std::flush;
        };
    }
    const measure::Calibration calibration = measure::calibrate(*device, options);
    if (context.terminal) context.err << "\r\033[K";
    if (calibration.interrupted) {
        context.err << (interruption.requested()
                            ? "ridge: interrupted; nothing was written\n"
                            : "ridge: the device stopped working; nothing was written\n");
        return interruption.requested() ? interrupted : device_failure;
    }
    if (!arguments.output.empty()) {
        write_file(arguments.output,
                   measure::to_overlay(calibration, base.name, base.title, base.vendor));
        context.err << "wrote " << arguments.output << '\n';
    }
    write_results(context, calibration, parse_format(arguments.format));
    return success;
}

}  // namespace

Action build_calibrate(CommandLine& line, std::span<const std::string>) {
    const auto arguments = std::make_shared<CalibrateArguments>(line);
    line.option("-o,--output", arguments->output, "overlay description to write (TOML)")
        .value("FILE");
    line.option("--samples", arguments->samples, "samples for each ceiling").in_range(5, 1000);
    add_format_option(line, arguments->format, "table|json|csv|md");
    line.footer(
        "Examples:\n"
        "  ridge calibrate -o my-gpu.toml\n"
        "  ridge predict matmul --m 64 --n 64 --k 64 --gpu-file my-gpu.toml");
    return [arguments](const Context& context) { return calibrate_device(context, *arguments); };
}

}  // namespace ridge::cli
