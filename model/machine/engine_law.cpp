#include "model/machine/engine_law.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "hardware/error.h"
#include "hardware/nearest.h"
#include "model/machine/attention_walk_parameters.h"
#include "model/machine/expert_block_parameters.h"
#include "model/machine/mixed_tile_parameters.h"
#include "model/machine/peer_reduce_parameters.h"
#include "model/machine/query_block_parameters.h"
#include "model/machine/recurrence_parameters.h"
#include "model/machine/residual_parameters.h"
#include "model/machine/tiled_product_parameters.h"

namespace ridge::model {
namespace {

template <class Set>
std::vector<LawParameter> rows_of(std::span<const Parameter<Set>> table) {
    std::vector<LawParameter> rows;
    const Set usual;
    for (const Parameter<Set>& row : table) {
        rows.push_back({.name = row.name,
                        .range = row.range,
                        .meaning = row.meaning,
                        .origin = row.origins.front(),
                        .kind = row.kind,
                        .dimension = row.dimension,
                        .usual = row.read(usual)});
    }
    return rows;
}

/// Features of corrections (docs/model.md G8), in the order in which model/residual/kernel_correction.cpp gives them.
constexpr std::array<std::string_view, 11> engine_product_features{
    "m", "n", "k", "weights", "work", "tiles", "wave", "full", "compute", "memory", "time"};
constexpr std::array<std::string_view, 12> engine_attention_features{
    "batch",  "kv_heads", "group", "queries", "keys",   "head_dim",
    "window", "tiles",    "wave",  "compute", "memory", "time"};

constexpr hardware::Range band_range{1e-3, 3.0};

std::vector<LawInfo> all_laws() {
    std::vector<LawInfo> laws{{.name = "tiled_product",
                               .title = "tiled product of an engine",
                               .attributes = tiled_product_attributes(),
                               .parameters = rows_of(tiled_product_table()),
                               .features = engine_product_features},
                              {.name = "attention_tiles",
                               .title = "attention of an engine, many queries",
                               .attributes = attention_walk_attributes(),
                               .parameters = rows_of(attention_tiles_table()),
                               .features = engine_attention_features},
                              {.name = "attention_parts",
                               .title = "attention of an engine, one query",
                               .attributes = attention_walk_attributes(),
                               .parameters = rows_of(attention_parts_table()),
                               .features = engine_attention_features},
                              {.name = "expert_block",
                               .title = "block of experts of an engine",
                               .attributes = expert_block_attributes(),
                               .parameters = rows_of(expert_block_table())},
                              {.name = "peer_reduce",
                               .title = "all-reduce of an engine",
                               .attributes = peer_reduce_attributes(),
                               .parameters = rows_of(peer_reduce_table())},
                              {.name = "channel_conv",
                               .title = "short convolution of an engine",
                               .attributes = channel_conv_attributes(),
                               .parameters = rows_of(channel_conv_table())},
                              {.name = "chunked_scan",
                               .title = "recurrence of a prompt of an engine",
                               .attributes = chunked_scan_attributes(),
                               .parameters = rows_of(chunked_scan_table())},
                              {.name = "state_step",
                               .title = "recurrence of a token of an engine",
                               .attributes = state_step_attributes(),
                               .parameters = rows_of(state_step_table())},
                              {.name = "query_blocks",
                               .title = "queries with keys of their own of an engine",
                               .attributes = query_blocks_attributes(),
                               .parameters = rows_of(query_blocks_table())},
                              {.name = "mixed_tiles",
                               .title = "attention of a mixed step of an engine",
                               .attributes = mixed_tiles_attributes(),
                               .parameters = rows_of(mixed_tiles_table())}};
    for (const LawInfo& each : laws) {
        RIDGE_CONTRACT(each.attributes.size() <= most_attributes);
        RIDGE_CONTRACT(each.parameters.size() <= most_law_parameters);
    }
    return laws;
}

hardware::Field engine_field(const LawInfo& law, std::string_view name) {
    hardware::Field field;
    field.path =
        std::string(engine_section) + '.' + std::string(law.name) + ".*.*." + std::string(name);
    field.title = law.title;
    return field;
}

}  // namespace

std::span<const LawInfo> law_table() {
    static const std::vector<LawInfo> laws = all_laws();
    return laws;
}

std::size_t law_index(std::string_view name) {
    std::vector<std::string> names;
    for (const LawInfo& each : law_table()) {
        if (each.name == name) return names.size();
        names.emplace_back(each.name);
    }
    throw InputError("unknown law \"" + std::string(name) + "\"", {}, did_you_mean(name, names));
}

std::vector<hardware::Field> engine_fields() {
    std::vector<hardware::Field> fields;
    for (const LawInfo& law : law_table()) {
        for (const LawParameter& each : law.parameters) {
            hardware::Field field = engine_field(law, each.name);
            field.kind = each.kind;
            field.dimension = each.dimension;
            field.meaning = each.meaning;
            field.range = each.range;
            fields.push_back(std::move(field));
        }
        for (const auto& [name, meaning] :
             {std::pair(band_below_name, "ln of the time over the lower end of its 80 % band"),
              std::pair(band_above_name, "ln of the upper end of its 80 % band over the time")}) {
            hardware::Field field = engine_field(law, name);
            field.kind = hardware::ValueKind::number;
            field.meaning = meaning;
            field.range = band_range;
            fields.push_back(std::move(field));
        }
        if (law.features.empty()) continue;
        for (const CorrectionField& each : correction_fields) {
            hardware::Field field = engine_field(law, each.name);
            field.kind = each.kind;
            field.meaning = each.meaning;
            if (each.kind == hardware::ValueKind::number) field.range = band_range;
            fields.push_back(std::move(field));
        }
    }
    return fields;
}

}  // namespace ridge::model
