// `ridge sweep`: predictions over ranges of shapes, as a table or a chart.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/charts/chart_output.h"
#include "cli/charts/sweep_chart.h"
#include "cli/commands/commands.h"
#include "cli/commands/compare.h"
#include "cli/commands/sweep_power.h"
#include "cli/console/progress.h"
#include "cli/console/table.h"
#include "cli/input/records.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/keep_option.h"
#include "cli/options/operation_command.h"
#include "cli/options/sweep_plan.h"
#include "cli/views/left_out.h"
#include "cli/views/prediction.h"
#include "cli/views/record.h"
#include "hardware/algorithms.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

using model::Field;

struct SweepOptions {
    SweepOptions(CommandLine& line, std::span<const std::string> arguments)
        : gpu(line), operation(line, arguments), order(arguments.begin(), arguments.end()) {}

    GpuOptions gpu;
    OperationArgument operation;
    std::vector<std::string> order;  ///< the arguments; the first range is the abscissa
    std::string format;
    std::string x;
    std::string y;
    std::vector<std::string> records;
    std::string keep;
    ChartOutput output;
    PowerSweep power;
};

/// The GPUs of the sweep, in the order in which they were named.
using Gpus = std::vector<const model::Machine*>;

/// Visits all points, by GPU and then by variant. Returns how many points could not be predicted.
/// Stops early when the output is closed.
template <class Visit>
std::int64_t visit_points(const Context& context, const SweepPlan& plan, const Gpus& gpus,
                          const Visit& visit) {
    Answer answer;
    answer.kind = plan.kind;
    Progress progress(context, "points");
    std::int64_t failed = 0;
    std::int64_t done = 0;
    for (const model::Machine* const machine : gpus) {
        answer.machine = machine;
        for (std::int64_t variant = 0; variant < plan.variants(); ++variant) {
            answer.parameters = plan.fixed;
            plan.set_variant(variant, answer.parameters);
            for (std::int64_t index = 0; index < plan.size() && context.out; ++index) {
                predict_point(plan, index, answer);
                failed += std::holds_alternative<model::NotModelled>(answer.outcome) ? 1 : 0;
                visit(answer);
                progress.count(++done);
            }
        }
    }
    return failed;
}

std::vector<Field> listed_fields(const SweepPlan& plan) {
    std::vector<Field> fields;
    for (const ListedWords& list : plan.listed) fields.push_back(list.field);
    return fields;
}

