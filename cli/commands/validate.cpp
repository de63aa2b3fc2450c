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
#include "cli/views/fleet.h"
#include "cli/views/left_out.h"
#include "cli/views/parameter_ranks.h"
#include "cli/views/record.h"
#include "cli/views/validation.h"
#include "hardware/error.h"
#include "measure/judge/energy.h"
#include "measure/judge/parameter_ranks.h"
#include "measure/judge/siblings.h"
#include "measure/judge/validate.h"
#include "measure/ranks/link_standing.h"
#include "measure/ranks/link_survey_json.h"

namespace ridge::cli {
namespace {

struct ValidateOptions {
    explicit ValidateOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::vector<std::string> records;
    std::string format;
    std::optional<double> max_error;
    std::string keep;
    std::string by;
};

/// GPUs and links beside their siblings. Exit code 4 when one is slower than `--max-error`.
int compare_fleet(const Context& context, const ValidateOptions& options,
                  const LoadedRecords& loaded, const measure::Validation& validation) {
    const std::vector<measure::GpuStanding> gpus =
        measure::compare_siblings(loaded.records, validation);
    const std::vector<measure::LinkStanding> links =
        measure::compare_links(measure::surveys_in(options.records));
    write_fleet(context, gpus, links, parse_format(options.format));
    if (gpus.size() < 2) {
        context.err << "ridge: all records are of one GPU: " << gpus.front().label << '\n';
    }
    if (options.max_error && gpus.front().worst() > 1.0 + *options.max_error / 100.0) {
        context.err << fmt::format("ridge: {} is {:.1f} % slower than its siblings\n",
                                   gpus.front().label, 100.0 * (gpus.front().worst() - 1.0));
        return bound_exceeded;
    }
    return loaded.damaged > 0 ? bad_data : success;
}

/// What each parameter of the records' GPU does to their errors.
int rank_all(const Context& context, const ValidateOptions& options, const Machines& machines,
             const std::vector<measure::Record>& records, const measure::Validation& validation) {
    const Format format = parse_format(options.format);
    if (format == Format::json) throw InputError("format: --by parameter prints table, csv or md");
    if (validation.comparisons.empty()) {
        throw InputError("no record could be compared with a prediction");
    }
    const model::Machine machine =
        machines.catalogue().machine(validation.comparisons.front().device, machines.view());
    write_parameter_ranks(context, measure::rank_parameters(records, validation, machine), format);
    return success;
}

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
    if (options.by == "gpu") return compare_fleet(context, options, loaded, validation);
    if (options.by == "parameter") return rank_all(context, options, machines, records, validation);
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
    line.option(
            "--by", options->by,
            "gpu: the GPUs of the records, and the links of surveys (ridge links --format json)\n"
            "beside them, against their siblings; names those that are slow, hot or throttled.\n"
            "parameter: what each parameter of the model does to the errors, and how well the\n"
            "records determine it")
        .value("WHAT")
        .one_of({"gpu", "parameter"});
    line.option("--max-error", options->max_error,
                "percent: exit code 4 when the median error of an operation and "
                "implementation is larger; with --by gpu, when a GPU is slower than its siblings "
                "by more")
        .value("PERCENT")
        .not_negative();
    line.footer(
        "Examples:\n"
        "  ridge validate records/\n"
        "  ridge validate records/ --max-error 20 --format md > accuracy.md\n"
        "  ridge validate fleet/ --by gpu                 # which GPUs and links are slow\n"
        "  ridge validate records/ --by parameter         # which parameters matter");
    return [options](const Context& context) { return validate_records(context, *options); };
}

}  // namespace ridge::cli
