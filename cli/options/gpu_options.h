// The options that choose the GPU and the parts of its description to use: --gpu, --gpu-file,
// --datasheet, --analytic.
#pragma once

#include <optional>
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

    /// The GPU of --gpu, else the one described by the last --gpu-file, else the user's default
    /// (settings.h). InputError if there is none.
    [[nodiscard]] std::string name() const;
    /// All GPUs named by --gpu, separated by commas.
    [[nodiscard]] std::vector<std::string> names() const;
    /// Whether this command line names a GPU.
    [[nodiscard]] bool given() const;
    /// Whether there is a GPU, even if only by default.
    [[nodiscard]] bool known() const { return given() || default_gpu().has_value(); }
    /// For reading records: if a GPU is named, only its records are read. Rows of tables that name
    /// no GPU belong to it, or to the default.
    [[nodiscard]] WantedGpu wanted() const;
    /// Where the default came from: "from RIDGE_GPU"; empty when the command line names a GPU.
    [[nodiscard]] std::string origin() const;
    /// The machines to predict for. InputError if a file cannot be understood, or is an overlay
    /// without effect: its GPU is not known, or --datasheet is given too. Broken files in the
    /// user's folder are skipped with a message on `context.err`.
    [[nodiscard]] Machines machines(const Context& context) const;
    /// The catalogue that `machines` resolves; a file of the user's folder can be left out.
    [[nodiscard]] model::Catalogue catalogue(const Context& context,
                                             std::string_view without = {}) const;
    [[nodiscard]] model::View view() const;

  private:
    [[nodiscard]] const std::string& described() const;
    void add_variants(model::Catalogue& catalogue) const;
    void require_effect(const model::Catalogue& catalogue) const;
    void require_known_default(const model::Catalogue& catalogue) const;

    std::string gpu_;
    std::vector<std::string> files_;
    mutable std::optional<std::string> described_;  ///< asked of the files once
    std::string cluster_;
    bool datasheet_ = false;
    bool analytic_ = false;
};

}  // namespace ridge::cli
