#include "model/machine/parameters.h"

#include <algorithm>

#include "hardware/units.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

template <class Set>
void add_section(std::vector<ModelParameter>& all, const Section<Set>& section) {
    for (const Parameter<Set>& row : section.table) {
        const Origin origin = row.origins.at(section.column);
        if (origin == Origin::none) continue;
        std::string meaning(section.title);
        meaning += ": ";
        meaning += row.meaning;
        all.push_back(
            {.field = {.path = field_path(section.path, row.name),
                       .kind = row.kind,
                       .dimension = row.dimension,
                       .presence = hardware::Presence::optional,
                       .meaning = std::move(meaning),
                       .range = row.range},
             .section = section.path,
             .name = row.name,
             .origin = origin,
             .read = [find = section.find, &row](const Machine& machine) -> std::optional<double> {
                 const Set* const set = find(machine);
                 return set == nullptr ? std::nullopt : std::optional(row.read(*set));
             },
             .write =
                 [edit = section.edit, &row](Machine& machine, double value) {
                     Set* const set = edit(machine);
                     if (set != nullptr) row.write(*set, value);
                     return set != nullptr;
                 }});
    }
}

template <class Set>
void add_sections(std::vector<ModelParameter>& all, std::span<const Section<Set>> sections) {
    for (const Section<Set>& section : sections) add_section(all, section);
}

std::vector<ModelParameter> collected() {
    std::vector<ModelParameter> all;
    add_sections(all, flash_sections());
    add_sections(all, tiled_attention_sections());
    add_sections(all, decode_attention_sections());
    add_sections(all, standard_attention_sections());
    add_sections(all, residency_sections());
    add_sections(all, memory_sections().first(2));
    add_sections(all, library_sections());
    add_sections(all, memory_sections().subspan(2));
    add_sections(all, torch_sections());
    const auto add_tables = [&all](const auto&... tables) { (add_sections(all, tables), ...); };
    std::apply(add_tables, torch_stream_sections());
    std::apply(add_tables, torch_attention_sections());
    std::apply(add_tables, torch_product_sections());
    std::apply(add_tables, bundled_count_sections());
    add_sections(all, fabric_sections());
    add_sections(all, send_sections());
    std::apply(add_tables, copy_sections());
    add_sections(all, matmul_call_sections());
    add_sections(all, matmul_sections());
    add_sections(all, bundled_matmul_sections());
    add_sections(all, mla_decode_sections());
    add_sections(all, mla_prefill_sections());
    add_sections(all, moe_sections());
    return all;
}

}  // namespace

std::string_view to_string(Origin origin) {
    switch (origin) {
        case Origin::none:
            return "none";
        case Origin::tables:
            return "fit to tables";
        case Origin::records:
            return "fit to records";
        case Origin::either:
            return "fit to tables or records";
        case Origin::measured:
            return "measured";
        case Origin::assumed:
            return "assumed";
    }
    contract_violated("the origin is known", __FILE__, __LINE__);
}

const std::vector<ModelParameter>& model_parameters() {
    static const std::vector<ModelParameter> all = collected();
    return all;
}

const ModelParameter* find_parameter(std::string_view path) {
    const std::vector<ModelParameter>& all = model_parameters();
    const auto found = std::find_if(all.begin(), all.end(), [path](const ModelParameter& each) {
        return each.field.path == path;
    });
    return found == all.end() ? nullptr : &*found;
}

std::string field_path(std::string_view section, std::string_view name) {
    std::string path(hardware::model_section);
    path += '.';
    path += section;
    path += '.';
    path += name;
    return path;
}

std::optional<double> value_in_range(const hardware::Description& gpu, const std::string& path,
                                     const hardware::Range& range) {
    const std::optional<double> value = gpu.value(path);
    if (value && !range.contains(*value)) {
        throw InputError("the description of " + gpu.name + ": " + path + " lies outside its range",
                         gpu.find(path)->location);
    }
    return value;
}

}  // namespace ridge::model
