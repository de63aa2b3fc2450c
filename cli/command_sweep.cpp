#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <ostream>

#include "cli/chart_output.h"
#include "cli/commands.h"
#include "cli/gpu_options.h"
#include "cli/operation_command.h"
#include "cli/prediction_views.h"
#include "cli/progress.h"
#include "cli/sweep_range.h"
#include "cli/table.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "model/predict.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

using model::Field;

struct SweepOptions {
    SweepOptions(CLI::App& app, std::span<const std::string> arguments)
        : gpu(app), operation(app, arguments) {}

    GpuOptions gpu;
    OperationArgument operation;
    std::string format;
    std::string y;
    ChartOutput output;
};

/// A swept field and the fields that follow it.
struct SweptField {
    Field field;
    std::vector<std::int64_t> values;
    std::vector<Field> followers;
};

struct Plan {
    model::OperationKind kind;
    model::Parameters fixed;
    std::vector<SweptField> swept;

    [[nodiscard]] std::int64_t size() const {
        return std::accumulate(swept.begin(), swept.end(), std::int64_t{1},
                               [](std::int64_t product, const SweptField& field) {
                                   return product * static_cast<std::int64_t>(field.values.size());
                               });
    }
};

void attach_follower(Plan& plan, Field follower, const std::string& leader) {
    for (SweptField& field : plan.swept) {
        if (model::info_of(field.field).name == leader) {
            field.followers.push_back(follower);
            return;
        }
    }
    throw InputError(std::string(model::info_of(follower).name) + ": '@" + leader +
                     "' does not name a swept field");
}

Plan plan_of(const SweepOptions& options) {
    constexpr std::int64_t most_points = 50'000'000;
    Plan plan{.kind = options.operation.kind(), .fixed = {}, .swept = {}};
    std::map<Field, std::string> followers;
    for (const auto& [field, text] : options.operation.texts()) {
        const model::FieldInfo& info = model::info_of(field);
        if (info.kind != model::FieldKind::count || !is_range(text)) {
            plan.fixed.set(field, text);
            continue;
        }
        SweepRange range = parse_range(info.name, text);
        if (!range.follows.empty()) {
            followers[field] = range.follows;
        } else {
            plan.swept.push_back(
                {.field = field, .values = std::move(range.values), .followers = {}});
        }
    }
    for (const auto& [field, leader] : followers) attach_follower(plan, field, leader);
    if (plan.swept.empty()) {
        throw InputError("no field is a range", {}, "for example --m 1024:8192:128 --n @m --k @m");
    }
    std::int64_t points = 1;
    for (const SweptField& field : plan.swept) {
        points *= static_cast<std::int64_t>(field.values.size());
        if (points > most_points) throw InputError("the sweep has more than 50 million points");
    }
    return plan;
}

void set_point(const Plan& plan, std::int64_t index, model::Parameters& parameters) {
    // NOLINTNEXTLINE(modernize-loop-convert): Clang 14 cannot compile libstdc++'s reverse_view.
    for (auto field = plan.swept.rbegin(); field != plan.swept.rend(); ++field) {
        const auto count = static_cast<std::int64_t>(field->values.size());
        const std::int64_t value = field->values[static_cast<std::size_t>(index % count)];
        index /= count;
        parameters.set_count(field->field, value);
        for (const Field follower : field->followers) parameters.set_count(follower, value);
    }
}

/// Fills `answer` for one point; a shape that is invalid becomes an outcome with the reason.
void predict_point(const Plan& plan, std::int64_t index, Answer& answer) {
    set_point(plan, index, answer.parameters);
    try {
        answer.operation = model::make_operation(plan.kind, answer.parameters);
        answer.outcome = model::predict(answer.operation, model::make_execution(answer.parameters),
                                        *answer.machine);
    } catch (const InputError& error) {
        answer.outcome = model::NotModelled{error.what()};
    }
}

template <class Visit>
void visit_points(const Context& context, const Plan& plan, const model::Machine& machine,
                  const Visit& visit) {
    Answer answer;
    answer.kind = plan.kind;
    answer.parameters = plan.fixed;
    answer.machine = &machine;
    Progress progress(context, "points");
    for (std::int64_t index = 0; index < plan.size(); ++index) {
        predict_point(plan, index, answer);
        visit(answer);
        progress.count(index + 1);
    }
}

