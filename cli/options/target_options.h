// What serving should meet, and what it costs: --ttft, --tpot and --price, stated once for every
// command that asks.
//
//   const TargetOptions targets(line, {.group = "Question", .tpot = "default: 50ms; none: any"});
//   targets.targets();     // Targets of programs/serving.h
//   targets.prices(2);     // one for each of two GPUs
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "programs/serving.h"

namespace ridge::cli {

class CommandLine;

/// How a command words its options.
struct TargetWords {
    const char* group = "Serving";
    const char* before = "serve: ";       ///< what the helps begin with
    const char* tpot = "";                ///< what holds without --tpot; may be empty
    const char* price_group = "Serving";  ///< empty: there is no --price
};

class TargetOptions {
  public:
    TargetOptions(CommandLine& line, const TargetWords& words);

    [[nodiscard]] bool given_ttft() const { return !ttft_.empty(); }
    [[nodiscard]] bool given_tpot() const { return !tpot_.empty(); }
    [[nodiscard]] bool given_price() const { return !price_.empty(); }

    /// `--tpot none` is no target. InputError for what is no time.
    [[nodiscard]] programs::Targets targets() const;
    /// The price of each of `gpus` GPUs: one for all, or one for each. Empty: not given.
    [[nodiscard]] std::vector<std::optional<double>> prices(std::size_t gpus) const;

  private:
    std::string ttft_;
    std::string tpot_;
    std::string price_;
};

}  // namespace ridge::cli