std::int64_t write_points_csv(const Context& context, const SweepPlan& plan, const Gpus& gpus) {
    std::string line = "op,gpu";
    const std::vector<Field> words = listed_fields(plan);
    const std::vector<Field> counts = plan.varying();
    for (const Field field : words) line += "," + std::string(model::info_of(field).name);
    for (const Field field : counts) line += "," + std::string(model::info_of(field).name);
    for (const std::string& name : result_columns()) line += "," + name;
    line += '\n';
    const std::string op(model::info_of(plan.kind).name);
    const std::int64_t failed = visit_points(context, plan, gpus, [&](const Answer& answer) {
        line += op;
        line += ',';
        append_csv_cell(line, answer.machine->name);
        for (const Field field : words) line += "," + answer.parameters.text(field);
        for (const Field field : counts)
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

/// The prediction of a point; an invalid shape has its parameters and the reason instead.
Json sweep_json(const SweepPlan& plan, const Answer& answer) {
    if (std::holds_alternative<model::Prediction>(answer.outcome)) return to_json(answer);
    Json json{{"op", model::info_of(plan.kind).name}, {"gpu", answer.machine->name}};
    for (const Field field : listed_fields(plan)) {
        json["parameters"][model::info_of(field).name] = answer.parameters.text(field);
    }
    for (const Field field : plan.varying()) {
        json["parameters"][model::info_of(field).name] = answer.parameters.count(field);
    }
    json["error"] = std::get<model::NotModelled>(answer.outcome).reason;
    return json;
}

std::int64_t write_points_json(const Context& context, const SweepPlan& plan, const Gpus& gpus) {
    bool first = true;
    context.out << '[';
    const std::int64_t failed = visit_points(context, plan, gpus, [&](const Answer& answer) {
        context.out << (first ? "\n" : ",\n") << sweep_json(plan, answer).text();
        first = false;
    });
    context.out << "\n]\n";
    return failed;
}

/// The points as a table: what varies, then time and limiter (in Markdown all results).
std::int64_t write_points_table(const Context& context, const SweepPlan& plan, const Gpus& gpus,
                                Format written) {
    const bool brief = written == Format::table;
    Table table;
    if (!brief || gpus.size() > 1) table.columns.push_back({"gpu"});
    const std::vector<Field> words = listed_fields(plan);
    const std::vector<Field> counts = plan.varying();
    for (const Field field : words)
        table.columns.push_back({std::string(model::info_of(field).name)});
    for (const Field field : counts) {
        table.columns.push_back({std::string(model::info_of(field).name), Align::right});
    }
    if (brief) {
        table.columns.insert(
            table.columns.end(),
            {{"time", Align::right}, {"rate", Align::right}, {"bound"}, {"limiter"}, {"evidence"}});
    } else {
        for (const std::string& name : result_columns()) {
            table.columns.push_back({name, Align::right});
        }
    }
    const std::int64_t failed = visit_points(context, plan, gpus, [&](const Answer& answer) {
        std::vector<std::string> row;
        if (!brief || gpus.size() > 1) row.push_back(answer.machine->name);
        for (const Field field : words) row.push_back(answer.parameters.text(field));
        for (const Field field : counts) {
            row.push_back(std::to_string(answer.parameters.count(field)));
        }
        const auto* p = std::get_if<model::Prediction>(&answer.outcome);
        if (!brief) {
            for (std::string& cell : result_cells(answer)) row.push_back(std::move(cell));
        } else if (p == nullptr) {
            row.insert(row.end(), {"", "", "not modelled", "", ""});
        } else {
            row.insert(row.end(), {format(p->time), rate_of(*p), std::string(name_of(p->bound)),
                                   std::string(name_of(p->limiter)),
                                   std::string(name_of(p->evidence.grade()))});
        }
        table.rows.push_back(std::move(row));
    });
    if (!brief) {
        write_markdown(context.out, table);
        return failed;
    }
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    write_text(context.out, fitted(std::move(table), {"bound", "rate", "limiter"}, width));
    return failed;
}

/// Draws records of the same operation, conditions and implementation at values of the sweep.
void overlay_records(const Context& context, const SweepOptions& options, SweepChart& chart,
                     const Gpus& gpus, const Machines& machines) {
    const std::string only = gpus.size() == 1 ? gpus.front()->name : std::string();
    const std::vector<measure::Record> records =
        load_records(context, options.records, {.only = only, .usual = only}, machines.catalogue(),
                     measure::parse_kept_columns(options.keep))
            .records;
    LeftOut left_out;
    for (const measure::Record& record : records) {
        const std::string name = machines.catalogue().canonical_name(record.device.name);
        const bool drawn = algorithms::any_of(gpus, [&](const model::Machine* machine) {
            return machine->name == name && chart.add_measured(record, *machine);
        });
        if (!drawn) left_out.add(record, "not on the sweep");
    }
    if (left_out.count() == records.size()) {
        throw InputError(
            "records: none of " + std::to_string(records.size()) + " records lies on the sweep",
            {.file = options.records.front()},
            "records must have its fields, implementation, l2 and launch");
    }
    left_out.write(context, records.size());
}

/// Draws the sweep, or prints that no point could be predicted and returns false.
bool draw_sweep(const Context& context, const SweepOptions& options, const SweepPlan& plan,
                const Gpus& gpus, const Machines& machines) {
    constexpr std::int64_t most_drawn = 20'000;
    const std::int64_t points =
        plan.size() * plan.variants() * static_cast<std::int64_t>(gpus.size());
    if (points > most_drawn) {
        throw InputError(
            "a chart holds at most 20000 points, the sweep has " + std::to_string(points), {},
            "use --format csv");
    }
    SweepChart chart(plan, ordinate_of(options.y, model::info_of(plan.kind).name), gpus.size());
    std::string reason;
    const std::int64_t failed = visit_points(context, plan, gpus, [&](const Answer& answer) {
        chart.add_predicted(answer);
        const auto* const unmodelled = std::get_if<model::NotModelled>(&answer.outcome);
        if (reason.empty() && unmodelled != nullptr) reason = unmodelled->reason;
    });
    if (failed == points && options.records.empty()) {
        context.err << "ridge: no point of the sweep can be predicted: " << reason << '\n';
        return false;
    }
    if (!options.records.empty()) overlay_records(context, options, chart, gpus, machines);
    plot::Sweep sweep = chart.finish();
    sweep.title = text_of(plan.kind, plan.fixed);
    if (gpus.size() == 1) sweep.title += " on " + gpus.front()->title;
    sweep.subtitle = fmt::format("{} predicted shapes", points - failed);
    write_chart_output(context, options.output, plot::sweep_chart(sweep));
    return true;
}

std::int64_t write_points(const Context& context, const SweepPlan& plan, const Gpus& gpus,
                          Format format) {
    if (format == Format::csv) return write_points_csv(context, plan, gpus);
    if (format == Format::json) return write_points_json(context, plan, gpus);
    return write_points_table(context, plan, gpus, format);
}

/// The operation at several power limits or clocks of one GPU.
int sweep_limits(const Context& context, const SweepOptions& options) {
    if (has_lists(options.gpu, options.operation)) {
        throw InputError("power: a sweep of limits or clocks takes one shape and one GPU");
    }
    require_place(options.output);
    Machines machines = options.gpu.machines(context);
    Answer answer{.kind = options.operation.kind(),
                  .parameters = options.operation.parameters(),
                  .operation = {},
                  .execution = {},
                  .machine = &machines.at(options.gpu.name()),
                  .outcome = {}};
    return sweep_power(context, options.power, std::move(answer), options.format, options.output);
}

int sweep(const Context& context, const SweepOptions& options) {
    if (options.power.given()) return sweep_limits(context, options);
    const bool for_chart = !options.output.file.empty() || !options.records.empty();
    if (!for_chart && lists_only_words(options.operation)) {
        return compare_lists(context, options.gpu, options.operation, options.format);
    }
    const SweepPlan plan = make_sweep_plan(options.operation.kind(), options.operation.texts(),
                                           PlanUse::sweep, options.x, options.order);
    require_place(options.output);
    Machines machines = options.gpu.machines(context);
    Gpus gpus;
    for (const std::string& name : options.gpu.names()) gpus.push_back(&machines.at(name));
    const std::string format = for_chart ? options.format : format_in_pipe(context, options.format);
    const bool chart = format.empty() || format == "chart";
    const bool drawn = (!chart && options.output.file.empty()) ||
                       draw_sweep(context, options, plan, gpus, machines);
    if (chart || !drawn) return drawn ? success : bad_data;
    const std::int64_t failed = write_points(context, plan, gpus, parse_format(format));
    if (failed == 0) return success;
    context.err << "ridge: " << failed << " of "
                << plan.size() * plan.variants() * static_cast<std::int64_t>(gpus.size())
                << " points could not be predicted; see 'error'\n";
    return bad_data;
}

}  // namespace

Action build_sweep(CommandLine& line, std::span<const std::string> arguments) {
    const auto options = std::make_shared<SweepOptions>(line, arguments);
    add_format_option(line, options->format, "chart|table|json|csv|md", " (in a pipe: csv)");
    line.option("--x", options->x, "range on the x axis (default: the first one given)")
        .value("FIELD");
    line.option("--y", options->y, "what the chart shows: rate, bandwidth or time")
        .one_of({"rate", "bandwidth", "time"});
    line.option("--records", options->records,
                "files or folders of records, or tables of measured times, to draw over it")
        .value("PATH");
    add_keep_option(line, options->keep);
    line.option("--power", options->power.power,
                "range of power limits in W: time and energy of one shape, 300:700:50")
        .value("RANGE");
    line.option("--clock", options->power.clock, "the same over highest clocks in MHz")
        .value("RANGE");
    add_chart_options(line, options->output);
    line.footer(
        "A count may be a range: first:last:step, first:last:*factor, a,b,c, or @field;\n"
        "--gpu, --impl, --dtype and other words may be lists: a,b.\n"
        "Examples:\n"
        "  ridge sweep matmul --m 1024:8192:128 --n @m --k @m --gpu a100-sxm-80gb \\\n"
        "      -o sweep.svg\n"
        "  ridge sweep attention --seq 1024:65536:*2 --heads 32 --head-dim 128 \\\n"
        "      --gpu a100-sxm-80gb,h100-sxm --impl standard,flash2 -o attention.svg\n"
        "  ridge sweep matmul --m 512:8192:64 --n @m --k @m --gpu h200-sxm \\\n"
        "      --records records/ -o sweep.svg");
    return [options](const Context& context) { return sweep(context, *options); };
}

}  // namespace ridge::cli