/// The fields that vary, in the table's order.
std::vector<Field> varying_fields(const Plan& plan) {
    std::vector<Field> fields;
    for (const SweptField& swept : plan.swept) {
        fields.push_back(swept.field);
        fields.insert(fields.end(), swept.followers.begin(), swept.followers.end());
    }
    std::sort(fields.begin(), fields.end());
    return fields;
}

void write_points_csv(const Context& context, const Plan& plan, const model::Machine& machine) {
    std::string line = "op,gpu";
    const std::vector<Field> fields = varying_fields(plan);
    for (const Field field : fields) line += "," + std::string(model::info_of(field).name);
    for (const std::string& name : result_columns()) line += "," + name;
    line += '\n';
    const std::string prefix = std::string(model::info_of(plan.kind).name) + "," + machine.name;
    visit_points(context, plan, machine, [&](const Answer& answer) {
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
}

/// The prediction of a point; an invalid shape has its parameters and the reason.
nlohmann::ordered_json sweep_json(const Plan& plan, const Answer& answer) {
    if (std::holds_alternative<model::Prediction>(answer.outcome)) return to_json(answer);
    nlohmann::ordered_json json{{"op", model::info_of(plan.kind).name},
                                {"gpu", answer.machine->name}};
    for (const Field field : varying_fields(plan)) {
        json["parameters"][model::info_of(field).name] = answer.parameters.count(field);
    }
    json["error"] = std::get<model::NotModelled>(answer.outcome).reason;
    return json;
}

void write_points_json(const Context& context, const Plan& plan, const model::Machine& machine) {
    bool first = true;
    context.out << '[';
    visit_points(context, plan, machine, [&](const Answer& answer) {
        context.out << (first ? "\n" : ",\n") << sweep_json(plan, answer).dump();
        first = false;
    });
    context.out << "\n]\n";
}

enum class Ordinate { rate, bandwidth, time };

Ordinate ordinate_of(const SweepOptions& options, model::OperationKind kind) {
    if (options.y == "rate") return Ordinate::rate;
    if (options.y == "bandwidth") return Ordinate::bandwidth;
    if (options.y == "time") return Ordinate::time;
    const bool computes =
        kind == model::OperationKind::matmul || kind == model::OperationKind::attention;
    return computes ? Ordinate::rate : Ordinate::bandwidth;
}

std::optional<plot::SeriesPoint> point_of(const Answer& answer, double x, Ordinate ordinate) {
    const auto* p = std::get_if<model::Prediction>(&answer.outcome);
    if (p == nullptr || p->time <= Time{}) return std::nullopt;
    const auto rate = [p](Time time) { return (p->work.flop() / time).base() * 1e-12; };
    const Bytes moved = p->work.dram() > Bytes{} ? p->work.dram() : p->work.compulsory();
    const auto bandwidth = [moved](Time time) { return (moved / time).base() * 1e-9; };
    const double y = ordinate == Ordinate::rate        ? rate(p->time)
                     : ordinate == Ordinate::bandwidth ? bandwidth(p->time)
                                                       : p->time.in(units::us);
    plot::SeriesPoint point;
    point.x = x;
    point.y = y;
    point.terms = {{"time", format(p->time)},
                   {"bound", fmt::format("{} ({})", name_of(p->bound), name_of(p->limiter))}};
    if (p->tiling.tiles > 0) {
        point.terms.push_back({"tiles", fmt::format("{} of {}x{}", p->tiling.tiles,
                                                    p->tiling.tile.m, p->tiling.tile.n)});
        point.terms.push_back({"waves", std::to_string(p->tiling.waves)});
    }
    return point;
}

/// Points of one sweep by class: the second swept field, or the alignment of a matmul's edge.
std::string class_of(const Plan& plan, const Answer& answer) {
    if (plan.swept.size() > 1) {
        const Field second = plan.swept[1].field;
        return fmt::format("{} = {}", model::info_of(second).name, answer.parameters.count(second));
    }
    if (plan.kind != model::OperationKind::matmul) return "predicted";
    const std::int64_t value = answer.parameters.count(plan.swept.front().field);
    for (const std::int64_t divisor : {64, 8, 2}) {
        if (value % divisor == 0) return fmt::format("multiple of {}", divisor);
    }
    return "odd";
}

plot::Axis ordinate_axis(Ordinate ordinate) {
    switch (ordinate) {
        case Ordinate::rate:
            return {.title = "Rate", .unit = "TFLOP/s"};
        case Ordinate::bandwidth:
            return {.title = "DRAM bandwidth", .unit = "GB/s"};
        case Ordinate::time:
            break;
    }
    return {.title = "Time", .unit = "us", .scale = plot::Scale::log};
}

std::string abscissa_title(const Plan& plan) {
    std::string title(model::info_of(plan.swept.front().field).name);
    for (const Field follower : plan.swept.front().followers) {
        title += " = " + std::string(model::info_of(follower).name);
    }
    return title;
}

void draw_sweep(const Context& context, const SweepOptions& options, const Plan& plan,
                const model::Machine& machine) {
    constexpr std::int64_t most_drawn = 20'000;
    if (plan.size() > most_drawn) {
        throw InputError(
            "a chart holds at most 20000 points, the sweep has " + std::to_string(plan.size()), {},
            "use --format csv");
    }
    const Ordinate ordinate = ordinate_of(options, plan.kind);
    std::map<std::string, plot::Series> classes;
    std::int64_t skipped = 0;
    std::optional<FlopRate> peak;
    visit_points(context, plan, machine, [&](const Answer& answer) {
        const auto x = static_cast<double>(answer.parameters.count(plan.swept.front().field));
        if (auto point = point_of(answer, x, ordinate)) {
            plot::Series& series = classes[class_of(plan, answer)];
            series.points.push_back(std::move(*point));
            peak = std::get<model::Prediction>(answer.outcome).peak;
        } else {
            ++skipped;
        }
    });
    plot::Sweep sweep;
    sweep.title = title_of(plan.kind, plan.fixed) + " on " + machine.title;
    sweep.x = {.title = abscissa_title(plan), .unit = ""};
    sweep.y = ordinate_axis(ordinate);
    const bool by_alignment = plan.swept.size() == 1 && plan.kind == model::OperationKind::matmul;
    for (auto& [name, series] : classes) {
        series.name = name;
        series.drawing =
            by_alignment && classes.size() > 1 ? plot::Drawing::scatter : plot::Drawing::line;
        sweep.series.push_back(std::move(series));
    }
    if (peak && ordinate == Ordinate::rate) {
        sweep.limits.push_back({.name = "peak " + format(*peak), .y = peak->base() * 1e-12});
    }
    if (skipped > 0) sweep.notes.push_back(fmt::format("{} shapes are not modelled", skipped));
    write_chart_output(context, options.output, plot::sweep_chart(sweep));
}

int sweep(const Context& context, const SweepOptions& options) {
    const Plan plan = plan_of(options);
    Machines machines = options.gpu.machines();
    const model::Machine& machine = machines.at(options.gpu.name());
    if (options.format == "csv") {
        write_points_csv(context, plan, machine);
    } else if (options.format == "json") {
        write_points_json(context, plan, machine);
    } else {
        draw_sweep(context, options, plan, machine);
    }
    return success;
}

}  // namespace

Action build_sweep(CLI::App& app, std::span<const std::string> arguments) {
    const auto options = std::make_shared<SweepOptions>(app, arguments);
    add_format_option(app, options->format, "chart|csv|json");
    app.add_option("--y", options->y, "what the chart shows: rate, bandwidth or time")
        ->check(CLI::IsMember({"rate", "bandwidth", "time"}));
    add_chart_options(app, options->output);
    app.footer(
        "A count may be a range: first:last:step, first:last:*factor, a,b,c, or @field.\n"
        "Example:\n"
        "  ridge sweep matmul --m 1024:8192:128 --n @m --k @m --gpu a100-sxm-80gb \\\n"
        "      -o sweep.svg");
    return [options](const Context& context) { return sweep(context, *options); };
}

}  // namespace ridge::cli
