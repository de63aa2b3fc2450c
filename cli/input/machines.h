// Looks machines up by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "hardware/catalogue.h"
#include "hardware/error.h"
#include "model/machine/machine.h"

namespace ridge::cli {

/// Machines by name, resolved once each. A name that does not resolve keeps its error, so that a
/// table of a million rows parses a broken description once.
class Machines {
  public:
    Machines(hardware::Catalogue catalogue, hardware::View view);

    /// InputError when the name is unknown or its description is broken.
    [[nodiscard]] const model::Machine& at(std::string_view name);
    [[nodiscard]] const hardware::Catalogue& catalogue() const { return catalogue_; }
    [[nodiscard]] hardware::View view() const { return view_; }
    [[nodiscard]] const hardware::Description& description(std::string_view name) const {
        return catalogue_.at(name, view_);
    }

  private:
    hardware::Catalogue catalogue_;
    hardware::View view_;
    std::map<std::string, std::unique_ptr<const model::Machine>, std::less<>> resolved_;
    std::map<std::string, InputError, std::less<>> broken_;
};

}  // namespace ridge::cli
