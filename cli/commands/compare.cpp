#include <memory>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/views/prediction.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

struct CompareOptions {
    CompareOptions(CommandLine& line, std::span<const std::string> arguments)
        : gpu(line), operation(line, arguments) {}

    GpuOptions gpu;
    OperationArgument operation;
    std::string format;
};

std::vector<Answer> answers_on_all(Machines& machines, const CompareOptions& options) {
    const model::Parameters parameters = options.operation.parameters();
    std::vector<Answer> answers;
    for (const std::string& name : options.gpu.names()) {
        Answer answer;
        answer.kind = options.operation.kind();
        answer.parameters = parameters;
        answer.machine = &machines.at(name);
        predict(answer);
        answers.push_back(std::move(answer));
    }
    return answers;
}

Table comparison_table(const std::vector<Answer>& answers) {
    Table table{.columns = {{"gpu"},
                            {"time", Align::right},
                            {"80 % band", Align::right},
                            {"vs first", Align::right},
                            {"bound"},
                            {"rate", Align::right},
                            {"of peak", Align::right}},
                .rows = {}};
    Time first{};
    for (const Answer& answer : answers) {
        const auto* p = std::get_if<model::Prediction>(&answer.outcome);
        if (p == nullptr) {
            table.rows.push_back({answer.machine->name, "", "", "",
                                  std::get<model::NotModelled>(answer.outcome).reason, "", ""});
            continue;
        }
        if (first <= Time{}) first = p->time;
        const FlopRate rate = p->work.flop() / p->time;
        const bool computes = p->work.flop() > Flop{};
        table.rows.push_back(
            {answer.machine->name, format(p->time), format(p->low) + " - " + format(p->high),
             format_number(first / p->time, 3) + "x", std::string(name_of(p->bound)),
             computes ? format(rate) : format(p->work.dram() / p->time),
             computes
                 ? format_number(100.0 * (rate / p->peak), 3) + " %"
                 : format_number(100.0 * (p->work.dram() / p->time / p->bandwidth), 3) + " %"});
    }
    return table;
}

int compare(const Context& context, const CompareOptions& options) {
    Machines machines = options.gpu.machines(context);
    const std::vector<Answer> answers = answers_on_all(machines, options);
    if (options.format == "json") {
        Json json = Json::array();
        for (const Answer& answer : answers) json.push_back(to_json(answer));
        context.out << json.text(2) << '\n';
    } else if (options.format == "csv") {
        write_csv(context.out, comparison_table(answers));
    } else if (options.format == "md") {
        write_markdown(context.out, comparison_table(answers));
    } else {
        context.out << text_of(options.operation.kind(), options.operation.parameters()) << '\n';
        write_text(context.out, comparison_table(answers));
    }
    for (const Answer& answer : answers) {
        if (std::holds_alternative<model::NotModelled>(answer.outcome)) return bad_data;
    }
    return success;
}

}  // namespace

Action build_compare(CommandLine& line, std::span<const std::string> arguments) {
    const auto options = std::make_shared<CompareOptions>(line, arguments);
    add_format_option(line, options->format, "table|json|csv|md");
    line.footer(
        "Example:\n"
        "  ridge compare matmul --m 8192 --n 8192 --k 8192 --dtype bf16 \\\n"
        "      --gpu a100-sxm-80gb,h100-sxm,h200-sxm");
    return [options](const Context& context) { return compare(context, *options); };
}

}  // namespace ridge::cli
