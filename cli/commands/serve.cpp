// `ridge serve`: what a deployment of a model does to its users under a load.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "answers/traffic.h"
#include "cli/charts/chart_output.h"
#include "cli/charts/traffic_chart.h"
#include "cli/commands/commands.h"
#include "cli/commands/served_points.h"
#include "cli/console/progress.h"
#include "cli/input/model_input.h"
#include "cli/input/times.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"
#include "cli/options/operation_command.h"
#include "cli/options/serve_options.h"
#include "cli/views/model_step.h"
#include "cli/views/traffic.h"
#include "hardware/error.h"
#include "plot/export.h"
#include "plot/report.h"

namespace ridge::cli {
namespace {

struct ServeCommand {
    explicit ServeCommand(CommandLine& line) : serve(line), gpu(line) {}

    ServeOptions serve;
    GpuOptions gpu;
    ChartOutput chart;
    std::string format;
    std::string text;  ///< the command line, for the page
};

/// What is served, and where.
struct SteadyPlace {
    const programs::Architecture& architecture;
    const answers::Place& place;
};

int write_steady(const Context& context, const programs::SteadyService& service,
                 const answers::TrafficQuestion& question, const SteadyPlace& where,
                 Format format) {
    const model::Machine& machine = *where.place.machine;
    const ServedPoints found{.model = where.architecture.name,
                             .gpu = machine.name,
                             .software = "serving",
                             .prompt = service.prompt,
                             .answer = service.answer,
                             .points = serve_steadily(where.architecture, service, question.engine,
                                                      machine, where.place.usable),
                             .targets = question.targets};
    write_points(context, found, format);
    return success;
}

int run_serve(const Context& context, const ServeCommand& command) {
    if (command.serve.model().empty()) {
        throw InputError("MODEL is missing", {},
                         "a preset (`ridge model --list`), a config.json or its folder");
    }
    const Format format = parse_format(command.format);
    if (!command.chart.file.empty()) require_place(command.chart);
    const programs::Architecture architecture = model_named(command.serve.model());
    answers::TrafficQuestion question = command.serve.question(architecture);
    std::optional<Progress> progress(std::in_place, context, "loads", 1);
    question.progress = [&progress](std::size_t done, std::size_t all) {
        progress->share(static_cast<double>(done) / static_cast<double>(all));
        progress->count(static_cast<std::int64_t>(done));
    };
    Machines machines = command.gpu.machines(context);
    const Place place = place_on(machines, command.gpu.name());
    const answers::Place there{.machine = with_software(place.machine, command.serve.software()),
                               .usable = place.usable,
                               .host = place.host};
    if (command.serve.steady()) {
        if (!command.chart.file.empty()) throw InputError("output: not with --steady");
        return write_steady(context, command.serve.service(question), question,
                            {.architecture = architecture, .place = there}, format);
    }
    const answers::TrafficAnswer answer = serve_traffic(architecture, question, there);
    progress.reset();  // its line goes before the answer
    write_traffic(context, answer, format);
    if (command.chart.file.empty()) return success;
    if (plot::format_of(command.chart.file) == plot::Format::html) {
        plot::write_bytes(command.chart.file, plot::render_report(traffic_page(
                                                  answer, traffic_charts(answer), command.text)));
        context.err << "wrote " << command.chart.file << '\n';
    } else {
        write_chart_output(context, command.chart, traffic_charts(answer));
    }
    return success;
}

}  // namespace

Action build_serve(CommandLine& line, std::span<const std::string> arguments) {
    const auto command = std::make_shared<ServeCommand>(line);
    command->text = command_text("ridge serve", arguments);
    line.option("-o,--output", command->chart.file,
                "page (.html) with the verdict, or the charts of latency, batch and queue (.svg, "
                ".png, .pdf)")
        .value("FILE");
    add_format_option(line, command->format, "table|json|csv|md");
    line.footer(
        "Examples:\n"
        "  ridge serve llama-3.1-8b --gpu h100\n"
        "  ridge serve llama-3.1-70b --tp 4 --rate 1,2,4,8 --ttft 500ms --tpot 30ms \\\n"
        "      --prompt lognormal:1500:1 --answer exponential:300 --gpu h100\n"
        "  ridge serve qwen3-235b-a22b --dp 8 --ep 8 --concurrency 256 --gpu h200\n"
        "  ridge serve llama-3.1-70b --tp 4 --steady --adapters 20 --gpu h100\n"
        "  ridge serve llama-3.1-8b --log requests.csv --gpu rtx-4090 --json\n"
        "See also: ridge plan, which searches for a deployment.");
    return [command](const Context& context) { return run_serve(context, *command); };
}

}  // namespace ridge::cli
