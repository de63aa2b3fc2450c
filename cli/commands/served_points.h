// The steady state of a server over batch sizes: of `ridge model --serve` and `ridge serve --steady`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/options/energy_options.h"
#include "programs/serving.h"

namespace ridge::cli {

struct ServedPoints {
    std::string model{};
    std::string gpu{};
    std::string software{};
    std::int64_t prompt = 0;
    std::int64_t answer = 0;
    std::vector<programs::ServingPoint> points{};
    bool several = false;  ///< numbers of GPUs
    programs::Targets targets{};
    std::optional<double> price{};               ///< of a GPU and hour
    const EnergyPriceOptions* energy = nullptr;  ///< null: no prices of energy
    double requests = 0.0;                       ///< per second, to meet
};

/// "llama-3.1-8b on 4 x h100-sxm, prompts of 2048, answers of 256, serving"
[[nodiscard]] std::string title_of(const ServedPoints& served);

void write_points(const Context& context, const ServedPoints& served, Format format);

}  // namespace ridge::cli
