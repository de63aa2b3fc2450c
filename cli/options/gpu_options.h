// The options that say which GPU is meant: --gpu, --gpu-file, --datasheet.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "hardware/catalogue.h"
#include "hardware/error.h"
#include "model/machine/machine.h"

namespace ridge::cli {

class CommandLine;

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

class GpuOptions {
  public:
    explicit GpuOptions(CommandLine& line);

    /// The GPU named by --gpu, else the one described by the last --gpu-file; InputError when
    /// neither was given.
    [[nodiscard]] std::string name() const;
    /// All GPUs named by --gpu, separated by commas.
    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] bool given() const { return !gpu_.empty() || !files_.empty(); }
    /// InputError when a file cannot be understood, or is an overlay without effect: over no known
    /// GPU, or together with --datasheet. Broken files of the user's folder are left out with a
    /// line on `context.err`.
    [[nodiscard]] Machines machines(const Context& context) const;

  private:
    void require_effect(const hardware::Catalogue& catalogue) const;

    std::string gpu_;
    std::vector<std::string> files_;
    bool datasheet_ = false;
};

}  // namespace ridge::cli
