// `ridge compare`: one operation on several GPUs, with several implementations, types or shapes.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/charts/chart_output.h"
#include "cli/charts/comparison_chart.h"
#include "cli/commands/commands.h"
#include "cli/commands/compare.h"
#include "cli/commands/compare_model.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/options/sweep_plan.h"
#include "cli/options/sweep_range.h"
#include "cli/views/memory.h"
#include "cli/views/prediction.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/predict.h"
#include "programs/configs/presets.h"

namespace ridge::cli {
namespace {

struct CompareOptions {
    CompareOptions(CommandLine& line, std::span<const std::string> arguments)
        : gpu(line), operation(line, arguments) {}

    GpuOptions gpu;
    OperationArgument operation;
    std::string from;
    std::string format;
    ChartOutput chart;
};

/// Every combination of the GPUs, words and counts that were named, with the values that differ.
struct Comparison {
    std::vector<std::string> columns;  ///< what varies: "gpu", "impl", "seq"
    std::vector<Answer> answers;
    std::vector<std::vector<std::string>> names;  ///< for each answer, one per column
    std::size_t shapes = 1;                       ///< of each GPU and variant, which are adjacent
};

/// The fields that vary, in the order in which the points vary.
std::vector<std::string> varying_names(const SweepPlan& plan) {
    std::vector<std::string> names;
    for (const ListedWords& list : plan.listed) names.emplace_back(model::info_of(list.field).name);
    for (const SweptField& field : plan.swept) names.emplace_back(model::info_of(field.field).name);
    return names;
}

std::vector<std::string> values_of(const SweepPlan& plan, const model::Parameters& parameters) {
    std::vector<std::string> values;
    for (const ListedWords& list : plan.listed) values.push_back(parameters.text(list.field));
    for (const SweptField& field : plan.swept) {
        values.push_back(std::to_string(parameters.count(field.field)));
    }
    return values;
}

Comparison compare_all(Machines& machines, const GpuOptions& gpu_options, const SweepPlan& plan) {
    constexpr std::int64_t most_compared = 1000;
    const std::vector<std::string> gpus = gpu_options.names();
    const std::int64_t each = plan.variants() * plan.size();
    if (each * static_cast<std::int64_t>(gpus.size()) > most_compared) {
        throw InputError(fmt::format("a comparison has at most {} rows", most_compared), {},
                         "for more points: ridge sweep");
    }
    Comparison comparison;
    comparison.shapes = static_cast<std::size_t>(plan.size());
    const std::vector<std::string> varying = varying_names(plan);
    if (gpus.size() > 1 || varying.empty()) comparison.columns.emplace_back("gpu");
    comparison.columns.insert(comparison.columns.end(), varying.begin(), varying.end());
    for (const std::string& gpu : gpus) {
        for (std::int64_t i = 0; i < each; ++i) {
            Answer answer;
            answer.kind = plan.kind;
            answer.machine = &machines.at(gpu);
            answer.parameters = plan.fixed;
            plan.set_variant(i / plan.size(), answer.parameters);
            if (each == 1) {
                predict(answer);
            } else {
                predict_point(plan, i % plan.size(), answer);
            }
            std::vector<std::string> names = values_of(plan, answer.parameters);
            if (comparison.columns.front() == "gpu") {
                names.insert(names.begin(), answer.machine->name);
            }
            comparison.names.push_back(std::move(names));
            comparison.answers.push_back(std::move(answer));
        }
    }
    return comparison;
}

/// Empty if the description does not say how much the GPU can do.
std::string share_of_peak(const model::Prediction& p) {
    const bool computes = p.work.flop() > Flop{};
    if (computes ? p.peak <= FlopRate{} : p.bandwidth <= Bandwidth{}) return {};
    const double share =
        computes ? (p.work.flop() / p.time) / p.peak : (p.work.dram() / p.time) / p.bandwidth;
    return format_number(100.0 * share, 3) + " %";
}

/// Speed relative to the first GPU or variant at the same shape: "1.52x". If one of them rests on
/// another architecture or on a data sheet alone, what their bands allow: "0.4 - 2.1x".
std::string speed_up(const Comparison& comparison, std::size_t index) {
    const auto at = [&comparison](std::size_t i) {
        return std::get_if<model::Prediction>(&comparison.answers[i].outcome);
    };
    const model::Prediction* const here = at(index);
    for (std::size_t i = index % comparison.shapes; i <= index; i += comparison.shapes) {
        const model::Prediction* const first = at(i);
        if (first == nullptr || first->time <= Time{}) continue;
        if (i == index) return "1x";
        const model::Grade weakest = std::min(first->evidence.grade(), here->evidence.grade());
        if (weakest >= model::Grade::related) {
            return format_number(first->time / here->time, 3) + "x";
        }
        return format_number(first->low / here->high, 2) + " - " +
               format_number(first->high / here->low, 2) + "x";
    }
    return {};
}

/// "2.47 - 3.07 ms", or with both units if they differ.
std::string band_of(const model::Prediction& p) {
    const std::string low = format(p.low);
    const std::string high = format(p.high);
    const std::size_t unit = low.find(' ');
    const bool same = low.substr(unit) == high.substr(high.find(' '));
    return (same ? low.substr(0, unit) : low) + " - " + high;
}

Table comparison_table(const Comparison& comparison) {
    Table table;
    for (const std::string& name : comparison.columns) table.columns.push_back({name});
    for (const char* name : {"time", "80 % band", "vs first"}) {
        table.columns.push_back({name, Align::right});
    }
    table.columns.insert(
        table.columns.end(),
        {{"bound"}, {"evidence"}, {"rate", Align::right}, {"of peak", Align::right}});
    for (std::size_t i = 0; i < comparison.answers.size(); ++i) {
        std::vector<std::string> row = comparison.names[i];
        const auto* p = std::get_if<model::Prediction>(&comparison.answers[i].outcome);
        if (p == nullptr) {
            row.insert(row.end(), {"none", "", "", "", "", "", ""});
        } else {
            row.insert(row.end(),
                       {format(p->time), band_of(*p), speed_up(comparison, i),
                        std::string(name_of(p->bound)), std::string(name_of(p->evidence.grade())),
                        rate_of(*p), share_of_peak(*p)});
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

/// The table in base units with six digits, for programs.
Table exact_table(const Comparison& comparison, const std::string& op) {
    Table table{.columns = {{"op"}, {"gpu"}}, .rows = {}};
    const bool gpu_varies = comparison.columns.front() == "gpu";
    for (std::size_t i = gpu_varies ? 1 : 0; i < comparison.columns.size(); ++i) {
        table.columns.push_back({comparison.columns[i]});
    }
    for (const std::string& name : result_columns()) table.columns.push_back({name, Align::right});
    for (std::size_t i = 0; i < comparison.answers.size(); ++i) {
        const Answer& answer = comparison.answers[i];
        std::vector<std::string> row{op, answer.machine->name};
        row.insert(row.end(), comparison.names[i].begin() + (gpu_varies ? 1 : 0),
                   comparison.names[i].end());
        for (std::string& cell : result_cells(answer)) row.push_back(std::move(cell));
        table.rows.push_back(std::move(row));
    }
    return table;
}

/// Writes why answers are missing, each reason once.
void write_refusals(const Context& context, const Comparison& comparison) {
    std::vector<std::string> said;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    for (std::size_t i = 0; i < comparison.answers.size(); ++i) {
        const auto* none = std::get_if<model::NotModelled>(&comparison.answers[i].outcome);
        if (none == nullptr) continue;
        std::string who;
        for (const std::string& name : comparison.names[i]) who += (who.empty() ? "" : " ") + name;
        const std::string line = who + ": " + none->reason;
        if (std::find(said.begin(), said.end(), line) != said.end()) continue;
        said.push_back(line);
        context.out << "  " << wrap(line, width, 4, 2) << '\n';
    }
}

/// Says which state of the L2 was assumed, where the other would change the comparison.
void write_cache_state(const Context& context, const Comparison& comparison,
                       const SweepPlan& plan) {
    constexpr double worth_a_word = 1.2;  // wider than most bands
    const auto is_state = [](const SweptField& each) { return each.field == model::Field::l2; };
    if (!model::applies(plan.kind, model::Field::l2) || plan.fixed.has(model::Field::l2) ||
        std::any_of(plan.swept.begin(), plan.swept.end(), is_state)) {
        return;
    }
    double most = 1.0;
    for (Answer cold : comparison.answers) {
        const auto* warm = std::get_if<model::Prediction>(&cold.outcome);
        if (warm == nullptr) continue;
        const Time before = warm->time;
        cold.parameters.set(model::Field::l2, "cold");
        predict(cold);
        const auto* after = std::get_if<model::Prediction>(&cold.outcome);
        if (after != nullptr) most = std::max(most, after->time.base() / before.base());
    }
    if (most < worth_a_word) return;
    write_sentence(context, fmt::format("Assumed: what fits into the L2 cache is there (l2=warm). "
                                        "From DRAM (--l2 cold) up to {}x as long.",
                                        format_number(most, 2)));
}

/// Draws the comparison: places are the values of the first column, classes those of the others.
void draw(const Context& context, const ChartOutput& chart, const Comparison& comparison,
          const std::string& title) {
    std::vector<ComparedName> names;
    for (const std::vector<std::string>& parts : comparison.names) {
        ComparedName name{.place = parts.front(), .series = {}};
        for (std::size_t i = 1; i < parts.size(); ++i) {
            name.series += (i > 1 ? ", " : "") + parts[i];
        }
        names.push_back(std::move(name));
    }
    write_chart_output(context, chart, comparison_chart(comparison.answers, names, title));
}

/// What all rows share: the fixed fields, and the GPU if it does not vary.
std::string title_of(const SweepPlan& plan, const Comparison& comparison) {
    std::string title = text_of(plan.kind, plan.fixed);
    for (const SweptField& field : plan.swept) {
        for (const model::Field follower : field.followers) {
            title += fmt::format(" {}=@{}", model::info_of(follower).name,
                                 model::info_of(field.field).name);
        }
    }
    if (comparison.columns.front() != "gpu") {
        title += " on " + comparison.answers.front().machine->title;
    }
    return title;
}

void write_rows(const Context& context, const Comparison& comparison, const SweepPlan& plan,
                Format format) {
    const std::string title = title_of(plan, comparison);
    switch (format) {
        case Format::json: {
            Json json = Json::array();
            for (const Answer& answer : comparison.answers) json.push_back(to_json(answer));
            context.out << json.text(2) << '\n';
            return;
        }
        case Format::csv:
            write_csv(context.out, exact_table(comparison, text_of(plan.kind, plan.fixed)));
            return;
        case Format::markdown:
            write_markdown(context.out, comparison_table(comparison));
            return;
        case Format::table:
            const auto width = static_cast<std::size_t>(std::max(40, context.width));
            context.out << wrap(title, width, 2) << '\n';
            write_text(context.out, fitted(comparison_table(comparison),
                                           {"of peak", "80 % band", "rate", "bound"}, width));
            write_refusals(context, comparison);
            write_cache_state(context, comparison, plan);
            return;
    }
}

int compare(const Context& context, const GpuOptions& gpu, const OperationArgument& operation,
            const std::string& given, const ChartOutput& chart) {
    const std::string format = format_in_pipe(context, given);
    const SweepPlan plan =
        make_sweep_plan(operation.kind(), operation.texts(), PlanUse::comparison);
    Machines machines = gpu.machines(context);
    const Comparison comparison = compare_all(machines, gpu, plan);
    const bool drawn = format == "chart";
    if (drawn || !chart.file.empty()) {
        draw(context, chart, comparison, title_of(plan, comparison));
    }
    if (!drawn) write_rows(context, comparison, plan, parse_format(format));
    for (const Answer& answer : comparison.answers) {
        if (std::holds_alternative<model::NotModelled>(answer.outcome)) return bad_data;
    }
    return success;
}

}  // namespace

bool has_lists(const GpuOptions& gpu, const OperationArgument& operation) {
    if (!operation.given()) return false;
    const auto texts = operation.texts();
    const bool listed = std::any_of(texts.begin(), texts.end(), [](const auto& each) {
        return model::info_of(each.first).kind != model::FieldKind::text && is_range(each.second);
    });
    return listed || (gpu.known() && gpu.names().size() > 1);
}

bool lists_only_words(const OperationArgument& operation) {
    if (!operation.given()) return false;
    bool words = false;
    for (const auto& [field, text] : operation.texts()) {
        const model::FieldKind kind = model::info_of(field).kind;
        if (kind == model::FieldKind::text || !is_range(text)) continue;
        if (kind == model::FieldKind::count) return false;
        words = true;
    }
    return words;
}

int compare_lists(const Context& context, const GpuOptions& gpu, const OperationArgument& operation,
                  const std::string& format) {
    return compare(context, gpu, operation, format, {});
}

Action build_compare(CommandLine& line, std::span<const std::string> arguments) {
    if (std::find(arguments.begin(), arguments.end(), "model") != arguments.end()) {
        return build_compare_model(line, ModelWord::given);
    }
    const std::string first = arguments.empty() ? "" : arguments.front();
    if (!model::find_operation_kind(first) && programs::is_model(first)) {
        return build_compare_model(line, ModelWord::absent);
    }
    const auto options = std::make_shared<CompareOptions>(line, arguments);
    add_format_option(line, options->format, "table|chart|json|csv|md", " (in a pipe: csv)");
    add_chart_options(line, options->chart);
    line.option("--from", options->from, "table of shapes (as `ridge predict --from`), all GPUs")
        .value("FILE");
    line.footer(
        "--gpu, --impl, --dtype and other words may be lists (a,b), counts may be ranges\n"
        "as in `ridge sweep`. Every combination is a row, or a dot with its band.\n"
        "Examples:\n"
        "  ridge compare matmul --m 8192 --n 8192 --k 8192 --dtype bf16 \\\n"
        "      --gpu a100-sxm-80gb,h100-sxm,h200-sxm\n"
        "  ridge compare attention --seq 8192 --heads 32 --head-dim 128 --gpu h100-sxm \\\n"
        "      --impl standard,flash2,flash3 -o compare.svg\n"
        "  ridge compare --from shapes.csv --gpu a100,h100,b200\n"
        "  ridge compare llama-3.1-8b --gpu h100,b200 --batch 1,16 --phase decode\n"
        "`ridge compare MODEL --help` has the options of whole models.");
    return [options](const Context& context) {
        if (!options->from.empty()) {
            return compare_table(context, options->gpu, options->operation, options->from,
                                 options->format);
        }
        return compare(context, options->gpu, options->operation, options->format, options->chart);
    };
}

}  // namespace ridge::cli
