// `ridge measure`: times and counters of operations on the GPU at hand, kept as records.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/console/interruption.h"
#include "cli/console/progress.h"
#include "cli/console/table.h"
#include "cli/console/version.h"
#include "cli/options/command_line.h"
#include "cli/options/device_option.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/record.h"
#include "cli/views/reference.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "measure/run/measure.h"
#include "measure/run/suite.h"

namespace ridge::cli {
namespace {

using measure::Question;
using measure::Record;

struct MeasureArguments {
    MeasureArguments(CommandLine& line, std::span<const std::string> arguments)
        : gpu(line), device(line), operation(line, arguments) {}

    GpuOptions gpu;
    DeviceOption device;
    OperationArgument operation;
    std::vector<std::string> sequence;
    std::string suite;
    std::int64_t random = 0;
    std::uint64_t seed = 1;
    std::string output;
    std::string pattern = "normal";
    std::string format;
    double seconds = 0.5;
    double budget = 0.0;
    std::int32_t ranks = 0;
    bool collectives = false;
    double energy_seconds = 3.0;
    bool energy = false;
    bool no_counters = false;
    bool retry = false;
};

/// The GPUs among which collectives are drawn or taken from the suite.
std::int32_t gpus_of(const Context& context, const MeasureArguments& arguments) {
    const std::int32_t found = context.device_count();
    const std::int32_t gpus = arguments.ranks > 0 ? arguments.ranks : found;
    if (gpus < 2) {
        throw DeviceError("collectives need at least 2 GPUs; this machine shows " +
                          std::to_string(found));
    }
    return gpus;
}

/// Whether all questions are collectives, so that no single device needs to be opened.
bool only_collectives(const MeasureArguments& arguments) {
    const bool suite = arguments.suite == "collectives";
    return arguments.collectives || suite;
}

void add_all(std::vector<Question>& questions, std::vector<Question> more) {
    std::move(more.begin(), more.end(), std::back_inserter(questions));
}

std::vector<Question> named_questions(const MeasureArguments& arguments) {
    std::vector<Question> questions;
    if (arguments.operation.given()) {
        const model::Parameters parameters = arguments.operation.parameters();
        questions.push_back(
            {.operation = model::make_operation(arguments.operation.kind(), parameters),
             .execution = model::make_execution(parameters)});
    }
    for (const std::string& text : arguments.sequence) {
        questions.push_back(measure::parse_question(text));
    }
    return questions;
}

std::vector<Question> drawn_questions(const Context& context, const MeasureArguments& arguments,
                                      std::int32_t compute_capability) {
    std::vector<Question> questions;
    if (arguments.suite == "collectives") {
        add_all(questions, measure::collective_suite(gpus_of(context, arguments)));
    } else if (!arguments.suite.empty()) {
        add_all(questions,
                measure::suite(measure::parse_suite(arguments.suite), compute_capability));
    }
    if (arguments.random > 0 && arguments.collectives) {
        add_all(questions, measure::random_collectives(arguments.seed, arguments.random,
                                                       gpus_of(context, arguments)));
    } else if (arguments.random > 0) {
        add_all(questions,
                measure::random_questions(arguments.seed, arguments.random, compute_capability));
    }
    return questions;
}

measure::SuiteOptions suite_options(const Context& context, const MeasureArguments& arguments,
                                    const Interruption& interruption) {
    measure::SuiteOptions options;
    options.folder = arguments.output;
    options.seconds = arguments.budget;
    if (options.seconds <= 0.0 && !arguments.suite.empty()) {
        options.seconds = measure::seconds_of(measure::parse_suite(arguments.suite));
    }
    options.failures = arguments.retry ? measure::Failures::retry : measure::Failures::keep;
    options.measuring.sampling.seconds = arguments.seconds;
    options.measuring.tool = std::string("ridge ") + version;
    if (arguments.energy) {
        options.measuring.energy =
            measure::EnergyOptions{.run = {.window = Time::from_base(arguments.energy_seconds)}};
    }
    if (arguments.no_counters) options.measuring.counters.clear();
    options.measuring.hooks.interrupted = [&interruption] { return interruption.requested(); };
    options.progress = suite_progress(context);
    return options;
}

void write_results(const Context& context, const MeasureArguments& arguments,
                   const std::vector<Record>& records) {
    Machines machines = arguments.gpu.machines(context);
    const std::string gpu = arguments.gpu.given() ? arguments.gpu.name() : std::string();
    const Format format = parse_format(arguments.format);
    if (format == Format::json) {
        Json list = Json::array();
        for (const Record& record : records) {
            list.push_back(to_json(record, answer_of(record, machines, gpu)));
        }
        context.out << list.text(2) << '\n';
        return;
    }
    const bool single = arguments.suite.empty() && arguments.random == 0;
    if (format == Format::table && single) {
        for (const Record& record : records) {
            write_record(context, record, answer_of(record, machines, gpu));
        }
        return;
    }
    const Table table = record_table(records, machines, gpu);
    switch (format) {
        case Format::csv:
            write_csv(context.out, table);
            break;
        case Format::markdown:
            write_markdown(context.out, table);
            break;
        default:
            write_text(context.out, table);
            break;
    }
}

/// Prints how many questions were measured, failed or left, and returns the exit code.
int conclude(const Context& context, const measure::SuiteResult& result,
             const MeasureArguments& arguments) {
    std::int64_t measured = 0;
    std::int64_t wrong = 0;
    for (const Record& record : result.records) {
        if (record.measured()) ++measured;
        if (record.verification && !record.verification->ok) ++wrong;
    }
    for (const measure::Damage& damage : result.damaged) {
        context.err << "ridge: " << printable(to_string(damage.location))
                    << ": damaged record: " << printable(damage.message) << '\n';
    }
    const auto failed = static_cast<std::int64_t>(result.records.size()) - measured;
    const bool single = arguments.suite.empty() && arguments.random == 0;
    if (!single || result.skipped > 0 || result.interrupted) {
        context.err << fmt::format("{} measured, {} failed, {} already there, {} not reached\n",
                                   measured, failed, result.skipped, result.remaining);
    }
    if (wrong > 0) context.err << fmt::format("ridge: kernels with wrong results: {}\n", wrong);
    if (result.stopped) {
        context.err << "ridge: the device stopped working: " << *result.stopped << '\n';
        return device_failure;
    }
    if (result.interrupted) {
        context.err << "ridge: interrupted; "
                    << (arguments.output.empty() ? "give -o FOLDER to keep records\n"
                                                 : "run the same command again to continue\n");
        return interrupted;
    }
    if (wrong > 0 || (single && failed > 0)) return device_failure;
    return success;
}

/// The answers to questions of one device.
measure::SuiteResult merged(measure::SuiteResult all, measure::SuiteResult more) {
    std::move(more.records.begin(), more.records.end(), std::back_inserter(all.records));
    std::move(more.damaged.begin(), more.damaged.end(), std::back_inserter(all.damaged));
    all.skipped += more.skipped;
    all.remaining += more.remaining;
    all.interrupted = all.interrupted || more.interrupted;
    if (!all.stopped) all.stopped = std::move(more.stopped);
    return all;
}

/// The GPUs that collectives need, and whether their switch may add; 0 for a single device.
using Needs = std::pair<std::int32_t, model::SwitchAddition>;

/// NCCL's settings in the environment hold for questions that do not ask otherwise.
Needs needs_of(Question& question) {
    auto* const collective = std::get_if<model::Collective>(&question.operation);
    const auto gpus = measure::ranks_of(question.operation);
    if (!gpus || collective == nullptr) return {0, model::SwitchAddition::automatic};
    if (collective->nvls == model::SwitchAddition::automatic) {
        collective->nvls = measure::additions_of_environment();
    }
    return {*gpus, collective->nvls};
}

std::unique_ptr<measure::Device> open_gpus(const Context& context, const Needs& needs) {
    auto opened = context.open_group({.gpus = needs.first, .nvls = needs.second});
    if (const auto* missing = std::get_if<measure::Unavailable>(&opened)) {
        throw DeviceError(missing->remedy.empty() ? missing->reason
                                                  : missing->reason + "\n  " + missing->remedy);
    }
    return std::move(std::get<std::unique_ptr<measure::Device>>(opened));
}

std::map<Needs, std::vector<Question>> by_needs(std::vector<Question> questions,
                                                const std::string& pattern) {
    std::map<Needs, std::vector<Question>> parts;
    for (Question& question : questions) {
        question.pattern = measure::parse_data_pattern(pattern);
        const Needs needs = needs_of(question);
        parts[needs].push_back(std::move(question));
    }
    if (parts.empty()) {
        throw InputError("op is missing", {},
                         "name an operation (ridge measure matmul --m 4096 ...), or --suite quick");
    }
    return parts;
}

int measure_all(const Context& context, const MeasureArguments& arguments) {
    std::vector<Question> questions = named_questions(arguments);
    const bool together = std::all_of(questions.begin(), questions.end(), [](const Question& q) {
        return measure::ranks_of(q.operation).has_value();
    });
    const bool drawn = !arguments.suite.empty() || arguments.random > 0;
    const bool one_device = drawn ? !only_collectives(arguments) : questions.empty();
    std::unique_ptr<measure::Device> device;
    if (one_device || !together) device = arguments.device.open(context);
    add_all(questions,
            drawn_questions(context, arguments, device ? device->info().compute_capability : 0));
    const Interruption interruption;
    measure::SuiteOptions options = suite_options(context, arguments, interruption);
    if (device) {
        options.measuring.reference =
            noted_reference(context, *device, arguments.gpu.machines(context),
                            arguments.gpu.given() ? arguments.gpu.name() : std::string());
    }
    measure::SuiteResult result;
    for (const auto& [needs, part] : by_needs(std::move(questions), arguments.pattern)) {
        if (result.interrupted || result.stopped) break;
        const std::unique_ptr<measure::Device> group =
            needs.first > 0 ? open_gpus(context, needs) : nullptr;
        result = merged(std::move(result),
                        measure::measure_suite(group ? *group : *device, part, options));
    }
    if (context.terminal) context.err << "\r\033[K";
    if (!result.records.empty()) write_results(context, arguments, result.records);
    return conclude(context, result, arguments);
}

}  // namespace

Action build_measure(CommandLine& line, std::span<const std::string> arguments) {
    const auto options = std::make_shared<MeasureArguments>(line, arguments);
    add_format_option(line, options->format, "table|json|csv|md");
    line.option("--op", options->sequence, "operation in words; may be repeated")
        .value("TEXT")
        .group("What is measured");
    line.option("--suite", options->suite,
                "quick (a minute at most), full (8 minutes at most) or collectives (all GPUs, a "
                "minute at most)")
        .value("WORD")
        .one_of({"quick", "full", "collectives"})
        .group("What is measured");
    line.option("--random", options->random, "measure this many shapes drawn at random")
        .value("COUNT")
        .in_range(1, 100000)
        .group("What is measured");
    line.flag("--collectives", options->collectives,
              "draw collectives between GPUs instead of kernels (with --random)")
        .group("What is measured");
    line.option("--ranks", options->ranks,
                "GPUs among which drawn collectives and those of the suite run (default all)")
        .value("COUNT")
        .in_range(std::int32_t{2}, std::int32_t{64})
        .group("What is measured");
    line.option("--seed", options->seed, "seed of the random shapes")
        .value("COUNT")
        .in_range(std::uint64_t{0}, std::uint64_t{1} << 53U)
        .group("What is measured");
    line.option("-o,--output", options->output,
                "folder for records; what is already recorded there is skipped")
        .value("FOLDER");
    line.option("--data", options->pattern, "input data: normal, uniform, zeros or constant")
        .one_of({"normal", "uniform", "zeros", "constant"})
        .group("What is measured");
    line.option("--seconds", options->seconds, "longest time to spend sampling one operation")
        .value("SECONDS")
        .in_range(0.001, 3600.0)
        .group("Sampling");
    line.option("--budget", options->budget, "time limit of the whole run (a suite has its own)")
        .value("SECONDS")
        .in_range(0.001, 1e6)
        .group("Sampling");
    line.flag("--energy", options->energy,
              "measure power and energy too: steady work, by the GPU's energy counter")
        .group("What is measured");
    line.option("--energy-seconds", options->energy_seconds,
                "how long the counter is read for each operation (with --energy)")
        .value("SECONDS")
        .in_range(0.5, 600.0)
        .group("Sampling");
    line.flag("--no-counters", options->no_counters, "measure times only").group("Sampling");
    line.flag("--retry", options->retry, "try recorded failures again").group("Sampling");
    line.footer(
        "Examples:\n"
        "  ridge measure matmul --m 4096 --n 4096 --k 4096 --dtype bf16\n"
        "  ridge measure --suite quick -o records/\n"
        "  ridge measure all_reduce --gpus 2 --bytes 1048576\n"
        "Exit code 3: no device, or a kernel gave wrong results; 130: Ctrl-C.");
    return [options](const Context& context) { return measure_all(context, *options); };
}

}  // namespace ridge::cli
