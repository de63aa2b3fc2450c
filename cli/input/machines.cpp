#include "cli/input/machines.h"

#include <utility>

#include "cli/console/used_files.h"
#include "model/catalogue/catalogue.h"

namespace ridge::cli {

Machines::Machines(model::Catalogue catalogue, model::View view,
                   std::optional<model::Cluster> cluster)
    : known_(std::make_shared<Known>(
          Known{.catalogue = std::move(catalogue), .view = view, .cluster = std::move(cluster)})) {}

const model::Machine& Machines::at(std::string_view name) {
    Known& known = *known_;
    const auto found = known.resolved.find(name);
    if (found != known.resolved.end()) return *found->second;
    const std::string canonical = known.catalogue.canonical_name(name);
    const auto broken = known.broken.find(canonical);
    if (broken != known.broken.end()) {
        throw InputError(broken->second);
    }
    try {
        model::Machine resolved = known.catalogue.machine(name, known.view);
        if (known.used != nullptr) {
            known.used->add(resolved.name, known.catalogue.at(name, known.view).origin);
        }
        resolved.cluster = known.cluster;
        auto machine = std::make_unique<const model::Machine>(std::move(resolved));
        return *known.resolved.emplace(std::string(name), std::move(machine)).first->second;
    } catch (const InputError& error) {
        if (!canonical.empty()) known.broken.emplace(canonical, error);
        throw;
    }
}

Machines& KeptMachines::of(model::View view) {
    const auto kept = views_.find(view);
    if (kept != views_.end()) return kept->second;
    return views_.emplace(view, Machines(model::catalogue(), view)).first->second;
}

const model::Machine* with_software(const model::Machine* machine, model::SoftwareChoice software) {
    const bool is_usual = machine == nullptr || software.is_usual() || !machine->software;
    return is_usual ? machine : &machine->software->with(software);
}

}  // namespace ridge::cli
