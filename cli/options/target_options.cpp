#include "cli/options/target_options.h"

#include <cmath>

#include "cli/options/command_line.h"
#include "cli/options/lists.h"
#include "cli/options/model_options.h"
#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/units.h"

namespace ridge::cli {

TargetOptions::TargetOptions(CommandLine& line, const TargetWords& words) {
    const std::string before(words.before);
    line.option("--ttft", ttft_, before + "longest time to the first token, 500ms")
        .value("TIME")
        .group(words.group);
    const std::string usual = *words.tpot == '\0' ? "" : " (" + std::string(words.tpot) + ")";
    line.option("--tpot", tpot_, before + "longest time per token, 50ms" + usual)
        .value("TIME")
        .group(words.group);
    if (*words.price_group == '\0') return;
    line.option("--price", price_, "of one GPU and hour; a list for several --gpu")
        .value("LIST")
        .group(words.price_group);
}

programs::Targets TargetOptions::targets() const {
    programs::Targets targets{.ttft = time_option(ttft_, "ttft")};
    if (tpot_ != "none") targets.tpot = time_option(tpot_, "tpot");
    return targets;
}

std::vector<std::optional<double>> TargetOptions::prices(std::size_t gpus) const {
    std::vector<std::optional<double>> prices(gpus);
    if (price_.empty()) return prices;
    const std::vector<std::string> words = words_in(price_, "price");
    if (words.size() != 1 && words.size() != gpus) {
        throw InputError("price: " + std::to_string(words.size()) + " prices for " +
                             std::to_string(gpus) + " GPUs",
                         {}, "one for all, or one for each --gpu");
    }
    for (std::size_t i = 0; i < gpus; ++i) {
        const double price = parse_number(words[words.size() == 1 ? 0 : i], "price");
        if (!(price >= 0.0) || !std::isfinite(price)) {
            throw InputError("price: must be 0 or more");
        }
        prices[i] = price;
    }
    return prices;
}

}  // namespace ridge::cli
