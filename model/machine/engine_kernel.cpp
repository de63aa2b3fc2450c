#include "model/machine/engine_kernel.h"

#include <algorithm>
#include <utility>

#include "hardware/nearest.h"
#include "model/machine/machine.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

/// Symbols after the fields of operations.
constexpr std::array<std::string_view, 3> gpu_symbols{"sms", "capability", "l2_kib"};

class EngineNames final : public Names {
  public:
    std::int32_t symbol(std::string_view name) override {
        for (std::size_t i = 0; i < gpu_symbols.size(); ++i) {
            if (gpu_symbols[i] == name) return static_cast<std::int32_t>(field_count + i);
        }
        const auto field = find_field(name);
        return field ? static_cast<std::int32_t>(*field) : -1;
    }
    std::int32_t local(std::string_view /*name*/) override { return -1; }
    std::int64_t word(std::string_view text) override { return number_of_word(text); }
    [[nodiscard]] std::vector<std::string> all() const override {
        std::vector<std::string> names(gpu_symbols.begin(), gpu_symbols.end());
        for (const FieldInfo& each : field_table()) names.emplace_back(each.name);
        return names;
    }
};

/// The attribute of a line that begins with NAME =; the condition if it begins with `when`.
std::size_t place_of_item(Tokens& tokens, const LawInfo& law) {
    if (tokens.accept("when")) return law.attributes.size();
    const std::string name(tokens.name());
    const auto found =
        std::find_if(law.attributes.begin(), law.attributes.end(),
                     [&name](const LawAttribute& each) { return each.name == name; });
    if (found == law.attributes.end()) {
        std::vector<std::string> names;
        for (const LawAttribute& each : law.attributes) names.emplace_back(each.name);
        tokens.fail_before(std::string(law.name) + " has no attribute " + name,
                           did_you_mean(name, names));
    }
    tokens.expect("=");
    return static_cast<std::size_t>(found - law.attributes.begin());
}

}  // namespace

EngineSymbols::EngineSymbols(const Operation& operation, const Machine& machine) {
    const Parameters parameters = parameters_of(operation);
    fields.given.resize(count);
    for (std::size_t i = 0; i < field_count; ++i) {
        const auto field = static_cast<Field>(i);
        if (!parameters.has(field)) continue;
        values[i] = parameters.count(field);
        fields.given[i] = 1;
    }
    if (const auto* const attention = std::get_if<Attention>(&operation)) {
        values[static_cast<std::size_t>(Field::kv_heads)] = attention->kv_heads;
        values[static_cast<std::size_t>(Field::seq_q)] = attention->seq_q;
        values[static_cast<std::size_t>(Field::seq_kv)] = attention->seq_kv;
    }
    constexpr double kib = 1024.0;
    values[field_count] = machine.sm_count;
    values[field_count + 1] = machine.compute_capability;
    values[field_count + 2] = static_cast<std::int64_t>(machine.l2.size.base() / kib);
}

std::int32_t EngineExpressions::add(std::string_view text, const Location& place) {
    Tokens tokens(text, place);
    EngineNames names;
    const std::int32_t root = parse_expression(tokens, names, nodes_);
    if (!tokens.at_end()) {
        tokens.fail("expected the end of the condition, found '" + std::string(tokens.peek()) +
                    "'");
    }
    return root;
}

std::vector<std::int32_t> EngineExpressions::add_line(std::string_view line, const LawInfo& law,
                                                      const Location& place) {
    std::vector<std::int32_t> roots(law.attributes.size() + 1, -1);
    Tokens tokens(line, place);
    EngineNames names;
    while (!tokens.at_end()) {
        const std::size_t at = place_of_item(tokens, law);
        if (roots[at] >= 0) tokens.fail_before("stated twice");
        roots[at] = parse_expression(tokens, names, nodes_);
        if (!tokens.at_end()) tokens.expect(",");
    }
    return roots;
}

bool EngineRecipe::attributes(const EngineSymbols& symbols, LawAttributes& values) const {
    const std::span<const LawAttribute> all = law_table()[law].attributes;
    const auto holds = [&](const std::vector<std::int32_t>& line) {
        return line.back() < 0 || expressions.value(line.back(), symbols) != 0;
    };
    const auto line = std::find_if(dispatch.begin(), dispatch.end(), holds);
    if (line == dispatch.end()) return false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::int32_t root = (*line)[i] >= 0 ? (*line)[i] : always[i];
        values[i] = root < 0 ? all[i].usual : expressions.value(root, symbols);
    }
    return true;
}

EngineKernel read_engine_kernel(std::shared_ptr<const EngineRecipe> recipe,
                                const hardware::Description& gpu) {
    const LawInfo& law = law_table()[recipe->law];
    EngineKernel kernel;
    kernel.recipe = recipe;
    const auto path_of = [&](std::string_view name) {
        return recipe->section + '.' + std::string(name);
    };
    for (std::size_t i = 0; i < law.parameters.size(); ++i) {
        const std::string path = path_of(law.parameters[i].name);
        const auto value = value_in_range(gpu, path, law.parameters[i].range);
        kernel.values[i] = value.value_or(law.parameters[i].usual);
        if (!value) continue;
        kernel.evidence = std::max(kernel.evidence, evidence_in(gpu, path));
        kernel.known = true;
    }
    kernel.band_below = gpu.value(path_of(band_below_name)).value_or(0.0);
    kernel.band_above = gpu.value(path_of(band_above_name)).value_or(0.0);
    if (auto correction = read_kernel_correction(gpu, recipe->section, law.features)) {
        kernel.correction = std::make_shared<KernelCorrection>(std::move(*correction));
    }
    return kernel;
}

std::size_t attribute_index(std::span<const LawAttribute> attributes, std::string_view name) {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [name](const LawAttribute& each) { return each.name == name; });
    RIDGE_CONTRACT(found != attributes.end());
    return static_cast<std::size_t>(found - attributes.begin());
}

}  // namespace ridge::model
