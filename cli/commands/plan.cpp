// `ridge plan`: does a model fit, how fast is it, on how many GPUs, and what to change.
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <variant>

#include "answers/deployments.h"
#include "answers/plan.h"
#include "answers/plan_text.h"
#include "cli/charts/plan_chart.h"
#include "cli/commands/commands.h"
#include "cli/console/progress.h"
#include "cli/input/model_input.h"
#include "cli/input/times.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/options/plan_options.h"
#include "cli/views/deployments.h"
#include "cli/views/model_step.h"
#include "cli/views/plan.h"
#include "hardware/error.h"
#include "plot/export.h"

namespace ridge::cli {
namespace {

struct PlanCommand {
    explicit PlanCommand(CommandLine& line) : plan(line), gpu(line) {}

    PlanOptions plan;
    GpuOptions gpu;
    std::string output;
    std::string format;
    std::string text;  ///< the command line, for the page
};

/// The price that the description of the chip has; a slice of a GPU has none.
void add_list_price(answers::Place& place, const hardware::Description& gpu,
                    const std::string& name) {
    const bool slice = name.find(':') != std::string::npos;
    const hardware::Datum* const price = gpu.find("price.hour");
    if (slice || price == nullptr) return;
    place.price = std::get<double>(price->value);
    const auto source = gpu.sources.find(price->sources.front());
    if (source != gpu.sources.end()) place.price_source = source->second.text;
}

std::vector<answers::Place> places_of(const PlanCommand& command, Machines& machines) {
    const std::vector<std::string> names = command.gpu.names();
    const std::vector<std::optional<double>> prices = command.plan.prices(names.size());
    std::vector<answers::Place> places;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const Place place = place_on(machines, names[i]);
        places.push_back({.machine = place.machine,
                          .usable = place.usable,
                          .usable_measured = place.usable_measured,
                          .host = place.host,
                          .price = prices[i]});
        if (!prices[i]) add_list_price(places.back(), machines.description(names[i]), names[i]);
    }
    return places;
}

/// The plan, and the deployments if they were searched.
void write_answer(const Context& context, const answers::Plan& plan,
                  const std::optional<answers::DeploymentSearch>& found, Format format) {
    if (!found) return write_plan(context, plan, format);
    if (format == Format::json) {
        Json json = to_json(plan);
        json["deployments"] = to_json(*found);
        context.out << json.text(2) << '\n';
        return;
    }
    if (format != Format::table) return write_rows(context, front_rows(*found), format);
    write_plan(context, plan, format);
    write_search(context, *found);
}

int run_plan(const Context& context, const PlanCommand& command) {
    if (command.plan.model().empty()) {
        throw InputError("MODEL is missing", {},
                         "a preset (`ridge model --list`), a config.json or its folder");
    }
    const Format format = parse_format(command.format);
    if (!command.output.empty()) {
        static_cast<void>(plot::format_of(command.output));
        plot::require_writable(command.output, "page");
    }
    const programs::Architecture architecture = model_named(command.plan.model());
    answers::PlanQuestion question = command.plan.question(architecture);
    std::optional<Progress> progress(std::in_place, context, "layouts", 1);
    question.progress = [&progress](std::int64_t layouts) { progress->count(layouts); };
    question.searched = [&progress](double share) {
        progress->share(share);
        if (share >= 1.0) progress->now("what would make it fit");
    };
    Machines machines = command.gpu.machines(context);
    const std::vector<answers::Place> places = places_of(command, machines);
    const answers::Plan plan = answers::plan(architecture, question, places);
    std::optional<answers::DeploymentSearch> found;
    if (const auto search = command.plan.deployments(question)) {
        found = search_deployments(architecture, *search, places);
    }
    progress.reset();  // its line goes before the answer
    if (command.output.empty()) {
        write_answer(context, plan, found, format);
        return success;
    }
    if (plot::format_of(command.output) == plot::Format::html) {
        plot::Report page = plan_page(plan, command.text);
        page.blocks.insert(page.blocks.begin() + 1, plan_memory_chart(plan));
        plot::write_bytes(command.output, plot::render_report(page));
    } else {
        plot::write_charts(command.output, std::vector{plan_memory_chart(plan)});
    }
    context.err << "wrote " << command.output << '\n';
    return success;
}

}  // namespace

Action build_plan(CommandLine& line, std::span<const std::string> arguments) {
    const auto command = std::make_shared<PlanCommand>(line);
    command->text = command_text("ridge plan", arguments);
    line.option("-o,--output", command->output,
                "page (.html) with the verdict, or the chart of memory (.svg, .png, .pdf)")
        .value("FILE");
    add_format_option(line, command->format, "table|json|csv|md");
    line.footer(
        "Examples:\n"
        "  ridge plan llama-3.1-70b --gpu h100\n"
        "  ridge plan qwen3-32b --serve --ttft 500ms --tpot 30ms --gpu h100,b200\n"
        "  ridge plan llama-3.1-8b --train --gpus 1:8:*2 --gpu h100 -o plan.html\n"
        "  ridge plan ./my-model --finetune qlora --gpu rtx-4090");
    return [command](const Context& context) { return run_plan(context, *command); };
}

}  // namespace ridge::cli
