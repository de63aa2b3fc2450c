#include "programs/traffic/steady.h"

#include <algorithm>
#include <cmath>

#include "hardware/error.h"
#include "programs/configs/weights.h"

namespace ridge::programs {
namespace {

/// What an engine makes of a request's degrees: experts over the GPUs that share the products, and over
/// ranks with their own attention if there are more.
Deployment deployment_of(const Request& request, std::int64_t tensor, const Engine& engine) {
    Deployment d{.tensor = tensor,
                 .type = request.type,
                 .cache_type = request.cache_type,
                 .quantisation = request.quantisation,
                 .chunk = engine.chunk,
                 .sequences = engine.sequences,
                 .block = engine.block};
    const std::int64_t experts = request.expert_parallel;
    if (experts == 1) return d;
    if (experts % tensor != 0) {
        throw InputError("ep: experts lie on the GPUs of tp, or on a multiple of them", {},
                         "--ep " + std::to_string(tensor));
    }
    d.experts = true;
    d.data = experts / tensor;
    return d;
}

std::int64_t bytes_of(const Architecture& a, const Deployment& d, std::int64_t batch,
                      std::int64_t tokens) {
    const std::int64_t mine = (batch + d.data - 1) / d.data;
    return weights_of_gpu(a, d) + kv_cache_bytes(a, {.bytes = model::size_of(d.cache_type),
                                                     .batch = mine,
                                                     .tokens = tokens,
                                                     .tensor_parallel = d.tensor});
}

}  // namespace

StepBatch decoding(const SteadyLoad& load) {
    return {.decodes = load.batch, .context = load.batch * (load.prompt + load.answer / 2)};
}

StepBatch with_prompts(StepBatch step, std::int64_t tokens, std::int64_t prompt) {
    for (std::int64_t left = tokens; left > 0; left -= prompt) {
        const std::int64_t chunk = std::min(left, prompt);
        step.prompts.push_back({.tokens = chunk, .cached = (prompt - chunk) / 2, .last = true});
    }
    return step;
}

Steady steady_state(StepTimes& times, const SteadyLoad& load) {
    Steady s;
    s.step = times.wall(decoding(load));
    const double per_step = static_cast<double>(load.batch) * static_cast<double>(load.prompt) /
                            static_cast<double>(load.answer);
    const std::int64_t room = std::max<std::int64_t>(1, load.chunk - load.batch);
    const std::int64_t at_once =
        std::min(room, std::max(load.prompt, static_cast<std::int64_t>(std::ceil(per_step))));
    const StepBatch mixed = with_prompts(decoding(load), at_once, load.prompt);
    const Time with = times.wall(mixed);
    const double share = per_step / static_cast<double>(at_once);
    s.keeps_up = share <= 1.0;
    s.mean = s.keeps_up ? (1.0 - share) * s.step + share * with : share * with;
    const double alone = s.keeps_up ? 1.0 - share : 0.0;
    s.busy = alone * times.gpu(decoding(load)) + share * times.gpu(mixed);
    s.prompts = 1.0 - std::max(0.0, 1.0 - share) * (s.step / s.mean);
    const double steps = std::ceil(static_cast<double>(load.prompt) / static_cast<double>(room));
    s.first = steps * with + 0.5 * s.mean;
    return s;
}

std::vector<ServingPoint> serve_steadily(const Architecture& architecture, const Load& load,
                                         const Engine& engine, const model::Machine& machine,
                                         std::int64_t usable) {
    std::vector<ServingPoint> points;
    for (const std::int64_t tensor : load.gpus) {
        const Deployment d = deployment_of(load.request, tensor, engine);
        StepTimes times(StepParts(architecture, d, machine, engine), engine);
        if (!times.parts().left_out().empty()) {
            throw InputError(machine.name + ": not modelled: " + times.parts().left_out());
        }
        for (const std::int64_t batch : load.batches) {
            const Steady s = steady_state(
                times,
                {.chunk = d.chunk, .batch = batch, .prompt = load.prompt, .answer = load.answer});
            points.push_back({.batch = batch,
                              .gpus = d.gpus(),
                              .ttft = s.first,
                              .tpot = s.mean,
                              .tokens_per_s = static_cast<double>(batch) / s.mean.in(units::s),
                              .bytes = bytes_of(architecture, d, batch, load.prompt + load.answer),
                              .evidence = times.parts().evidence()});
            points.back().per_token = energy_per_token(
                architecture, load, tensor, batch, {.between = s.mean, .busy = s.busy}, machine);
            points.back().fits = usable == 0 || points.back().bytes <= usable;
            if (!points.back().fits) break;
        }
    }
    mark_front(points);
    return points;
}

}  // namespace ridge::programs
