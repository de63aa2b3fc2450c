#include "cli/views/effect.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "hardware/json.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using effects::StudiedFigure;
using effects::StudiedSeries;
using effects::Study;
using effects::Value;

std::string cell(effects::Quantity quantity, const std::optional<double>& value, Figures figures) {
    if (!value) return {};
    return figures == Figures::exact ? format_number(*value, 6)
                                     : effects::text_of(quantity, *value);
}

std::string place_of(const Value& value) {
    return value.name.empty() ? format_number(value.x, 12) : value.name;
}

std::string unit_of(effects::Quantity quantity) {
    switch (quantity) {
        case effects::Quantity::time:
        case effects::Quantity::latency:
            return "s";
        case effects::Quantity::bandwidth:
            return "B/s";
        case effects::Quantity::rate:
            return "FLOP/s";
        case effects::Quantity::traffic:
        case effects::Quantity::l2_traffic:
        case effects::Quantity::memory:
            return "B";
        case effects::Quantity::clock:
            return "Hz";
        case effects::Quantity::number:
            return "";
    }
    return {};
}

void set(Json& json, const char* name, const std::optional<double>& value) {
    if (value) json[name] = *value;
}

Json points_of(const StudiedSeries& series) {
    Json points = Json::array();
    for (const Value& value : series.values) {
        Json point{{"x", value.x}};
        if (!value.name.empty()) point["name"] = value.name;
        set(point, "predicted", value.predicted);
        set(point, "low", value.low);
        set(point, "high", value.high);
        set(point, "measured", value.measured);
        if (!value.refused.empty()) point["not_modelled"] = value.refused;
        if (value.evidence) point["evidence"] = name_of(*value.evidence);
        points.push_back(std::move(point));
    }
    return points;
}

/// Every sentence with the relations that it rests on.
Json claims_of(const Study& study) {
    Json claims = Json::array();
    for (const std::vector<effects::Claim>& paragraph : study.claims) {
        for (const effects::Claim& claim : paragraph) {
            Json relations = Json::array();
            for (const effects::Relation& each : claim.relations) {
                relations.push_back({{"left", each.left},
                                     {"a", each.a},
                                     {"relation", std::string(1, each.relation)},
                                     {"right", each.right},
                                     {"b", each.b}});
            }
            claims.push_back({{"text", claim.text}, {"relations", std::move(relations)}});
        }
    }
    return claims;
}

Json json_of(const Study& study) {
    Json json{{"effect", study.effect->name},         {"title", study.effect->title},
              {"question", study.effect->question},   {"gpu", study.gpu_name},
              {"equations", study.effect->equations}, {"formula", study.formula}};
    if (!study.refused.empty()) {
        json["not_modelled"] = study.refused;
        return json;
    }
    json["evidence"] = study.evidence ? Json(name_of(*study.evidence)) : Json();
    Json text = Json::array();
    for (const std::string& paragraph : study.paragraphs) text.push_back(paragraph);
    json["text"] = std::move(text);
    json["claims"] = claims_of(study);
    Json ratio{{"what", study.ratio.what}};
    set(ratio, "predicted", study.predicted_ratio);
    set(ratio, "measured", study.measured_ratio);
    json["ratio"] = std::move(ratio);
    Json figures = Json::array();
    for (const StudiedFigure& figure : study.figures) {
        Json series = Json::array();
        for (const StudiedSeries& each : figure.series) {
            series.push_back({{"id", each.id},
                              {"name", each.name},
                              {"unit", unit_of(each.quantity)},
                              {"points", points_of(each)}});
        }
        figures.push_back({{"title", figure.figure.title},
                           {"x", figure.figure.x.title},
                           {"y", figure.figure.y.title},
                           {"series", std::move(series)}});
    }
    json["figures"] = std::move(figures);
    for (const effects::KernelRow& row : study.kernels) {
        json["kernels"].push_back({{"name", row.name},
                                   {"operation", row.operation},
                                   {"predicted", row.predicted},
                                   {"measured", row.measured}});
    }
    return json;
}

}  // namespace

void write_answer(const Context& context, const Study& study) {
    if (!study.refused.empty() || study.paragraphs.empty()) return;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << "  " << wrap(study.paragraphs.front(), width, 2, 2) << "\n\n";
}

void write_effect(const Context& context, const Study& study) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    if (!study.refused.empty()) {
        context.out << wrap(std::string(study.effect->name) + " cannot be shown on " + study.gpu +
                                ": " + study.refused,
                            width, 2)
                    << '\n';
        return;
    }
    for (std::size_t i = 1; i < study.paragraphs.size(); ++i) {
        context.out << "  " << wrap(study.paragraphs[i], width, 2, 2) << "\n\n";
    }
    const auto line = [&](std::string_view label, const std::string& text) {
        if (text.empty()) return;
        context.out << "  " << label << std::string(10 - label.size(), ' ')
                    << wrap(text, width, 12, 12) << '\n';
    };
    line("formula",
         study.formula + " (docs/model.md: " + std::string(study.effect->equations) + ")");
    line("ratio", study.verdict);
    if (study.evidence) {
        line("evidence", fmt::format("{}: the weakest of its points", name_of(*study.evidence)));
    }
    if (study.kernels.empty()) return;
    context.out << "\n  kernels by name: the model's tile, then the kernel that ran\n";
    for (const effects::KernelRow& row : study.kernels) {
        context.out << "  " << wrap(row.name + ": " + row.operation, width, 4, 2) << "\n    "
                    << wrap(row.predicted, width, 6, 4) << '\n';
        if (!row.measured.empty()) context.out << "    " << wrap(row.measured, width, 6, 4) << '\n';
    }
}

Table effect_table(const Study& study, Figures figures) {
    Table table{.columns = {{"effect"},
                            {"series"},
                            {"x", Align::right},
                            {"predicted", Align::right},
                            {"measured", Align::right},
                            {"evidence"},
                            {"unit"}},
                .rows = {}};
    if (figures == Figures::readable) {
        table.columns.erase(table.columns.begin());
        table.columns.pop_back();
    }
    for (const StudiedFigure& figure : study.figures) {
        for (const StudiedSeries& series : figure.series) {
            for (const Value& value : series.values) {
                std::vector<std::string> row{
                    std::string(study.effect->name),
                    series.id,
                    place_of(value),
                    value.refused.empty() ? cell(series.quantity, value.predicted, figures)
                                          : "not modelled",
                    cell(series.quantity, value.measured, figures),
                    value.evidence ? std::string(name_of(*value.evidence)) : "",
                    unit_of(series.quantity)};
                if (figures == Figures::readable) {
                    row.erase(row.begin());
                    row.pop_back();
                }
                table.rows.push_back(std::move(row));
            }
        }
    }
    return table;
}

void write_effects_json(const Context& context, std::span<const Study> studies) {
    Json list = Json::array();
    for (const Study& study : studies) list.push_back(json_of(study));
    context.out << list.text(2) << '\n';
}

}  // namespace ridge::cli
