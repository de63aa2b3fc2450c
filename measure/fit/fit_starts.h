// Where fits of `ridge calibrate --built-in` start: values of the plan and of software's files, not what
// an earlier fit found, so that a result depends only on what was measured.
//
//   [model.torch]                                    # calibration/plan.toml
//   first_dram = { value = "0.7 us", source = "START" }
//
//   [model.engine.attention_tiles.any.any]           # every kernel of every engine with this law
//   start = { value = "5 us", source = "START" }
//
//   # calibration/starts-l40s.toml: kernels whose search needs a start of its own on this GPU
//   schema = 1
//   kind = "starts"
//   name = "starts-l40s"
//   chip = "l40s"
//
// The first of these decides: for fits of one GPU, the value in its file of starts; the plan's value of the
// very field; the value in the file of the software whose parameters are fitted; for an engine's kernel, the
// plan's value for its law, then the law's own.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hardware/description.h"
#include "model/catalogue/software.h"

namespace ridge::measure {

struct FitStart {
    double value = 0.0;    ///< in base units
    bool of_plan = false;  ///< a description without the parameter would not have it
};

/// What a fit determines parameters of.
struct FitPlace {
    std::span<const std::string> gpus;
    std::span<const std::string> software;  ///< names
};

/// The chip of a file of starts, and its values. InputError with all that is wrong.
[[nodiscard]] std::pair<std::string, hardware::Description> read_starts(const std::string& toml,
                                                                        const std::string& file);

class FitStarts {
  public:
    /// Values by the name of the GPU that they are for.
    using OfGpus = std::map<std::string, hardware::Description>;

    explicit FitStarts(hardware::Description plan, OfGpus gpus = {})
        : plan_(std::move(plan)), gpus_(std::move(gpus)) {}

    /// Empty if nothing states one. The place's software is among `all`.
    [[nodiscard]] std::optional<FitStart> of(const std::string& field, const FitPlace& place,
                                             const std::vector<model::Software>& all);

  private:
    /// The file of the place's only GPU, or null.
    [[nodiscard]] const hardware::Description* of_gpu(const FitPlace& place) const;
    const hardware::Description& file_of(const model::Software& software);

    hardware::Description plan_;
    OfGpus gpus_;
    std::map<std::string, hardware::Description> read_;  ///< files of software by its name
};

}  // namespace ridge::measure
