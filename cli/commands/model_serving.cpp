#include "cli/commands/model_serving.h"

#include <algorithm>
#include <ostream>

#include "cli/charts/model_charts.h"
#include "cli/commands/served_points.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/model_options.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "programs/advice.h"
#include "programs/serving.h"
#include "programs/traffic/steady.h"

namespace ridge::cli {
namespace {

using programs::ServingPoint;

std::vector<ServingPoint> points_of(const ServingOptions& options,
                                    const programs::Architecture& architecture,
                                    const Served& served) {
    const programs::Request& request = served.request;
    const model::Machine& machine = *served.place.machine;
    const std::vector<std::int64_t> batches = programs::doubling_batches(options.most);
    if (request.software != programs::Software::serving) {
        if (options.extras->given()) {
            throw InputError("draft, adapters, prefix, offload: of a serving engine only", {},
                             "--software serving");
        }
        const programs::Load load{.prompt = request.seq,
                                  .answer = options.answer,
                                  .request = request,
                                  .batches = batches,
                                  .gpus = served.degrees,
                                  .host = served.place.host};
        return serve(architecture, load, machine, served.place.usable);
    }
    const programs::Engine& engine = programs::find_engine(served.engine);
    programs::SteadyService service{.prompt = request.seq,
                                    .answer = options.answer,
                                    .batches = batches,
                                    .sharing = options.extras->sharing(request.seq)};
    for (const std::int64_t tensor : served.degrees) {
        service.deployments.push_back(options.extras->only(deployment_of(request, tensor, engine)));
    }
    return serve_steadily(architecture, service, engine, machine, served.place.usable);
}

}  // namespace

ServingOptions::ServingOptions(CommandLine& line) : energy(line) {
    line.flag("--serve", serve, "time to first token, time per token, tokens/s over batch sizes");
    line.option("--answer", answer, "serve: tokens per answer").group("Serving");
    line.option("--most", most, "serve: largest batch").group("Serving");
    targets.emplace(line, TargetWords{});
    line.option("--requests", requests, "serve: requests per second to meet")
        .not_negative()
        .group("Serving");
    extras.emplace(
        line,
        ExtraWords{
            .drafts = "Serving", .adapters = "Serving", .load = "Serving", .before = "serve: "});
    line.flag("--advise", advise, "which changes would help, each one predicted");
}

void ServingOptions::check() const {
    if (serve) return;
    const auto refuse = [](bool given, const char* option) {
        if (given) throw InputError(std::string(option) + ": only with --serve", {}, "add --serve");
    };
    refuse(targets->given_ttft(), "ttft");
    refuse(targets->given_tpot(), "tpot");
    refuse(targets->given_price(), "price");
    refuse(requests > 0.0, "requests");
    refuse(extras->given(), "draft, adapters, prefix, offload");
    refuse(energy.given(), "price-kwh, grid-intensity");
}

int write_serving(const Context& context, const ServingOptions& options, const ServingChart& chart,
                  const programs::Architecture& architecture, const Served& served, Format format) {
    if (options.answer < 1) throw InputError("answer must be positive");
    if (options.most < 1 || options.most > 65536) throw InputError("most must be 1 to 65536");
    const ServedPoints found{.model = architecture.name,
                             .gpu = served.place.machine->name,
                             .software = std::string(name_of(served.request.software)),
                             .prompt = served.request.seq,
                             .answer = options.answer,
                             .points = points_of(options, architecture, served),
                             .several = served.degrees.size() > 1,
                             .targets = options.targets->targets(),
                             .price = options.targets->prices(1).front(),
                             .energy = &options.energy,
                             .requests = options.requests};
    write_points(context, found, format);
    if (!chart.output.file.empty()) {
        write_chart_output(context, chart.output,
                           chart.front == ServedFront::energy
                               ? energy_chart(found.points, title_of(found))
                               : pareto_chart(found.points, title_of(found)));
    }
    return success;
}

void write_advice(const Context& context, const programs::Architecture& architecture,
                  const programs::Request& request, const Place& place, Format wanted) {
    const auto found =
        advise(architecture, request, *place.machine, {.host = place.host, .usable = place.usable});
    if (wanted == Format::json) {
        Json out = Json::array();
        for (const programs::Suggestion& each : found) {
            out.push_back({{"what", each.text},
                           {"factor", each.factor},
                           {"wall_us", each.wall.in(units::us)}});
        }
        context.out << out.text(2) << '\n';
        return;
    }
    Table table{.columns = {{"  what"}, {"tokens/s", Align::right}, {"step", Align::right}},
                .rows = {}};
    for (const programs::Suggestion& each : found) {
        table.rows.push_back(
            {"  " + each.text, format_number(each.factor, 3) + "x", format(each.wall)});
    }
    if (wanted == Format::csv) return write_csv(context.out, table);
    if (wanted == Format::markdown) return write_markdown(context.out, table);
    if (found.empty()) return write_sentence(context, "Nothing that was tried gains 3 % or more.");
    write_text(context.out, table);
}

}  // namespace ridge::cli
