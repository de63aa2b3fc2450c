#include "cli/views/deployments.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/views/memory.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using answers::DeploymentRow;
using answers::DeploymentSearch;

Json json_of(const DeploymentRow& row) {
    const programs::Deployment& d = row.deployment;
    Json json{{"gpu", row.gpu},
              {"gpus", row.gpus()},
              {"engine", row.engine},
              {"tp", d.tensor},
              {"dp", d.data},
              {"pp", d.pipeline},
              {"ep", d.experts ? d.tensor * d.data : std::int64_t{1}},
              {"replicas", d.replicas},
              {"quantisation", name_of(d.quantisation)},
              {"chunk", d.chunk},
              {"batch", row.batch},
              {"ttft_us", row.ttft.in(units::us)},
              {"tpot_us", row.tpot.in(units::us)},
              {"step_us", row.step.in(units::us)},
              {"tokens_per_s", row.tokens_per_s},
              {"requests_per_s", row.requests_per_s},
              {"meets_targets", row.meets},
              {"evidence", name_of(row.evidence)}};
    if (d.speculation.tokens() > 0) {
        json["draft"] = name_of(d.speculation.draft);
        json["draft_tokens"] = d.speculation.tokens();
        json["tokens_per_step"] = row.yield;
        if (d.drafter != nullptr) json["draft_model"] = d.drafter->name;
    }
    if (d.adapters.slots > 0) json["adapter_slots"] = d.adapters.slots;
    if (d.offload > 0) json["offload_bytes"] = d.offload;
    if (row.cached > 0.0) json["prompt_tokens_found"] = row.cached;
    if (row.prompt_servers) json["prompt_servers"] = *row.prompt_servers;
    if (row.price_per_hour) {
        json["price_per_hour"] = *row.price_per_hour;
        json["price_per_million_tokens"] = row.cost();
    }
    return json;
}

}  // namespace

Rows front_rows(const DeploymentSearch& search) {
    Rows rows{.columns = {{.name = "deployment"},
                          {.name = "tokens_per_s", .title = "tokens/s"},
                          {.name = "tpot_us", .title = "per token"},
                          {.name = "ttft_us", .title = "first token"},
                          {.name = "cost", .title = "cost"},
                          {.name = "meets", .title = "in target"},
                          {.name = "evidence"}},
              .rows = {}};
    for (const DeploymentRow& row : search.front) {
        rows.rows.push_back(
            {{.text = text_of(row)},
             {.text = format_number(row.tokens_per_s, 4), .number = row.tokens_per_s},
             {.text = format(row.tpot), .number = row.tpot.in(units::us)},
             {.text = format(row.ttft), .number = row.ttft.in(units::us)},
             {.text = format_number(row.cost(), 3), .number = row.cost()},
             {.text = row.meets ? "yes" : "", .number = row.meets ? 1.0 : 0.0},
             {.text = std::string(name_of(row.evidence))}});
    }
    return rows;
}

Json to_json(const DeploymentSearch& search) {
    Json json{{"verdict", verdict_of(search)},
              {"candidates", search.candidates},
              {"front", Json::array()}};
    for (const DeploymentRow& row : search.front) json["front"].push_back(json_of(row));
    if (search.best) json["best"] = json_of(*search.best);
    if (search.second) {
        json["second"] = json_of(*search.second);
        json["why_second"] = why_second(search);
    }
    if (search.nearest) json["nearest"] = json_of(*search.nearest);
    if (!search.command.empty()) json["command"] = search.command;
    return json;
}

void write_search(const Context& context, const DeploymentSearch& search) {
    context.out << '\n';
    write_sentence(context, "Deployments: " + verdict_of(search));
    if (search.second) write_sentence(context, "- the next: " + why_second(search));
    if (!search.command.empty()) write_sentence(context, "- start: " + search.command);
    if (search.front.empty()) return;
    const bool priced = search.front.front().price_per_hour.has_value();
    context.out << '\n';
    write_sentence(context,
                   fmt::format("Of {} candidates none is both cheaper and faster than these "
                               "(cost: {} per million tokens):",
                               search.candidates, priced ? "price" : "GPU seconds"));
    context.out << '\n';
    constexpr std::size_t most = 8;
    Rows rows = front_rows(search);
    if (rows.rows.size() > most) {
        // The ends and steps between them.
        Rows fewer{.columns = rows.columns, .rows = {}};
        for (std::size_t i = 0; i < most; ++i) {
            fewer.rows.push_back(rows.rows[i * (rows.rows.size() - 1) / (most - 1)]);
        }
        rows = std::move(fewer);
    }
    write_rows(context, rows, Format::table);
}

}  // namespace ridge::cli
