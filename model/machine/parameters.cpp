#include "model/machine/parameters.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "hardware/units.h"
#include "model/machine/schema.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

template <class Set>
hardware::Field field_of(const Section<Set>& section, const Parameter<Set>& row) {
    return {.path = field_path(section.path, row.name),
            .kind = row.kind,
            .dimension = row.dimension,
            .presence = hardware::Presence::optional,
            .title = section.title,
            .meaning = row.meaning,
            .range = row.range};
}

template <class Set>
ModelParameter parameter_at(std::span<const Section<Set>> table, const Section<Set>& section,
                            const Parameter<Set>& row) {
    std::vector<Set* (*)(Machine&)> sharing;
    for (const Section<Set>& each : table) {
        if (row.origins.at(each.column) == as(section.column)) sharing.push_back(each.edit);
    }
    return {.field = field_of(section, row),
            .section = section.path,
            .name = row.name,
            .origin = row.origins.at(section.column),
            .read = [find = section.find, &row](const Machine& machine) -> std::optional<double> {
                const Set* const set = find(machine);
                return set == nullptr ? std::nullopt : std::optional(row.read(*set));
            },
            .write =
                [edit = section.edit, sharing, &row](Machine& machine, double value) {
                    Set* const set = edit(machine);
                    if (set == nullptr) return false;
                    row.write(*set, value);
                    for (const auto& each : sharing) row.write(*each(machine), value);
                    return true;
                }};
}

template <class Set, class Visit>
void visit_sections(std::span<const Section<Set>> sections, const Visit& visit) {
    for (const Section<Set>& section : sections) {
        for (const Parameter<Set>& row : section.table) {
            if (is_own(row.origins.at(section.column))) visit(sections, section, row);
        }
    }
}

/// Calls `visit` with every section and row, in the order in which they are shown.
template <class Visit>
void visit_all(const Visit& visit) {
    const auto tables = [&visit](const auto&... each) { (visit_sections(each, visit), ...); };
    tables(flash_sections(), tiled_attention_sections(), decode_attention_sections(),
           standard_attention_sections(), residency_sections(), memory_sections().first(2),
           library_sections(), memory_sections().subspan(2), torch_sections());
    std::apply(tables, torch_stream_sections());
    std::apply(tables, torch_attention_sections());
    std::apply(tables, torch_product_sections());
    std::apply(tables, torch_choice_sections());
    std::apply(tables, bundled_count_sections());
    tables(fabric_sections(), send_sections(), tuner_sections());
    std::apply(tables, collective_kernel_sections());
    tables(custom_reduce_sections());
    std::apply(tables, copy_sections());
    tables(matmul_call_sections(), matmul_sections(), bundled_matmul_sections(),
           mla_decode_sections(), mla_prefill_sections(), moe_sections(), energy_sections(),
           law_sections());
}

std::vector<ModelParameter> collected() {
    std::vector<ModelParameter> all;
    visit_all([&all](const auto& table, const auto& section, const auto& row) {
        all.push_back(parameter_at(table, section, row));
    });
    return all;
}

}  // namespace

std::string_view to_string(Origin origin) {
    switch (origin) {
        case Origin::none:
            return "none";
        case Origin::tables:
            return "fitted to tables";
        case Origin::records:
            return "fitted to records";
        case Origin::either:
            return "fitted to tables or records";
        case Origin::measured:
            return "measured";
        case Origin::assumed:
            return "assumed";
        case Origin::shared:
            break;
    }
    contract_violated("the origin is known", __FILE__, __LINE__);
}

const std::vector<ModelParameter>& model_parameters() {
    static const std::vector<ModelParameter> all = collected();
    return all;
}

std::vector<hardware::Field> parameter_fields() {
    std::vector<hardware::Field> fields;
    visit_all([&fields](const auto&, const auto& section, const auto& row) {
        fields.push_back(field_of(section, row));
    });
    return fields;
}

namespace {

/// Gives the value to every kernel of a section, since several may share one (of other shapes or
/// capabilities). False if the machine has none.
bool write_kernels(Machine& machine, const std::string& section, std::size_t i, double value) {
    bool any = false;
    for (EngineKernel& each : machine.engine) {
        if (each.recipe->section != section) continue;
        each.values[i] = value;
        any = true;
    }
    return any;
}

/// The parameters of a kernel, made once.
std::vector<ModelParameter> made_for(const std::string& section, const LawInfo& law) {
    std::vector<ModelParameter> all;
    for (std::size_t i = 0; i < law.parameters.size(); ++i) {
        const LawParameter& each = law.parameters[i];
        ModelParameter made;
        made.field = *schema().find(section + '.' + std::string(each.name));
        made.name = each.name;
        made.origin = each.origin;
        made.read = [section, i](const Machine& machine) -> std::optional<double> {
            for (const EngineKernel& kernel : machine.engine) {
                if (kernel.recipe->section == section) return kernel.values[i];
            }
            return std::nullopt;
        };
        made.write = [section, i](Machine& machine, double value) {
            return write_kernels(machine, section, i, value);
        };
        all.push_back(std::move(made));
    }
    return all;
}

}  // namespace

std::vector<const ModelParameter*> engine_parameters(std::string_view section) {
    static std::mutex mutex;
    static std::map<std::string, std::vector<ModelParameter>, std::less<>> kept;
    const std::lock_guard lock(mutex);
    auto found = kept.find(section);
    for (const LawInfo& law : law_table()) {
        const std::string start = std::string(engine_section) + '.' + std::string(law.name) + '.';
        if (found != kept.end() || !section.starts_with(start)) continue;
        found = kept.emplace(section, made_for(std::string(section), law)).first;
        for (ModelParameter& each : found->second) {
            each.section = std::string_view(found->first).substr(model_section.size() + 1);
        }
    }
    std::vector<const ModelParameter*> all;
    if (found == kept.end()) return all;
    for (const ModelParameter& each : found->second) all.push_back(&each);
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
    std::string path;
    path.reserve(model_section.size() + section.size() + name.size() + 2);
    path += model_section;
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
