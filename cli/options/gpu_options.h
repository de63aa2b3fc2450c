// The options that say which GPU is meant and what of its description counts: --gpu, --gpu-file,
// --datasheet, --analytic.
#pragma once

#include <string>
#include <vector>

#include "cli/console/context.h"
#include "cli/input/machines.h"
#include "cli/input/records.h"
#include "cli/input/settings.h"

namespace ridge::cli {

class CommandLine;

class GpuOptions {
  public:
    explicit GpuOptions(CommandLine& line);

    /// The GPU named by --gpu, else the one described by the last --gpu-file, else the user's
    /// default (settings.h); InputError when there is none.
    [[nodiscard]] std::string name() const;
    /// All GPUs named by --gpu, separated by commas.
    [[nodiscard]] std::vector<std::string> names() const;
    /// Whether this command line names one.
    [[nodiscard]] bool given() const { return !gpu_.empty() || !files_.empty(); }
    /// Whether there is one, if only by default.
    [[nodiscard]] bool known() const { return given() || default_gpu().has_value(); }
    /// For reading records: only those of a GPU that was named; rows of tables without one are of it,
    /// or of the default.
    [[nodiscard]] WantedGpu wanted() const;
    /// Where the default came from: "from RIDGE_GPU"; empty when the command line names a GPU.
    [[nodiscard]] std::string origin() const;
    /// InputError when a file cannot be understood, or is an overlay without effect: over no known
    /// GPU, or together with --datasheet. Broken files of the user's folder are left out with a
    /// line on `context.err`.
    [[nodiscard]] Machines machines(const Context& context) const;
    /// What `machines` resolves; a file of the user's folder may be left out.
    [[nodiscard]] hardware::Catalogue catalogue(const Context& context,
                                                std::string_view without = {}) const;
    [[nodiscard]] hardware::View view() const;

  private:
    void require_effect(const hardware::Catalogue& catalogue) const;
    void require_known_default(const hardware::Catalogue& catalogue) const;

    std::string gpu_;
    std::vector<std::string> files_;
    bool datasheet_ = false;
    bool analytic_ = false;
};

}  // namespace ridge::cli
