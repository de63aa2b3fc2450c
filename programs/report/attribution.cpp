#include "programs/report/attribution.h"

#include <map>
#include <utility>

#include "programs/aten/operations.h"

namespace ridge::programs {
namespace {

/// Caches for each name whether the model knows it, and for each operator the operator that it
/// counts for.
class Owners {
  public:
    explicit Owners(const Trace& trace)
        : trace_(trace),
          known_(trace.texts.size(), unasked),
          owner_(trace.operators.size(), unasked) {}

    std::int32_t operator()(std::int32_t innermost) {
        if (innermost == none) return none;
        std::int32_t& owner = owner_[static_cast<std::size_t>(innermost)];
        if (owner != unasked) return owner;
        owner = innermost;
        for (std::int32_t at = innermost; at != none; at = op(at).parent) {
            if (op(at).range) break;
            if (op(at).inputs != TextId::empty && known(op(at).name)) {
                owner = at;
                break;
            }
        }
        return owner;
    }

  private:
    static constexpr std::int32_t unasked = -2;

    [[nodiscard]] const Operator& op(std::int32_t index) const {
        return trace_.operators[static_cast<std::size_t>(index)];
    }
    bool known(TextId name) {
        std::int32_t& answer = known_[static_cast<std::size_t>(name)];
        if (answer == unasked) {
            const std::string_view text = trace_.text(name);
            answer = is_known(text) || has_law(text) ? 1 : 0;
        }
        return answer == 1;
    }

    const Trace& trace_;
    std::vector<std::int32_t> known_;
    std::vector<std::int32_t> owner_;
};

}  // namespace

std::vector<Instance> instances_of(const Trace& trace) {
    Owners owners(trace);
    std::vector<Instance> instances;
    std::vector<std::int32_t> instance_of(trace.operators.size(), none);
    // Each replay of a graph runs the operators of its capture again.
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> replayed;
    for (std::size_t i = 0; i < trace.kernels.size(); ++i) {
        const Kernel& kernel = trace.kernels[i];
        const std::int32_t owner = owners(kernel.op);
        std::int32_t alone = none;
        std::int32_t& known = owner == none ? alone
                              : kernel.replay != none
                                  ? replayed.try_emplace({owner, kernel.replay}, none).first->second
                                  : instance_of[static_cast<std::size_t>(owner)];
        if (known == none) {
            known = static_cast<std::int32_t>(instances.size());
            instances.push_back({.op = owner, .kernels = {}, .stream = kernel.stream});
        }
        const std::int32_t place = known;
        Instance& instance = instances[static_cast<std::size_t>(place)];
        instance.kernels.push_back(static_cast<std::int32_t>(i));
        instance.measured_ns += kernel.duration_ns;
    }
    return instances;
}

}  // namespace ridge::programs
