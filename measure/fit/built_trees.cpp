#include "measure/fit/built_trees.h"

#include "hardware/error.h"
#include "hardware/loader.h"
#include "model/catalogue/trees_file.h"
#include "model/machine/schema.h"

namespace ridge::measure {
namespace {

using hardware::Description;

const std::string kept_key = "KEPT";

/// Replaces a class by that of another description.
void keep_class(const std::string& name, const Description& from, Description& into) {
    const std::string section = "model.residual." + name + ".";
    std::erase_if(into.data, [&](const auto& field) { return field.first.starts_with(section); });
    for (const auto& [path, datum] : from.data) {
        if (!path.starts_with(section)) continue;
        const std::string& before = datum.sources.front();
        const std::string key = before.starts_with(kept_key) ? before : kept_key + "_" + before;
        hardware::Source source = from.sources.at(before);
        source.key = key;
        into.sources.insert_or_assign(key, std::move(source));
        hardware::Datum& kept = into.data.insert_or_assign(path, datum).first->second;
        kept.sources = {key};
    }
}

}  // namespace

std::string built_trees(const TreesToBuild& trees) {
    const std::string overlay =
        residual_overlay(trees.reports, trees.gpu, "fit of residual by ridge calibrate --built-in");
    hardware::Loaded made = hardware::load_text(overlay, "fit", model::schema());
    hardware::throw_problems(made.problems);
    if (!trees.keep.empty() && !trees.committed.empty()) {
        const hardware::Loaded committed = model::read_trees(trees.committed, "committed");
        hardware::throw_problems(committed.problems);
        for (const std::string& name : trees.keep) {
            keep_class(name, committed.description, made.description);
        }
    }
    return model::trees_file(made.description, trees.gpu, trees.software, trees.header);
}

}  // namespace ridge::measure
