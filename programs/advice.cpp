#include "programs/advice.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace ridge::programs {
namespace {

constexpr double worth_saying = 1.03;

struct Outcome {
    Time wall;
    double tokens_per_s = 0.0;
};

std::optional<Outcome> outcome_of(const Architecture& a, const Request& request,
                                  const model::Machine& machine, const Host& host) {
    const ModelStep step = make_step(a, request, false);
    const StepTime time = predict(step, machine, host);
    if (time.gpu.total.not_modelled > 0) return std::nullopt;
    return Outcome{.wall = time.wall,
                   .tokens_per_s = static_cast<double>(step.tokens) / time.wall.in(units::s)};
}

}  // namespace

std::vector<Suggestion> advise(const Architecture& architecture, const Request& request,
                               const model::Machine& machine, const Host& host) {
    std::vector<Suggestion> found;
    const std::optional<Outcome> now = outcome_of(architecture, request, machine, host);
    if (!now) return found;
    const auto consider = [&](const std::string& text, const Architecture& a, const Request& r,
                              double cost) {
        const std::optional<Outcome> then = outcome_of(a, r, machine, host);
        if (!then) return;
        const double factor = then->tokens_per_s / now->tokens_per_s / cost;
        if (factor >= worth_saying)
            found.push_back({.text = text, .factor = factor, .wall = then->wall});
    };
    const auto changed = [&](const std::function<void(Request&)>& change) {
        Request other = request;
        change(other);
        return other;
    };
    if (request.software != Software::serving && !request.training()) {
        consider("fused kernels in a CUDA graph (a serving engine)", architecture,
                 changed([](Request& r) { r.software = Software::serving; }), 1.0);
    }
    if (request.software == Software::transformers) {
        consider("torch.compile", architecture,
                 changed([](Request& r) { r.software = Software::compiled; }), 1.0);
    }
    consider("twice the batch", architecture, changed([](Request& r) { r.batch *= 2; }), 1.0);
    if (architecture.vocabulary % 64 != 0) {
        Architecture padded = architecture;
        padded.vocabulary = (architecture.vocabulary + 63) / 64 * 64;
        consider("a vocabulary padded to " + std::to_string(padded.vocabulary), padded, request,
                 1.0);
    }
    if (request.tensor_parallel == 1 && machine.fabric && !request.training()) {
        const bool divides =
            std::all_of(architecture.kinds.begin(), architecture.kinds.end(),
                        [](const LayerSpec& kind) { return kind.attention.heads % 2 == 0; });
        if (divides) {
            consider("two GPUs by tensor parallelism (tokens/s of each)", architecture,
                     changed([](Request& r) { r.tensor_parallel = 2; }), 2.0);
        }
    }
    std::sort(found.begin(), found.end(),
              [](const Suggestion& a, const Suggestion& b) { return a.factor > b.factor; });
    return found;
}

}  // namespace ridge::programs
