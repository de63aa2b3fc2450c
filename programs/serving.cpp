#include "programs/serving.h"

#include <algorithm>

#include "hardware/error.h"
#include "programs/configs/weights.h"
#include "programs/step_energy.h"

namespace ridge::programs {
namespace {

/// A step's wall time, and the bytes of weights that one GPU holds.
struct Timed {
    Time wall;
    std::int64_t weights = 0;
    model::Grade evidence = model::Grade::datasheet;
};

Timed timed(const Architecture& a, const Request& request, const model::Machine& machine,
            const Host& host) {
    const ModelStep step = make_step(a, request, false);
    const StepTime time = predict(step, machine, host);
    if (const auto why = first_not_modelled(step.program, time.gpu)) {
        throw InputError(machine.name + ": not modelled: " + *why);
    }
    return {.wall = time.wall,
            .weights = step.weights_bytes,
            .evidence = weakest_grade(time.gpu.total)};
}

std::int64_t cache_bytes(const Architecture& a, const Request& request, std::int64_t tokens) {
    return kv_cache_bytes(a, {.bytes = model::size_of(request.cache_type),
                              .batch = request.batch,
                              .tokens = tokens,
                              .tensor_parallel = request.tensor_parallel});
}

/// Above idle, on one GPU, and how long its kernels run.
struct AboveIdle {
    Energy energy;
    Time busy;
};
std::optional<AboveIdle> above_idle(const Architecture& a, const Request& request,
                                    const model::Machine& machine) {
    const ModelStep step = make_step(a, request, false);
    const auto sum = energy_sum(step.program, predict(step.program, machine));
    if (!sum) return std::nullopt;
    return AboveIdle{.energy = sum->during(Time{}).energy, .busy = sum->busy()};
}

}  // namespace

Energy energy_per_token(const Architecture& architecture, const Load& load, std::int64_t tensor,
                        std::int64_t batch, const TokenTime& token, const model::Machine& machine) {
    if (!machine.energy || load.request.expert_parallel > 1) return {};
    Request request = load.request;
    request.tensor_parallel = tensor;
    request.phase = Phase::prefill;
    request.batch = 1;
    request.seq = load.prompt;
    const auto prompt = above_idle(architecture, request, machine);
    request.phase = Phase::decode;
    request.batch = batch;
    request.seq = load.prompt + load.answer / 2;
    const auto decode = above_idle(architecture, request, machine);
    if (!prompt || !decode) return {};
    const double prompts = static_cast<double>(batch) / static_cast<double>(load.answer);
    const Energy told = decode->energy + prompts * prompt->energy;
    const Time busy = decode->busy + prompts * prompt->busy;
    // Kernels that an engine runs beside those of the model take what those take.
    const double more = std::max<double>(1.0, token.busy / busy);
    const double sequence = 1.0 / static_cast<double>(batch);
    return static_cast<double>(tensor) * sequence *
           (more * told + machine.energy->idle * token.between);
}

void mark_front(std::vector<ServingPoint>& points) {
    for (ServingPoint& point : points) {
        point.front =
            point.fits &&
            std::none_of(points.begin(), points.end(), [&](const ServingPoint& other) {
                return other.fits && other.tpot < point.tpot && other.per_gpu() >= point.per_gpu();
            });
    }
}

std::vector<ServingPoint> serve(const Architecture& architecture, const Load& load,
                                const model::Machine& machine, std::int64_t usable) {
    std::vector<ServingPoint> points;
    for (const std::int64_t gpus : load.gpus) {
        Request request = load.request;
        request.tensor_parallel = gpus;
        request.phase = Phase::prefill;
        request.batch = 1;
        request.seq = load.prompt;
        const Timed first = timed(architecture, request, machine, load.host);
        const Time prefill = first.wall;
        request.phase = Phase::decode;
        request.seq = load.prompt + load.answer / 2;
        for (const std::int64_t batch : load.batches) {
            request.batch = batch;
            const Timed step = timed(architecture, request, machine, load.host);
            const auto sequences = static_cast<double>(batch);
            // Each sequence's prefill delays all sequences once. (W6)
            const Time between = prefill * (sequences / static_cast<double>(load.answer));
            ServingPoint point{.batch = batch,
                               .gpus = gpus * request.expert_parallel,
                               .ttft = prefill,
                               .tpot = step.wall + between,
                               .tokens_per_s = sequences / (step.wall + between).in(units::s),
                               .bytes = step.weights + cache_bytes(architecture, request,
                                                                   load.prompt + load.answer)};
            point.evidence = std::min(first.evidence, step.evidence);
            point.per_token =
                energy_per_token(architecture, load, gpus, batch, {.between = point.tpot}, machine);
            point.fits = usable == 0 || point.bytes <= usable;
            points.push_back(point);
        }
    }
    mark_front(points);
    return points;
}

std::optional<ServingPoint> best_within(const std::vector<ServingPoint>& points,
                                        const Targets& targets) {
    std::optional<ServingPoint> best;
    for (const ServingPoint& point : points) {
        if (!point.fits) continue;
        if (targets.ttft && point.ttft > *targets.ttft) continue;
        if (targets.tpot && point.tpot > *targets.tpot) continue;
        if (!best || point.per_gpu() > best->per_gpu()) best = point;
    }
    return best;
}

std::vector<std::int64_t> doubling_batches(std::int64_t most) {
    std::vector<std::int64_t> batches;
    for (std::int64_t batch = 1; batch <= most; batch *= 2) batches.push_back(batch);
    return batches;
}

}  // namespace ridge::programs
