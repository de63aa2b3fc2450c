#include "measure/fit/built_trees.h"

#include "hardware/error.h"
#include "hardware/field_reader.h"
#include "hardware/loader.h"
#include "model/machine/schema.h"

namespace ridge::measure {
namespace {

using hardware::Description;

const std::string made_key = "FIT";
const std::string kept_key = "KEPT";

/// Adds the fields of a section, their sources under other keys, so that they are not those of `into`.
void keep_section(const std::string& section, const Description& from, Description& into) {
    for (const auto& [path, datum] : from.data) {
        if (!hardware::lies_in(path, section)) continue;
        const std::string& before = datum.sources.front();
        const std::string key = before == made_key ? kept_key + '_' + before : before;
        hardware::Source source = from.sources.at(before);
        source.key = key;
        into.sources.insert_or_assign(key, std::move(source));
        into.data.insert_or_assign(path, datum).first->second.sources = {key};
    }
}

}  // namespace

Description built_trees(const TreesToBuild& trees) {
    hardware::Loaded made = hardware::load_text(
        residual_overlay(trees.reports, trees.gpu, trees.source.text), "fit", model::schema());
    hardware::throw_problems(made.problems);
    Description all = trees.committed;
    const std::string corrections(model::correction_section);
    std::erase_if(all.data, [&corrections](const auto& field) {
        return hardware::lies_in(field.first, corrections);
    });
    for (auto& [path, datum] : made.description.data) {
        all.data.insert_or_assign(path, std::move(datum));
    }
    hardware::Source source = trees.source;
    source.key = made_key;
    source.provenance = hardware::Provenance::derived;
    all.sources.insert_or_assign(made_key, std::move(source));
    for (const std::string& name : trees.keep) {
        std::erase_if(all.data, [&](const auto& field) {
            return hardware::lies_in(field.first, corrections + '.' + name);
        });
        keep_section(corrections + '.' + name, trees.committed, all);
    }
    return all;
}

}  // namespace ridge::measure
