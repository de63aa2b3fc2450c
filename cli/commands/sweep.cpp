#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "cli/charts/chart_output.h"
#include "cli/charts/sweep_chart.h"
#include "cli/commands/commands.h"
#include "cli/console/progress.h"
#include "cli/input/records.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/keep_option.h"
#include "cli/options/operation_command.h"
#include "cli/options/sweep_plan.h"
#include "cli/views/prediction.h"
#include "cli/views/record.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

using model::Field;

struct SweepOptions {
    SweepOptions(CommandLine& line, std::span<const std::string> arguments)
        : gpu(line), operation(line, arguments) {}

    GpuOptions gpu;
    OperationArgument operation;
    std::string format;
    std::string y;
    std::vector<std::string> records;
    std::string keep;
    ChartOutput output;
};

/// Returns how many points could not be predicted; ends when the output takes no more.
template <class Visit>
std::int64_t visit_points(const Context& context, const SweepPlan& plan,
                          const model::Machine& machine, const Visit& visit) {
    Answer answer;
    answer.kind = plan.kind;
    answer.parameters = plan.fixed;
    answer.machine = &machine;
    Progress progress(context, "points");
    std::int64_t failed = 0;
    for (std::int64_t index = 0; index < plan.size() && context.out; ++index) {
        predict_point(plan, index, answer);
        failed += std::holds_alternative<model::NotModelled>(answer.outcome) ? 1 : 0;
        visit(answer);
        progress.count(index + 1);
    }
    return failed;
}

std::int64_t write_points_csv(const Context& context, const SweepPlan& plan,
                              const model::Machine& machine) {
    std::string line = "op,gpu";
    const std::vector<Field> fields = plan.varying();
    for (const Field field : fields) line += "," + std::string(model::info_of(field).name);
    for (const std::string& name : result_columns()) line += "," + name;
    line += '\n';
    const std::string prefix = std::string(model::info_of(plan.kind).name) + "," + machine.name;
    const std::int64_t failed = visit_points(context, plan, machine, [&](const Answer& answer) {
        line += prefix;
        for (const Field field : fields)
            line += "," + std::to_string(answer.parameters.count(field));
        line += ',';
        append_result_cells(line, answer.outcome);
        line += '\n';
        if (line.size() > std::size_t{1} << 16) {
            context.out << line;
            line.clear();
        }
    });
    context.out << line;
    return failed;
}

/// The prediction of a point; an invalid shape has its parameters and the reason.
Json sweep_json(const SweepPlan& plan, const Answer& answer) {
    if (std::holds_alternative<model::Prediction>(answer.outcome)) return to_json(answer);
    Json json{{"op", model::info_of(plan.kind).name}, {"gpu", answer.machine->name}};
    for (const Field field : plan.varying()) {
        json["parameters"][model::info_of(field).name] = answer.parameters.count(field);
    }
    json["error"] = std::get<model::NotModelled>(answer.outcome).reason;
    return json;
}

std::int64_t write_points_json(const Context& context, const SweepPlan& plan,
                               const model::Machine& machine) {
    bool first = true;
    context.out << '[';
    const std::int64_t failed = visit_points(context, plan, machine, [&](const Answer& answer) {
        context.out << (first ? "\n" : ",\n") << sweep_json(plan, answer).text();
        first = false;
    });
    context.out << "\n]\n";
    return failed;
}

/// Records of the same operation, circumstances and implementation at values that the sweep has.
void overlay_records(const Context& context, const SweepOptions& options, SweepChart& chart,
                     Machines& machines) {
    const std::string name = machines.catalogue().canonical_name(options.gpu.name());
    const std::vector<measure::Record> records =
        load_records(context, options.records, name, machines.catalogue(),
                     measure::parse_kept_columns(options.keep))
            .records;
    const model::Machine& machine = machines.at(name);
    std::int64_t shown = 0;
    for (const measure::Record& record : records) {
        shown += chart.add_measured(record, machine) ? 1 : 0;
    }
    if (shown == 0) {
        throw InputError(
            "records: none of " + std::to_string(records.size()) + " records lies on the sweep",
            {.file = options.records.front()},
            "records must have its fields, implementation, l2 and launch");
    }
}

void draw_sweep(const Context& context, const SweepOptions& options, const SweepPlan& plan,
                Machines& machines) {
    constexpr std::int64_t most_drawn = 20'000;
    if (plan.size() > most_drawn) {
        throw InputError(
            "a chart holds at most 20000 points, the sweep has " + std::to_string(plan.size()), {},
            "use --format csv");
    }
    const model::Machine& machine = machines.at(options.gpu.name());
    SweepChart chart(plan, ordinate_of(options.y, model::info_of(plan.kind).name));
    visit_points(context, plan, machine,
                 [&chart](const Answer& answer) { chart.add_predicted(answer); });
    if (!options.records.empty()) overlay_records(context, options, chart, machines);
    plot::Sweep sweep = chart.finish();
    sweep.title = text_of(plan.kind, plan.fixed) + " on " + machine.title;
    sweep.subtitle = fmt::format("{} predicted shapes", plan.size());
    write_chart_output(context, options.output, plot::sweep_chart(sweep));
}

int sweep(const Context& context, const SweepOptions& options) {
    const SweepPlan plan = make_sweep_plan(options.operation.kind(), options.operation.texts());
    Machines machines = options.gpu.machines(context);
    const model::Machine& machine = machines.at(options.gpu.name());
    if (options.format != "csv" && options.format != "json") {
        draw_sweep(context, options, plan, machines);
        return success;
    }
    const std::int64_t failed = options.format == "csv" ? write_points_csv(context, plan, machine)
                                                        : write_points_json(context, plan, machine);
    if (failed == 0) return success;
    context.err << "ridge: " << failed << " of " << plan.size()
                << " points could not be predicted; see 'error'\n";
    return bad_data;
}

}  // namespace

Action build_sweep(CommandLine& line, std::span<const std::string> arguments) {
    const auto options = std::make_shared<SweepOptions>(line, arguments);
    add_format_option(line, options->format, "chart|csv|json");
    line.option("--y", options->y, "what the chart shows: rate, bandwidth or time")
        .one_of({"rate", "bandwidth", "time"});
    line.option("--records", options->records,
                "files or folders of records, or tables of measured times, to draw over it")
        .value("PATH");
    add_keep_option(line, options->keep);
    add_chart_options(line, options->output);
    line.footer(
        "A count may be a range: first:last:step, first:last:*factor, a,b,c, or @field.\n"
        "Example:\n"
        "  ridge sweep matmul --m 1024:8192:128 --n @m --k @m --gpu a100-sxm-80gb \\\n"
        "      -o sweep.svg\n"
        "  ridge sweep matmul --m 512:8192:64 --n @m --k @m --gpu h200-sxm \\\n"
        "      --records records/ -o sweep.svg");
    return [options](const Context& context) { return sweep(context, *options); };
}

}  // namespace ridge::cli
