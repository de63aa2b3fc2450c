// Where fits of `ridge calibrate --built-in` start: values of the plan and of software's files, not what
// an earlier fit found, so that a result depends only on what was measured.
//
//   [model.torch]                                    # calibration/plan.toml
//   first_dram = { value = "0.7 us", source = "START" }
//
//   [model.engine.attention_tiles.any.any]           # every kernel of every engine with this law
//   start = { value = "5 us", source = "START" }
//
// The first of these decides: the plan's value of the very field; the value in the file of the software
// whose parameters are fitted; for an engine's kernel, the plan's value for its law, then the law's own.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hardware/description.h"
#include "model/catalogue/software.h"

namespace ridge::measure {

struct FitStart {
    double value = 0.0;    ///< in base units
    bool of_plan = false;  ///< a description without the parameter would not have it
};

class FitStarts {
  public:
    explicit FitStarts(hardware::Description plan) : plan_(std::move(plan)) {}

    /// Empty if nothing states one. `software`: names among `all`.
    [[nodiscard]] std::optional<FitStart> of(const std::string& field,
                                             std::span<const std::string> software,
                                             const std::vector<model::Software>& all);

  private:
    const hardware::Description& file_of(const model::Software& software);

    hardware::Description plan_;
    std::map<std::string, hardware::Description> read_;  ///< files of software by its name
};

}  // namespace ridge::measure
