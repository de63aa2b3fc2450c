// `ridge compare model`: one step of a model for several GPUs, software stacks, types and batches.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "answers/candidate.h"
#include "cli/charts/chart_output.h"
#include "cli/commands/compare_model.h"
#include "cli/console/table.h"
#include "cli/input/model_input.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/model_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/memory.h"
#include "cli/views/model_step.h"
#include "effects/chart.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

struct CompareModel {
    CompareModel(CommandLine& line, ModelWord first) : gpu(line), word(line, first), model(line) {}

    /// The word "model" in the place of an operation.
    struct Word {
        Word(CommandLine& line, ModelWord first) {
            if (first == ModelWord::absent) return;
            line.positional("op", text, "model").value("OP").one_of({"model"});
        }
        std::string text;
    };

    GpuOptions gpu;
    Word word;
    ModelOptions model;
    std::string format;
    ChartOutput chart;
};

struct ComparedModels {
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> names;
    std::vector<StepAnswer> answers;
};

ComparedModels compare_all(Machines& machines, const std::vector<std::string>& gpus,
                           const ModelOptions& model, const programs::Architecture& architecture) {
    constexpr std::size_t most_compared = 200;
    const std::vector<ModelOptions::Variant> variants = model.variants();
    if (gpus.size() * variants.size() > most_compared) {
        throw InputError(fmt::format("a comparison of models has at most {} rows", most_compared));
    }
    ComparedModels compared;
    compared.columns = model.varying();
    const bool by_gpu = gpus.size() > 1 || compared.columns.empty();
    if (by_gpu) compared.columns.insert(compared.columns.begin(), "gpu");
    for (const std::string& gpu : gpus) {
        Place place = place_on(machines, gpu);
        place.host = model.host_or(place.host);
        for (const ModelOptions::Variant& variant : variants) {
            std::vector<std::string> names = variant.values;
            if (by_gpu) names.insert(names.begin(), place.machine->name);
            compared.names.push_back(std::move(names));
            Place with = place;
            with.machine = with_software(place.machine, variant.software);
            compared.answers.push_back(answer_step(architecture, variant.request, with));
        }
    }
    return compared;
}

bool fits(const StepAnswer& answer) {
    return bytes_of(answer.memory.reserved) <= *answer.usable;
}

std::string tokens_text(const StepAnswer& answer) {
    const auto rate = tokens_per_s(answer);
    return rate ? format_number(*rate, 4) : std::string();
}

/// Tokens per second of wall time, relative to the first row; empty if a step lacks parts.
std::string against_first(const ComparedModels& compared, const StepAnswer& answer) {
    const auto rate = tokens_per_s(answer);
    const auto first = tokens_per_s(compared.answers.front());
    return rate && first ? format_number(*rate / *first, 3) + "x" : std::string();
}

std::string grade_text(const programs::Totals& total) {
    return total.left_out.empty() ? std::string(name_of(weakest_grade(total))) : std::string();
}

std::string remark_on(const StepAnswer& answer) {
    std::string text = fits(answer) ? "" : "does not fit";
    if (!answer.time->gpu.total.left_out.empty()) text += text.empty() ? "partly" : ", partly";
    return text;
}

/// Writes what the rows lack, each reason once.
void write_left_out(const Context& context, const ComparedModels& compared, std::size_t width) {
    std::vector<std::string> said;
    for (std::size_t i = 0; i < compared.answers.size(); ++i) {
        const std::string text = compared.answers[i].time->gpu.total.left_out.text();
        if (text.empty()) continue;
        const std::string line =
            printable(fmt::format("{}: {}", fmt::join(compared.names[i], " "), text));
        if (std::find(said.begin(), said.end(), line) != said.end()) continue;
        said.push_back(line);
        context.out << "  " << wrap(line, width, 4, 2) << '\n';
    }
}

