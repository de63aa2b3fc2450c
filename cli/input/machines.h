// Looks machines up by name.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hardware/catalogue.h"
#include "hardware/error.h"
#include "model/machine/machine.h"

namespace ridge::cli {

/// Machines by name, resolved once each. A name that does not resolve keeps its error, so that a
/// table of a million rows parses a broken description once. Copies share what they know.
class Machines {
  public:
    Machines(hardware::Catalogue catalogue, hardware::View view,
             std::optional<model::Cluster> cluster = {});

    /// InputError when the name is unknown or its description is broken.
    [[nodiscard]] const model::Machine& at(std::string_view name);
    [[nodiscard]] const hardware::Catalogue& catalogue() const { return known_->catalogue; }
    [[nodiscard]] hardware::View view() const { return known_->view; }
    [[nodiscard]] const hardware::Description& description(std::string_view name) const {
        return known_->catalogue.at(name, known_->view);
    }

  private:
    struct Known {
        hardware::Catalogue catalogue;
        hardware::View view;
        std::optional<model::Cluster> cluster{};  ///< around every machine
        std::map<std::string, std::unique_ptr<const model::Machine>, std::less<>> resolved{};
        std::map<std::string, InputError, std::less<>> broken{};
    };
    std::shared_ptr<Known> known_;
};

/// The machines of the built-in GPUs, for a front end that runs many commands: each is resolved
/// once, not once a command.
class KeptMachines {
  public:
    [[nodiscard]] Machines& of(hardware::View view);

  private:
    std::map<hardware::View, Machines> views_;
};

}  // namespace ridge::cli
