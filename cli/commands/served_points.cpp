#include "cli/commands/served_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/views/memory.h"
#include "hardware/json.h"
#include "hardware/units.h"

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

Json json_of(const ServingPoint& point, const ServedPoints& served) {
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
        if (served.energy != nullptr) served.energy->add(json, 1e6 * point.per_token);
    }
    if (served.price) {
        json["cost_per_million_tokens"] = cost_of(point, *served.price);
    }
    return json;
}

Table table_of(const ServedPoints& served) {
    Table table{.columns = {{"  GPUs", Align::right},
                            {served.several ? "batch" : "  batch", Align::right},
                            {"TTFT", Align::right},
                            {"TPOT", Align::right},
                            {"tokens/s", Align::right},
                            {"J/token", Align::right},
                            {"memory", Align::right},
                            {"evidence"},
                            {""}},
                .rows = {}};
    if (served.price) table.columns.push_back({"per million", Align::right});
    for (const ServingPoint& point : served.points) {
        table.rows.push_back(
            {"  " + std::to_string(point.gpus), std::to_string(point.batch), format(point.ttft),
             format(point.tpot), format_number(point.tokens_per_s, 4), joules_text(point.per_token),
             format_capacity(bytes_of(point.bytes)), std::string(model::name_of(point.evidence)),
             point.fits ? (point.front ? "" : "dominated") : "does not fit"});
        if (served.price) {
            table.rows.back().push_back(format_number(cost_of(point, *served.price), 3));
        }
    }
    if (served.several) return table;
    table.columns.erase(table.columns.begin());
    for (std::vector<std::string>& row : table.rows) {
        row.erase(row.begin());
        row.front().insert(0, "  ");
    }
    return table;
}

/// Points in base units, for programs.
Table exact_table(const ServedPoints& served) {
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
    if (served.price) table.columns.push_back({"cost_per_million_tokens"});
    const auto exact = [](double value) { return fmt::format("{:.6g}", value); };
    for (const ServingPoint& point : served.points) {
        table.rows.push_back({std::to_string(point.gpus), std::to_string(point.batch),
                              exact(point.ttft.in(units::us)), exact(point.tpot.in(units::us)),
                              exact(point.tokens_per_s), exact(point.per_gpu()),
                              point.per_token > Energy{} ? exact(point.per_token.base()) : "",
                              std::to_string(point.bytes),
                              std::string(model::name_of(point.evidence)), point.fits ? "1" : "0",
                              point.front ? "1" : "0"});
        if (served.price) table.rows.back().push_back(exact(cost_of(point, *served.price)));
    }
    return table;
}

void write_choice(const Context& context, const ServedPoints& served,
                  const std::optional<ServingPoint>& best) {
    context.out << '\n';
    if (!best) return write_sentence(context, "No batch that fits meets the targets.");
    std::string text =
        fmt::format("Batch {}{}: {} tokens/s, {} to the first token, {} per token.", best->batch,
                    best->gpus > 1 ? fmt::format(" on {} GPUs", best->gpus) : "",
                    format_number(best->tokens_per_s, 4), format(best->ttft), format(best->tpot));
    if (best->per_token > Energy{}) {
        text += " " + format(best->per_token) + " per token";
        const std::string cost =
            served.energy == nullptr ? "" : served.energy->text(1e6 * best->per_token);
        text += cost.empty() ? "." : "; a million tokens: " + cost + ".";
    }
    if (served.requests > 0.0) {
        const double needed = served.requests * static_cast<double>(served.answer);
        text +=
            fmt::format(" {} requests/s need {} GPUs.", format_number(served.requests, 4),
                        std::ceil(needed / best->tokens_per_s) * static_cast<double>(best->gpus));
    }
    write_sentence(context, text);
}

}  // namespace

std::string title_of(const ServedPoints& served) {
    const bool one = !served.several && !served.points.empty();
    return fmt::format("{} on {}{}, prompts of {}, answers of {}, {}", served.model,
                       one ? fmt::format("{} x ", served.points.front().gpus) : "", served.gpu,
                       served.prompt, served.answer, served.software);
}

void write_points(const Context& context, const ServedPoints& served, Format format) {
    const std::optional<ServingPoint> best = best_within(served.points, served.targets);
    switch (format) {
        case Format::json: {
            Json out{{"model", served.model}, {"gpu", served.gpu}, {"points", Json::array()}};
            for (const ServingPoint& point : served.points) {
                out["points"].push_back(json_of(point, served));
            }
            if (best) out["best"] = json_of(*best, served);
            write_document(context.out, "serving", out);
            break;
        }
        case Format::csv:
            write_csv(context.out, exact_table(served));
            break;
        case Format::markdown:
            write_markdown(context.out, table_of(served));
            break;
        case Format::table:
            context.out << wrap(title_of(served),
                                static_cast<std::size_t>(std::max(40, context.width)), 2)
                        << "\n\n";
            write_text(context.out, table_of(served));
            write_choice(context, served, best);
    }
}

}  // namespace ridge::cli