Table table_of(const ComparedModels& compared) {
    Table table;
    for (const std::string& name : compared.columns) table.columns.push_back({name});
    for (const char* name :
         {"wall", "kernels", "80 % band", "host", "tokens/s", "vs first", "memory"}) {
        table.columns.push_back({name, Align::right});
    }
    table.columns.push_back({"evidence"});
    table.columns.push_back({""});
    for (std::size_t i = 0; i < compared.answers.size(); ++i) {
        const StepAnswer& answer = compared.answers[i];
        const programs::StepTime& time = *answer.time;
        const programs::Totals& total = time.gpu.total;
        std::vector<std::string> row = compared.names[i];
        row.insert(
            row.end(),
            {model::text_of_sum(time.wall, total.left_out),
             model::text_of_sum(total.time, total.left_out),
             total.left_out.empty() ? fmt::format("{} - {}", format(total.low), format(total.high))
                                    : std::string(),
             format(time.host), tokens_text(answer), against_first(compared, answer),
             format_capacity(bytes_of(answer.memory.reserved)), grade_text(total),
             remark_on(answer)});
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table exact_table(const ComparedModels& compared) {
    Table table;
    for (const char* name :
         {"model", "gpu", "software", "dtype", "quantise", "tp", "batch", "seq", "wall_us",
          "time_us", "time_low_us", "time_high_us", "host_us", "tokens_per_s", "kernels",
          "reserved_bytes", "fits", "evidence", "not_modelled"}) {
        table.columns.push_back({name});
    }
    const auto exact = [](double value) { return fmt::format("{:.6g}", value); };
    for (const StepAnswer& answer : compared.answers) {
        const programs::StepTime& time = *answer.time;
        const programs::Totals& total = time.gpu.total;
        const programs::Request& r = answer.request;
        const auto sum = [&](Time value) {
            return total.left_out.empty() ? exact(value.in(units::us)) : std::string();
        };
        const auto rate = tokens_per_s(answer);
        table.rows.push_back(
            {answer.architecture->name, answer.machine->name, std::string(name_of(r.software)),
             std::string(model::name_of(r.type)), std::string(name_of(r.quantisation)),
             std::to_string(r.tensor_parallel), std::to_string(r.batch), std::to_string(r.seq),
             sum(time.wall), sum(total.time), sum(total.low), sum(total.high),
             exact(time.host.in(units::us)), rate ? exact(*rate) : std::string(),
             std::to_string(total.kernels), std::to_string(answer.memory.reserved),
             fits(answer) ? "1" : "0", grade_text(total), total.left_out.text()});
    }
    return table;
}

/// One place on the x axis for each value of the first column, and one series for each combination
/// of the other columns.
plot::Chart chart_of(const ComparedModels& compared, const std::string& title) {
    plot::Sweep sweep;
    sweep.title = title;
    sweep.subtitle = "wall time of the step, with the band of its kernels";
    sweep.x = {.title = compared.columns.front()};
    sweep.y = {.title = "Wall time", .unit = "ms", .scale = plot::Scale::log};
    for (std::size_t i = 0; i < compared.answers.size(); ++i) {
        const std::vector<std::string>& names = compared.names[i];
        std::string series;
        for (std::size_t k = 1; k < names.size(); ++k) series += (k > 1 ? ", " : "") + names[k];
        if (series.empty()) series = "predicted";
        auto place = std::find(sweep.x.names.begin(), sweep.x.names.end(), names.front());
        if (place == sweep.x.names.end()) {
            place = sweep.x.names.insert(sweep.x.names.end(), names.front());
        }
        auto known = std::find_if(sweep.series.begin(), sweep.series.end(),
                                  [&](const plot::Series& each) { return each.name == series; });
        if (known == sweep.series.end()) {
            known = sweep.series.insert(
                sweep.series.end(),
                plot::Series{.name = series, .drawing = plot::Drawing::scatter});
        }
        const programs::StepTime& time = *compared.answers[i].time;
        if (!time.gpu.total.left_out.empty()) {
            sweep.notes.push_back(fmt::format("Not drawn: {}: {}.", fmt::join(names, " "),
                                              time.gpu.total.left_out.text()));
            continue;
        }
        const answers::Spread wall = answers::spread_of(time);
        plot::SeriesPoint point{.x = static_cast<double>(place - sweep.x.names.begin()) + 1.0,
                                .y = wall.time.in(units::ms),
                                .low = wall.low.in(units::ms),
                                .high = wall.high.in(units::ms),
                                .origin = effects::origin_of(wall.evidence)};
        point.terms = {{"kernels", format(time.gpu.total.time)},
                       {"host", format(time.host)},
                       {"evidence", std::string(name_of(wall.evidence))},
                       {"tokens/s", tokens_text(compared.answers[i])}};
        known->points.push_back(std::move(point));
    }
    sweep.x.low = 0.5;
    sweep.x.high = static_cast<double>(sweep.x.names.size()) + 0.5;
    return plot::sweep_chart(sweep);
}

/// "llama-3.1-8b, decode of 4 x 2048 tokens": what all rows have in common.
std::string common_title(const ComparedModels& compared) {
    const StepAnswer& first = compared.answers.front();
    const auto varies = [&](const char* name) {
        return std::count(compared.columns.begin(), compared.columns.end(), name) > 0;
    };
    const programs::Request& request = first.request;
    std::string title = fmt::format("{}, {}", first.architecture->name, name_of(request.phase));
    if (!varies("batch") && !varies("seq")) {
        title += fmt::format(" of {} x {} tokens", request.batch, request.seq);
    } else if (!varies("seq")) {
        title += fmt::format(" of {} tokens", request.seq);
    } else if (!varies("batch")) {
        title += fmt::format(" of {} sequences", request.batch);
    }
    if (compared.columns.front() != "gpu") title += " on " + first.machine->title;
    return title;
}

}  // namespace

int compare_steps(const Context& context, const GpuOptions& gpu, ModelOptions& model,
                  const std::string& format, const ChartOutput& chart) {
    require_model(model.config());
    const programs::Architecture architecture = model.architecture();
    model.settle_length(architecture);
    Machines machines = gpu.machines(context);
    const ComparedModels compared = compare_all(machines, gpu.names(), model, architecture);
    const std::string title = common_title(compared);
    const bool only_chart = format == "chart";
    if (only_chart || !chart.file.empty()) {
        write_chart_output(context, chart, chart_of(compared, title));
    }
    if (only_chart) return success;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    switch (parse_format(format_in_pipe(context, format))) {
        case Format::json: {
            Json json = Json::array();
            for (const StepAnswer& answer : compared.answers) json.push_back(json_of(answer));
            context.out << json.text(2) << '\n';
            break;
        }
        case Format::csv:
            write_csv(context.out, exact_table(compared));
            break;
        case Format::markdown:
            write_markdown(context.out, table_of(compared));
            break;
        case Format::table:
            context.out << wrap(title, width, 2) << '\n';
            write_text(context.out,
                       fitted(table_of(compared), {"80 % band", "host", "kernels"}, width));
            write_left_out(context, compared, width);
    }
    return success;
}

Action build_compare_model(CommandLine& line, ModelWord first) {
    const auto command = std::make_shared<CompareModel>(line, first);
    add_format_option(line, command->format, "table|chart|json|csv|md", " (in a pipe: csv)");
    add_chart_options(line, command->chart);
    line.footer(
        "--gpu, --software, --dtype and --quantise may be lists (a,b), --tp, --gpus, --zero, "
        "--batch\n"
        "and --seq also ranges (1:64:*2). Every combination is a row.\n"
        "Examples:\n"
        "  ridge compare model llama-3.1-8b --gpu h100-sxm,h200-sxm,b200 --phase decode \\\n"
        "      --software transformers,compiled,serving --batch 16\n"
        "  ridge compare model qwen3-8b --gpu h100 --batch 1,8,64 --phase decode -o c.svg");
    return [command](const Context& context) {
        if (command->model.config().empty()) {
            throw InputError("CONFIG is missing", {},
                             "ridge compare model llama-3.1-8b --gpu h100-sxm,h200-sxm");
        }
        return compare_steps(context, command->gpu, command->model, command->format,
                             command->chart);
    };
}

}  // namespace ridge::cli
