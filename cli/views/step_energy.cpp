#include "cli/views/step_energy.h"

#include <fmt/format.h>

#include <string>

#include "cli/views/memory.h"
#include "hardware/units.h"
#include "programs/step_energy.h"

namespace ridge::cli {

std::optional<model::StepEnergy> energy_of(const StepAnswer& answer) {
    if (!answer.time) return std::nullopt;
    return programs::energy_of(answer.step.program, answer.time->gpu, answer.time->wall);
}

void add_step_energy(Json& json, const StepAnswer& answer) {
    const auto energy = energy_of(answer);
    if (!energy) return;
    const auto gpus = static_cast<double>(gpus_of_batch(answer.request));
    json["power_w"] = energy->power.base();
    json["energy_j"] = gpus * energy->energy.base();
    json["energy_low_j"] = gpus * energy->low.base();
    json["energy_high_j"] = gpus * energy->high.base();
    if (answer.step.tokens > 0) {
        json["joules_per_token"] =
            gpus * energy->energy.base() / static_cast<double>(answer.step.tokens);
    }
    const auto image = energy_of_image(answer.step, *answer.time, answer.request.batch);
    if (image) json["joules_per_image"] = gpus * image->base();
}

void write_step_energy(const Context& context, const StepAnswer& answer) {
    const auto energy = energy_of(answer);
    if (!energy) return;
    const std::int64_t gpus = gpus_of_batch(answer.request);
    const auto all = static_cast<double>(gpus);
    std::string text = fmt::format("{}{}, {} a step ({} to {})", format(energy->power),
                                   gpus > 1 ? " on each GPU" : "", format(all * energy->energy),
                                   format(all * energy->low), format(all * energy->high));
    if (answer.step.tokens > 0 && !answer.listed) {
        const Energy token = all * energy->energy * (1.0 / static_cast<double>(answer.step.tokens));
        text += ", " + format(token) + " a token";
    }
    const auto image = energy_of_image(answer.step, *answer.time, answer.request.batch);
    if (image && !answer.listed) text += ", " + format(all * *image) + " an image";
    write_sentence(context, text + ".");
}

}  // namespace ridge::cli
