#include "programs/traffic/steady.h"

#include <algorithm>
#include <cmath>

#include "hardware/error.h"
#include "programs/configs/weights.h"

namespace ridge::programs {
namespace {

/// Of `count` that each sequence uses one of at random, those that `batch` sequences use. (W12)
double used_by(std::int64_t batch, std::int64_t count) {
    return experts_touched(batch, 1, count);
}

struct Found {
    double cached = 0.0;
    double fetched = 0.0;
};

/// Tokens of a prompt that need not be computed. (W29)
Found found_of(const SteadyLoad& load) {
    const auto prefix = static_cast<double>(std::min(load.sharing.prefix, load.prompt - 1));
    if (prefix <= 0.0 || load.room.tokens == 0) return {};
    const auto groups = static_cast<double>(load.sharing.groups);
    const double held = used_by(load.batch, load.sharing.groups);
    const auto own = static_cast<double>(load.batch) *
                     (static_cast<double>(load.prompt + load.answer / 2) - prefix);
    const double idle = static_cast<double>(load.room.tokens) - own - held * prefix;
    const double kept = std::clamp((held + idle / prefix) / groups, 0.0, 1.0);
    const double on_host = std::min(1.0, static_cast<double>(load.room.host) / (groups * prefix));
    return {.cached = prefix * kept, .fetched = prefix * std::max(0.0, on_host - kept)};
}

/// The probability that a request's adapter has to be copied.
double adapter_misses(const SteadyLoad& load, const Deployment& d) {
    if (load.sharing.adapters == 0) return 0.0;
    return std::max(0.0, 1.0 - static_cast<double>(d.adapters.slots) /
                                   static_cast<double>(load.sharing.adapters));
}

/// Whether the adapters that so many sequences use have slots.
bool has_places(const SteadyLoad& load, const Deployment& d) {
    return load.sharing.adapters == 0 ||
           std::llround(used_by(load.batch, load.sharing.adapters)) <= d.adapters.slots;
}

/// Of a GPU: its weights, and `tokens` of cache of sequences of `length`.
std::int64_t bytes_of(const Architecture& a, const Deployment& d, std::int64_t tokens,
                      std::int64_t length) {
    const std::int64_t mine = (tokens + d.data - 1) / d.data;
    const auto cache = static_cast<double>(mine) * cache_bytes_per_token(a, d, length);
    return weights_of_gpu(a, d) + std::llround(cache);
}

}  // namespace

std::int64_t tokens_held(const SteadyLoad& load) {
    const std::int64_t prefix = std::min(load.sharing.prefix, load.prompt - 1);
    const double held = prefix > 0 ? used_by(load.batch, load.sharing.groups) : 0.0;
    return load.batch * (load.prompt + load.answer - prefix) +
           std::llround(held * static_cast<double>(prefix));
}

StepBatch decoding(const SteadyLoad& load, const Deployment& d) {
    StepBatch step{.decodes = load.batch, .context = load.batch * (load.prompt + load.answer / 2)};
    if (load.sharing.adapters > 0 && d.adapters.slots > 0) {
        const std::int64_t used = std::llround(used_by(load.batch, load.sharing.adapters));
        step.adapters = std::clamp<std::int64_t>(used, 1, d.adapters.slots);
    }
    return step;
}

StepBatch with_prompts(StepBatch step, std::int64_t tokens, std::int64_t prompt,
                       std::int64_t cached) {
    for (std::int64_t left = tokens; left > 0; left -= prompt) {
        const std::int64_t chunk = std::min(left, prompt);
        step.prompts.push_back(
            {.tokens = chunk, .cached = cached + (prompt - chunk) / 2, .last = true});
    }
    return step;
}

Steady steady_state(StepTimes& times, const SteadyLoad& load) {
    const Deployment& d = times.parts().deployment();
    const Found found = found_of(load);
    Steady s{
        .yield = d.speculation.tokens_per_step(), .cached = found.cached, .fetched = found.fetched};
    const std::int64_t there = std::llround(found.cached + found.fetched);
    const std::int64_t prompt = std::max<std::int64_t>(1, load.prompt - there);
    const StepBatch decodes = decoding(load, d);
    s.step = times.wall(decodes);
    const double ended =
        s.yield * static_cast<double>(load.batch) / static_cast<double>(load.answer);
    const double per_step = ended * static_cast<double>(prompt);
    const std::int64_t taken = load.batch * (1 + d.speculation.tokens());
    const std::int64_t room = std::max<std::int64_t>(1, load.chunk - taken);
    const std::int64_t at_once =
        std::min(room, std::max(prompt, static_cast<std::int64_t>(std::ceil(per_step))));
    const StepBatch mixed = with_prompts(decodes, at_once, prompt, there);
    const Time with = times.wall(mixed);
    const double share = per_step / static_cast<double>(at_once);
    const double alone = std::max(0.0, 1.0 - share);
    const double misses = ended * adapter_misses(load, d);
    const Time copied = misses > 0.0 ? misses * times.parts().fetch_adapter() : Time{};
    const Time fetch = found.fetched > 0.0 ? found.fetched * times.parts().fetch_token() : Time{};
    // The link to the host carries one request after another.
    const Time mean = std::max(alone * s.step + share * with + copied, ended * fetch);
    s.mean = mean / s.yield;
    s.busy = (alone * times.gpu(decodes) + share * times.gpu(mixed) + copied) / s.yield;
    s.prompts = 1.0 - alone * (s.step / mean);
    s.keeps_up = share <= 1.0 && has_places(load, d);
    const double steps = std::ceil(static_cast<double>(prompt) / static_cast<double>(room));
    s.first = steps * with + 0.5 * mean + fetch;
    return s;
}

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

namespace {

/// A server of `d` with each of the batches.
void add_points(std::vector<ServingPoint>& points, const Architecture& architecture,
                const SteadyService& service, StepTimes& times, const model::Machine& machine,
                std::int64_t usable) {
    Deployment d = times.parts().deployment();
    const std::int64_t length = service.prompt + service.answer;
    // What EN9 knows: one token of a sequence and step; experts on the GPUs of tp, which hold and multiply as
    // much of them as if they were cut.
    const bool known = d.speculation.depth() == 0 && d.data == 1 && d.pipeline == 1;
    for (const std::int64_t batch : service.batches) {
        if (batch < d.data || batch * (1 + d.speculation.tokens()) >= d.chunk) continue;
        d.sequences = batch;
        SteadyLoad load{.chunk = d.chunk,
                        .batch = batch,
                        .prompt = service.prompt,
                        .answer = service.answer,
                        .sharing = service.sharing};
        const std::int64_t held = tokens_held(load);
        if (usable > 0) load.room.tokens = usable_tokens(architecture, d, usable, length);
        load.room.host = offloaded_tokens(architecture, d, length);
        const Steady s = steady_state(times, load);
        const auto sequences = static_cast<double>(batch * d.replicas);
        points.push_back({.batch = batch,
                          .gpus = d.gpus(),
                          .ttft = s.first,
                          .tpot = s.mean,
                          .tokens_per_s = sequences / s.mean.in(units::s),
                          .bytes = bytes_of(architecture, d, held, length),
                          .fits = has_places(load, d) && (usable == 0 || load.room.tokens >= held),
                          .evidence = times.parts().evidence()});
        if (known) {
            const Load told{.prompt = service.prompt,
                            .answer = service.answer,
                            .request = request_of(d, Phase::decode)};
            points.back().per_token = energy_per_token(
                architecture, told, d.tensor, batch, {.between = s.mean, .busy = s.busy}, machine);
        }
        if (!points.back().fits) return;
    }
}

}  // namespace

std::vector<ServingPoint> serve_steadily(const Architecture& architecture,
                                         const SteadyService& service, const Engine& engine,
                                         const model::Machine& machine, std::int64_t usable) {
    std::vector<ServingPoint> points;
    const auto share = static_cast<std::int64_t>(engine.memory_share * static_cast<double>(usable));
    for (const Deployment& d : service.deployments) {
        StepTimes times(StepParts(architecture, d, machine, engine), engine);
        if (!times.parts().left_out().empty()) {
            throw InputError(machine.name + ": not modelled: " + times.parts().left_out());
        }
        add_points(points, architecture, service, times, machine, share);
    }
    mark_front(points);
    return points;
}

}  // namespace ridge::programs
