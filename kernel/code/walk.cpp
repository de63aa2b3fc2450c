#include "kernel/code/walk.h"

#include <algorithm>
#include <cmath>

#include "kernel/code/thread_state.h"

namespace ridge::kernel {
namespace {

constexpr std::int64_t most_steps = 2'000'000;
constexpr std::int64_t lanes = 32;

class Walker {
  public:
    Walker(const Function& function, const WalkInput& input, const std::vector<Loop>& loops)
        : input_(input),
          walk_{.issued = std::vector<double>(function.code.size()),
                .active = std::vector<double>(function.code.size())} {
        steps_.reserve(function.code.size());
        for (const Instruction& each : function.code) steps_.push_back(step_of(each));
        for (const Loop& loop : loops) {
            if (!loop.is_wait && loop.trips) given_[loop.last] = *loop.trips;
        }
    }

    Walk walk() {
        std::int64_t walks = 0;
        for (const auto& block : some_blocks()) {
            for (const std::int64_t warp : some_warps()) {
                follow({.block = block, .thread = first_thread(warp)});
                ++walks;
            }
        }
        for (std::vector<double>* const list : {&walk_.issued, &walk_.active}) {
            for (double& each : *list) each /= static_cast<double>(walks);
        }
        return std::move(walk_);
    }

  private:
    using Place = std::array<std::int64_t, 3>;

    static std::vector<std::int64_t> spread(std::int64_t count, std::int64_t most) {
        std::vector<std::int64_t> places;
        const std::int64_t taken = std::min(count, most);
        for (std::int64_t i = 0; i < taken; ++i) {
            places.push_back(taken < 2 ? 0 : i * (count - 1) / (taken - 1));
        }
        return places;
    }

    /// Blocks that cover every dimension of the grid evenly, each in another order.
    [[nodiscard]] std::vector<Place> some_blocks() const {
        constexpr std::int64_t most = 16;
        constexpr Place strides{1, 7, 11};  // without a common factor with `most`
        const auto& grid = input_.grid;
        std::vector<Place> blocks;
        const std::int64_t all = grid[0] * grid[1] * grid[2];
        for (std::int64_t i = 0; i < std::min(all, most); ++i) {
            Place block{i % grid[0], i / grid[0] % grid[1], i / (grid[0] * grid[1])};
            for (std::size_t d = 0; all > most && d < block.size(); ++d) {
                block.at(d) = (2 * (i * strides.at(d) % most) + 1) * grid.at(d) / (2 * most);
            }
            blocks.push_back(block);
        }
        return blocks;
    }

    [[nodiscard]] std::int64_t threads() const {
        return std::max<std::int64_t>(1, input_.block[0] * input_.block[1] * input_.block[2]);
    }
    [[nodiscard]] std::vector<std::int64_t> some_warps() const {
        constexpr std::int64_t most = 4;
        return spread((threads() + lanes - 1) / lanes, most);
    }
    [[nodiscard]] Place first_thread(std::int64_t warp) const {
        const std::int64_t number = warp * lanes;
        const auto& block = input_.block;
        return {number % block[0], number / block[0] % block[1], number / (block[0] * block[1])};
    }

    void follow(const ThreadPlace& place) {
        ThreadState state(input_, place);
        left_ = given_;
        std::size_t at = 0;
        for (std::int64_t step = 0; at < steps_.size(); ++step) {
            if (step == most_steps) {
                walk_.is_complete = false;
                return;
            }
            const CodeStep& now = steps_[at];
            const std::optional<bool> guard = state.predicate(now.guard);
            walk_.issued[at] += 1.0;
            if (guard.value_or(true) && !copies_nothing(state, now)) walk_.active[at] += 1.0;
            if (!guard && !now.instruction->target) walk_.has_unknown_guards = true;
            if (now.base == "EXIT") {
                if (guard && *guard) return;
                ++at;
                continue;
            }
            if (now.base == "BRX" && guard.value_or(true)) {
                walk_.is_complete = false;
                return;
            }
            if (now.instruction->target) {
                at = taken(state, at, guard) ? *now.instruction->target : at + 1;
                continue;
            }
            state.execute(now);
            ++at;
        }
    }

    /// An asynchronous copy whose last operand is a predicate that is off fills with zeros.
    static bool copies_nothing(const ThreadState& state, const CodeStep& step) {
        if (step.base != "LDGSTS" || step.operands.empty()) return false;
        const Operand& last = step.operands.back();
        return last.kind == OperandKind::predicate && !state.predicate(last).value_or(true);
    }

    /// Whether a branch with a known target is taken. A branch to itself ends the code.
    bool taken(const ThreadState& state, std::size_t at, std::optional<bool> guard) {
        const CodeStep& now = steps_[at];
        const std::size_t target = *now.instruction->target;
        std::optional<bool> flag = guard;
        // "BRA P0, label": a second predicate.
        if (flag.value_or(true) && !now.operands.empty() &&
            now.operands.front().kind == OperandKind::predicate) {
            const std::optional<bool> second = state.predicate(now.operands.front());
            flag = second && flag ? second : std::nullopt;
        }
        if (flag) return *flag && target != at;
        walk_.unknown.insert(at);
        const auto given = left_.find(at);
        if (given == left_.end() || target >= at) return false;
        // The body has run once when its branch comes.
        given->second -= 1.0;
        if (given->second > 0.0) return true;
        given->second = given_.at(at);
        return false;
    }

    const WalkInput& input_;
    Walk walk_;
    std::vector<CodeStep> steps_;
    std::map<std::size_t, double> given_;  ///< trips by the place of the branch back
    std::map<std::size_t, double> left_;
};

}  // namespace

Walk walk_code(const Function& function, const WalkInput& input, const std::vector<Loop>& loops) {
    return Walker(function, input, loops).walk();
}

void set_trips(std::vector<Loop>& loops, const Walk& walk) {
    for (Loop& loop : loops) {
        if (loop.is_wait || loop.trips || loop.last >= walk.issued.size()) continue;
        if (walk.unknown.contains(loop.last)) continue;
        // Times that the loop is entered: what its first instruction adds to its branches back.
        const double bodies = walk.issued[loop.first];
        const double branches = walk.issued[loop.last];
        double again = 0.0;
        if (walk.active[loop.last] <= branches) again = walk.active[loop.last];
        const double entered = bodies - again;
        loop.trips = entered > 0.0 ? bodies / entered : 0.0;
    }
}

}  // namespace ridge::kernel
