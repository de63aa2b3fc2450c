#include "programs/advice.h"

#include <algorithm>
#include <optional>

#include "hardware/error.h"
#include "programs/largest.h"

namespace ridge::programs {
namespace {

constexpr double worth_saying = 1.03;

enum class Launch : std::uint8_t { as_asked, graph };

/// Predicts alternatives and keeps those that gain enough.
class Advisor {
  public:
    Advisor(const Architecture& architecture, const Request& request, const model::Machine& machine,
            const Circumstances& circumstances)
        : architecture_(architecture),
          request_(request),
          machine_(machine),
          circumstances_(circumstances),
          now_(outcome_of(architecture, request, Launch::as_asked)) {}

    [[nodiscard]] bool possible() const { return now_.has_value(); }
    [[nodiscard]] const Request& request() const { return request_; }
    [[nodiscard]] const Architecture& architecture() const { return architecture_; }
    [[nodiscard]] const model::Machine& machine() const { return machine_; }

    void consider(std::string text, const Architecture& a, const Request& r,
                  Launch launch = Launch::as_asked) {
        const std::optional<Outcome> then = outcome_of(a, r, launch);
        if (!then) return;
        const double factor = then->tokens_per_s / now_->tokens_per_s;
        if (factor < worth_saying) return;
        if (circumstances_.usable > 0 && !fits(a, r, circumstances_.usable)) return;
        found_.push_back({.text = std::move(text), .factor = factor, .wall = then->wall});
    }

    std::vector<Suggestion> sorted() {
        std::stable_sort(
            found_.begin(), found_.end(),
            [](const Suggestion& a, const Suggestion& b) { return a.factor > b.factor; });
        return std::move(found_);
    }

  private:
    struct Outcome {
        Time wall;
        double tokens_per_s = 0.0;
    };

    [[nodiscard]] std::optional<Outcome> outcome_of(const Architecture& a, const Request& r,
                                                    Launch launch) const {
        ModelStep step = make_step(a, r, false);
        step.graph = step.graph || launch == Launch::graph;
        const StepTime time = predict(step, machine_, circumstances_.host);
        if (!time.gpu.total.left_out.empty()) return std::nullopt;
        return Outcome{.wall = time.wall,
                       .tokens_per_s = static_cast<double>(step.tokens) / time.wall.in(units::s)};
    }

    const Architecture& architecture_;
    const Request& request_;
    const model::Machine& machine_;
    const Circumstances& circumstances_;
    std::optional<Outcome> now_;
    std::vector<Suggestion> found_;
};

void consider_software(Advisor& advisor) {
    const Request& now = advisor.request();
    Request other = now;
    if (!now.training() && now.software != Software::serving) {
        advisor.consider("the same kernels in a CUDA graph", advisor.architecture(), now,
                         Launch::graph);
        other.software = Software::serving;
        advisor.consider("a serving engine: fused kernels in a graph", advisor.architecture(),
                         other);
    }
    if (now.software == Software::transformers) {
        other.software = Software::compiled;
        advisor.consider("torch.compile: fused kernels", advisor.architecture(), other);
    }
}

void consider_types(Advisor& advisor) {
    const Request& now = advisor.request();
    if (now.training()) return;
    const bool plain = now.quantisation == Quantisation::none ||
                       (now.quantisation == Quantisation::stored && !advisor.architecture().stored);
    if (plain && advisor.machine().tensor_peak(model::DataType::fp8)) {
        Request other = now;
        other.quantisation = Quantisation::fp8;
        advisor.consider("fp8 weights", advisor.architecture(), other);
    }
    if (now.cache_type == now.type && model::size_of(now.type) == 2 &&
        now.software == Software::serving) {
        Request other = now;
        other.cache_type = model::DataType::fp8;
        advisor.consider("an 8-bit cache", advisor.architecture(), other);
    }
}

void consider_batch(Advisor& advisor) {
    Request other = advisor.request();
    if (other.batch * 2 <= most_batch) {
        other.batch *= 2;
        advisor.consider("twice the batch", advisor.architecture(), other);
    }
}

/// Changes that only the people who train the model can make.
void consider_shape(Advisor& advisor) {
    const Architecture& now = advisor.architecture();
    constexpr std::int64_t aligned = 64;
    const std::int64_t vocabulary = now.value("vocabulary");
    if (vocabulary % aligned != 0) {
        const std::int64_t padded = (vocabulary + aligned - 1) / aligned * aligned;
        advisor.consider("a vocabulary padded to " + std::to_string(padded),
                         now.with("vocabulary", padded), advisor.request());
    }
    constexpr std::int64_t group = 4;
    const std::int64_t heads = now.value("heads");
    if (now.value("kv_rank") > 0 || now.value("kv_heads") != heads || heads % group != 0) return;
    advisor.consider(std::to_string(group) + " query heads per key head (GQA)",
                     now.with("kv_heads", heads / group), advisor.request());
}

void consider_gpus(Advisor& advisor) {
    Request other = advisor.request();
    if (!advisor.machine().fabric || other.training()) return;
    other.tensor_parallel *= 2;
    if (advisor.architecture().value("heads") % other.tensor_parallel != 0) return;
    const std::string gpus = std::to_string(other.tensor_parallel);
    advisor.consider(gpus + " GPUs with tensor parallelism (tokens/s in total)",
                     advisor.architecture(), other);
}

}  // namespace

std::vector<Suggestion> advise(const Architecture& architecture, const Request& request,
                               const model::Machine& machine, const Circumstances& circumstances) {
    Advisor advisor(architecture, request, machine, circumstances);
    if (!advisor.possible()) {
        const ModelStep step = make_step(architecture, request, false);
        const StepTime time = predict(step, machine, circumstances.host);
        throw InputError(machine.name + ": " + time.gpu.total.left_out.text());
    }
    consider_software(advisor);
    consider_types(advisor);
    consider_batch(advisor);
    consider_shape(advisor);
    consider_gpus(advisor);
    return advisor.sorted();
}

}  // namespace ridge::programs
