// Looks machines up by name.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "model/machine/machine.h"
#include "model/machine/machine_software.h"

namespace ridge::cli {

class UsedFiles;  ///< cli/console/used_files.h

/// Machines by name, resolved once each. A name that does not resolve keeps its error, so that a
/// table of a million rows parses a broken description once. Copies share what they know.
class Machines {
  public:
    Machines(model::Catalogue catalogue, model::View view,
             std::optional<model::Cluster> cluster = {});

    /// InputError when the name is unknown or its description is broken.
    [[nodiscard]] const model::Machine& at(std::string_view name);
    /// From now on, `used` is told the origin of each description that is used.
    void report_to(UsedFiles* used) { known_->used = used; }
    [[nodiscard]] const model::Catalogue& catalogue() const { return known_->catalogue; }
    /// For slices and power limits that a command names.
    [[nodiscard]] model::Catalogue& catalogue() { return known_->catalogue; }
    [[nodiscard]] model::View view() const { return known_->view; }
    [[nodiscard]] const hardware::Description& description(std::string_view name) const {
        return known_->catalogue.at(name, known_->view);
    }

  private:
    struct Known {
        model::Catalogue catalogue;
        model::View view;
        std::optional<model::Cluster> cluster{};  ///< around every machine
        std::map<std::string, std::unique_ptr<const model::Machine>, std::less<>> resolved{};
        std::map<std::string, InputError, std::less<>> broken{};
        UsedFiles* used = nullptr;
    };
    std::shared_ptr<Known> known_;
};

/// The machines of the built-in GPUs, for a front end that runs many commands: each is resolved
/// once, not once a command.
class KeptMachines {
  public:
    [[nodiscard]] Machines& of(model::View view);

  private:
    std::map<model::View, Machines> views_;
};

/// The machine resolved for software; the same one for the usual choice. Null stays null.
[[nodiscard]] const model::Machine* with_software(const model::Machine* machine,
                                                  model::SoftwareChoice software);

}  // namespace ridge::cli
