// `ridge validate`: errors of the predictions for measured records, by operation and implementation.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/input/records.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/keep_option.h"
#include "cli/options/operation_command.h"
#include "cli/views/left_out.h"
#include "cli/views/record.h"
#include "cli/views/validation.h"
#include "hardware/error.h"
#include "measure/judge/energy.h"
#include "measure/judge/validate.h"

namespace ridge::cli {
namespace {

struct ValidateOptions {
    explicit ValidateOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::vector<std::string> records;
    std::string format;
    std::optional<double> max_error;
    std::string keep;
};

int validate_records(const Context& context, const ValidateOptions& options) {
    if (options.max_error && !std::isfinite(*options.max_error)) {
        throw InputError("max-error: must be a percentage");
    }
    const Machines machines = options.gpu.machines(context);
    const LoadedRecords loaded =
        load_records(context, options.records, options.gpu.wanted(), machines.catalogue(),
                     measure::parse_kept_columns(options.keep));
    const std::vector<measure::Record>& records = loaded.records;
    const measure::Validation validation =
        measure::validate(records, machines.catalogue(), machines.view());
    write_doubtful_times(context, validation, records);
    const measure::EnergyJudgement energy = measure::judge_energy(
        validation.comparisons, records, machines.catalogue(), machines.view());
    write_validation(context, validation, energy, records, parse_format(options.format));
    if (validation.comparisons.empty()) {
        context.err << "ridge: no record could be compared with a prediction\n";
        return bad_data;
    }
    const int read = loaded.damaged > 0 ? bad_data : success;
    if (!options.max_error) return read;
    const auto beyond = measure::exceeding(validation, *options.max_error / 100.0);
    for (const measure::GroupSummary* group : beyond) {
        context.err << fmt::format("ridge: {} {}: median error {:.1f} % exceeds {:g} %\n",
                                   group->operation, group->implementation,
                                   100.0 * group->errors.median, *options.max_error);
    }
    return beyond.empty() ? read : bound_exceeded;
}

}  // namespace

Action build_validate(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<ValidateOptions>(line);
    line.positional("records", options->records, "files or folders of records")
        .value("PATH")
        .required();
    add_format_option(line, options->format, "table|json|csv|md");
    add_keep_option(line, options->keep);
    line.option("--max-error", options->max_error,
                "percent: exit code 4 when the median error of an operation and "
                "implementation is larger")
        .value("PERCENT")
        .not_negative();
    line.footer(
        "Examples:\n"
        "  ridge validate records/\n"
        "  ridge validate records/ --max-error 20 --format md > accuracy.md");
    return [options](const Context& context) { return validate_records(context, *options); };
}

}  // namespace ridge::cli
