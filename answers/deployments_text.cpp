// The search over deployments in sentences.
#include <fmt/format.h>

#include <cmath>

#include "answers/deployments.h"
#include "hardware/units.h"

namespace ridge::answers {
namespace {

std::string percent(double ratio) {
    return fmt::format("{:.0f} %", 100.0 * ratio);
}

std::string speeds_of(const DeploymentRow& row) {
    return fmt::format("{} tokens/s ({} requests/s), {} per token, {} to the first",
                       format_number(row.tokens_per_s, 4), format_number(row.requests_per_s, 3),
                       format(row.tpot), format(row.ttft));
}

/// Drafts, adapters, memory of the host.
std::string additions_of(const programs::Deployment& d) {
    std::string text;
    if (const std::int64_t drafts = d.speculation.tokens(); drafts > 0) {
        text += fmt::format(
            ", {} draft{} ({})", drafts, drafts > 1 ? "s" : "",
            d.drafter == nullptr ? std::string(name_of(d.speculation.draft)) : d.drafter->name);
    }
    if (d.adapters.slots > 0) text += fmt::format(", {} adapter slots", d.adapters.slots);
    if (d.offload > 0) {
        text +=
            ", " + format_capacity(static_cast<double>(d.offload) * units::B) + " of host memory";
    }
    return text;
}

}  // namespace

std::string text_of(const DeploymentRow& row) {
    const programs::Deployment& d = row.deployment;
    std::string text = fmt::format("{} x {}", row.gpus(), row.gpu);
    if (row.gpus() > 1) text += ", " + text_of(d);
    if (row.prompt_servers) {
        text += fmt::format(" ({} for prompts, {} for answers)", *row.prompt_servers,
                            d.replicas - *row.prompt_servers);
    }
    if (d.quantisation != programs::Quantisation::stored) {
        text += ", " + std::string(name_of(d.quantisation)) + " weights";
    }
    return text +
           fmt::format(", {}, {} tokens a step, {} sequences", row.engine, d.chunk, row.batch) +
           additions_of(d);
}

std::string why_second(const DeploymentSearch& search) {
    const DeploymentRow& best = *search.best;
    const DeploymentRow& second = *search.second;
    std::string text = text_of(second) + ": ";
    const bool dearer = search.question.rate > 0.0 && best.price_per_hour &&
                        *second.price_per_hour > *best.price_per_hour;
    if (dearer) {
        text += fmt::format("{} more per hour",
                            percent(*second.price_per_hour / *best.price_per_hour - 1.0));
    } else if (search.question.rate > 0.0 && second.gpus() > best.gpus()) {
        text += fmt::format("{} GPUs instead of {}", second.gpus(), best.gpus());
    } else {
        text += fmt::format("a token costs {} more", percent(second.cost() / best.cost() - 1.0));
    }
    // The part of a token's time on its GPUs that differs most.
    const auto each = [](const DeploymentRow& row, Time part) {
        const auto sequences =
            static_cast<double>(std::max<std::int64_t>(1, row.batch * row.deployment.replicas));
        return part * static_cast<double>(row.gpus()) / (row.yield * sequences);
    };
    const Time kernels =
        each(second, second.step - second.step_host) - each(best, best.step - best.step_host);
    const Time host = each(second, second.step_host) - each(best, best.step_host);
    const Time prompts = each(second, second.prompts * second.yield * second.tpot) -
                         each(best, best.prompts * best.yield * best.tpot);
    if (second.prompt_servers || best.prompt_servers) {
        text += second.prompt_servers ? "; servers for prompts stand idle beside those for answers"
                                      : "; prompts interrupt answers on the same servers";
    } else if (kernels >= host && kernels >= prompts) {
        text += "; its kernels take longer for a token, over all GPUs";
    } else if (host >= prompts) {
        text += "; the engine's host takes longer for a token";
    } else {
        text += "; prompts take more of its time";
    }
    return text + fmt::format(" ({})", speeds_of(second));
}

std::string verdict_of(const DeploymentSearch& search) {
    if (search.best) {
        const DeploymentRow& best = *search.best;
        std::string text = fmt::format("{}: {}", text_of(best), speeds_of(best));
        if (best.price_per_hour) {
            text +=
                fmt::format("; {} per hour, {} per million tokens",
                            format_number(*best.price_per_hour, 3), format_number(best.cost(), 3));
        }
        return text + ".";
    }
    if (!search.nearest) return "The model fits no deployment that was searched.";
    return fmt::format("No deployment meets the targets; the nearest is {}: {}.",
                       text_of(*search.nearest), speeds_of(*search.nearest));
}

}  // namespace ridge::answers
