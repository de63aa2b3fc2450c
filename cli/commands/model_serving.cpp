#include "cli/commands/model_serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "cli/charts/model_charts.h"
#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/model_options.h"
#include "cli/views/memory.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "programs/advice.h"
#include "programs/serving.h"
#include "programs/traffic/steady.h"

namespace ridge::cli {
namespace {

using programs::ServingPoint;

std::string joules_text(Energy energy) {
    return energy > Energy{} ? format_number(energy.base(), 3) : std::string();
}

/// Cost of a million tokens, at a price per GPU and hour.
double cost_of(const ServingPoint& point, double price) {
    return price / 3600.0 / point.per_gpu() * 1e6;
}

std::optional<double> price_of(const ServingOptions& options) {
    return options.targets->prices(1).front();
}

Json json_of(const ServingPoint& point, const ServingOptions& options) {
    Json json{{"batch", point.batch},
              {"gpus", point.gpus},
              {"ttft_us", point.ttft.in(units::us)},
              {"tpot_us", point.tpot.in(units::us)},
              {"tokens_per_s", point.tokens_per_s},
              {"tokens_per_s_per_gpu", point.per_gpu()},
              {"bytes", point.bytes},
              {"evidence", model::name_of(point.evidence)},
              {"fits", point.fits},
              {"pareto", point.front}};
    if (point.per_token > Energy{}) {
        json["joules_per_token"] = point.per_token.base();
        options.energy.add(json, 1e6 * point.per_token);
    }
    if (const auto price = price_of(options)) {
        json["cost_per_million_tokens"] = cost_of(point, *price);
    }
    return json;
}

Table table_of(const std::vector<ServingPoint>& points, const ServingOptions& options,
               bool several) {
    Table table{.columns = {{"  GPUs", Align::right},
                            {several ? "batch" : "  batch", Align::right},
                            {"TTFT", Align::right},
                            {"TPOT", Align::right},
                            {"tokens/s", Align::right},
                            {"J/token", Align::right},
                            {"memory", Align::right},
                            {"evidence"},
                            {""}},
                .rows = {}};
    if (price_of(options)) table.columns.push_back({"per million", Align::right});
    for (const ServingPoint& point : points) {
        table.rows.push_back(
            {"  " + std::to_string(point.gpus), std::to_string(point.batch), format(point.ttft),
             format(point.tpot), format_number(point.tokens_per_s, 4), joules_text(point.per_token),
             format_capacity(bytes_of(point.bytes)), std::string(model::name_of(point.evidence)),
             point.fits ? (point.front ? "" : "dominated") : "does not fit"});
        if (price_of(options)) {
            table.rows.back().push_back(format_number(cost_of(point, *price_of(options)), 3));
        }
    }
    if (several) return table;
    table.columns.erase(table.columns.begin());
    for (std::vector<std::string>& row : table.rows) {
        row.erase(row.begin());
        row.front().insert(0, "  ");
    }
    return table;
}

/// Points in base units, for programs.
Table exact_table(const std::vector<ServingPoint>& points, const ServingOptions& options) {
    Table table{.columns = {{"gpus"},
                            {"batch"},
                            {"ttft_us"},
                            {"tpot_us"},
                            {"tokens_per_s"},
                            {"tokens_per_s_per_gpu"},
                            {"joules_per_token"},
                            {"bytes"},
                            {"evidence"},
                            {"fits"},
                            {"pareto"}},
                .rows = {}};
    if (price_of(options)) table.columns.push_back({"cost_per_million_tokens"});
    const auto exact = [](double value) { return fmt::format("{:.6g}", value); };
    for (const ServingPoint& point : points) {
        table.rows.push_back({std::to_string(point.gpus), std::to_string(point.batch),
                              exact(point.ttft.in(units::us)), exact(point.tpot.in(units::us)),
                              exact(point.tokens_per_s), exact(point.per_gpu()),
                              point.per_token > Energy{} ? exact(point.per_token.base()) : "",
                              std::to_string(point.bytes),
                              std::string(model::name_of(point.evidence)), point.fits ? "1" : "0",
                              point.front ? "1" : "0"});
        if (price_of(options))
            table.rows.back().push_back(exact(cost_of(point, *price_of(options))));
    }
    return table;
}

void write_choice(const Context& context, const ServingOptions& options,
                  const std::optional<ServingPoint>& best) {
    context.out << '\n';
    if (!best) return write_sentence(context, "No batch that fits meets the targets.");
    std::string text =
        fmt::format("Batch {}{}: {} tokens/s, {} to the first token, {} per token.", best->batch,
                    best->gpus > 1 ? fmt::format(" on {} GPUs", best->gpus) : "",
                    format_number(best->tokens_per_s, 4), format(best->ttft), format(best->tpot));
    if (best->per_token > Energy{}) {
        text += " " + format(best->per_token) + " per token";
        const std::string cost = options.energy.text(1e6 * best->per_token);
        text += cost.empty() ? "." : "; a million tokens: " + cost + ".";
    }
    if (options.requests > 0.0) {
        const double needed = options.requests * static_cast<double>(options.answer);
        text +=
            fmt::format(" {} requests/s need {} GPUs.", format_number(options.requests, 4),
                        std::ceil(needed / best->tokens_per_s) * static_cast<double>(best->gpus));
    }
    write_sentence(context, text);
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
    refuse(energy.given(), "price-kwh, grid-intensity");
}

int write_serving(const Context& context, const ServingOptions& options, const ServingChart& chart,
                  const programs::Architecture& architecture, const Served& served, Format format) {
    if (options.answer < 1) throw InputError("answer must be positive");
    if (options.most < 1 || options.most > 65536) throw InputError("most must be 1 to 65536");
    const programs::Request& request = served.request;
    const model::Machine& machine = *served.place.machine;
    const programs::Load load{.prompt = request.seq,
                              .answer = options.answer,
                              .request = request,
                              .batches = programs::doubling_batches(options.most),
                              .gpus = served.degrees,
                              .host = served.place.host};
    const std::vector<ServingPoint> points =
        request.software == programs::Software::serving
            ? serve_steadily(architecture, load, programs::find_engine(served.engine), machine,
                             served.place.usable)
            : serve(architecture, load, machine, served.place.usable);
    const programs::Targets targets = options.targets->targets();
    const std::optional<ServingPoint> best = best_within(points, targets);
    const bool several = served.degrees.size() > 1;
    const std::string title =
        fmt::format("{} on {}{}, prompts of {}, answers of {}, {}", architecture.name,
                    several || points.empty() ? "" : fmt::format("{} x ", points.front().gpus),
                    machine.name, request.seq, options.answer, name_of(request.software));
    switch (format) {
        case Format::json: {
            Json out{
                {"model", architecture.name}, {"gpu", machine.name}, {"points", Json::array()}};
            for (const ServingPoint& point : points) {
                out["points"].push_back(json_of(point, options));
            }
            if (best) out["best"] = json_of(*best, options);
            write_document(context.out, "serving", out);
            break;
        }
        case Format::csv:
            write_csv(context.out, exact_table(points, options));
            break;
        case Format::markdown:
            write_markdown(context.out, table_of(points, options, several));
            break;
        case Format::table:
            context.out << wrap(title, static_cast<std::size_t>(std::max(40, context.width)), 2)
                        << "\n\n";
            write_text(context.out, table_of(points, options, several));
            write_choice(context, options, best);
    }
    if (!chart.output.file.empty()) {
        write_chart_output(context, chart.output,
                           chart.front == ServedFront::energy ? energy_chart(points, title)
                                                              : pareto_chart(points, title));
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
