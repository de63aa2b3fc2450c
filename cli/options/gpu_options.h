// The options that say which GPU is meant: --gpu, --gpu-file, --datasheet.
#pragma once

#include <string>
#include <vector>

#include "cli/console/context.h"
#include "cli/input/machines.h"

namespace ridge::cli {

class CommandLine;

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
