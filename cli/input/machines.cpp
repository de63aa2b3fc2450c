#include "cli/input/machines.h"

namespace ridge::cli {

Machines::Machines(hardware::Catalogue catalogue, hardware::View view)
    : catalogue_(std::move(catalogue)), view_(view) {}

const model::Machine& Machines::at(std::string_view name) {
    const auto found = resolved_.find(name);
    if (found != resolved_.end()) return *found->second;
    const std::string canonical = catalogue_.canonical_name(name);
    const auto broken = broken_.find(canonical);
    if (broken != broken_.end()) {
        throw InputError(broken->second);
    }
    try {
        auto machine =
            std::make_unique<const model::Machine>(model::make_machine(catalogue_.at(name, view_)));
        return *resolved_.emplace(std::string(name), std::move(machine)).first->second;
    } catch (const InputError& error) {
        if (!canonical.empty()) broken_.emplace(canonical, error);
        throw;
    }
}

}  // namespace ridge::cli
