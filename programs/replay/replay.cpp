#include "programs/replay/replay.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

constexpr std::size_t lanes = 2;

/// What one lane does: launches wait in their order; one may run.
struct LaneState {
    std::vector<std::size_t> queue{};
    std::size_t next = 0;
    std::optional<std::size_t> running{};
    Time left{};  ///< work of the running launch
    Time free{};  ///< when the lane may begin another
};

class Replay {
  public:
    Replay(std::span<const LaneTask> launches, const ReplayOptions& options)
        : launches_(launches), options_(options) {
        out_.ran.resize(launches.size());
        ended_.resize(launches.size());
        dispatched_.reserve(launches.size());
        for (std::size_t i = 0; i < launches.size(); ++i) {
            const LaneTask& launch = launches[i];
            RIDGE_CONTRACT(launch.after < static_cast<std::int32_t>(i));
            out_.host += launch.host;
            dispatched_.push_back(out_.host);
            lane(launch.lane).queue.push_back(i);
        }
    }

    Replayed run() {
        while (step()) {
        }
        out_.wall = std::max(now_, out_.host);
        return std::move(out_);
    }

  private:
    [[nodiscard]] LaneState& lane(Lane which) { return lanes_[static_cast<std::size_t>(which)]; }
    [[nodiscard]] bool runs(Lane which) { return lane(which).running.has_value(); }

    /// Whether the next launch of a lane waits for one that has not ended.
    [[nodiscard]] bool waits(const LaneTask& launch) const {
        return launch.after >= 0 && !ended_[static_cast<std::size_t>(launch.after)];
    }

    /// When the next launch of a lane can begin, if nothing else has to end first.
    [[nodiscard]] std::optional<Time> ready(const LaneState& state, Lane which) {
        if (state.running || state.next == state.queue.size()) return std::nullopt;
        const std::size_t index = state.queue[state.next];
        const LaneTask& launch = launches_[index];
        if (waits(launch)) return std::nullopt;
        const Time at = std::max({now_, dispatched_[index], state.free});
        // The blocks of a running kernel come first.
        if (which == Lane::communication && runs(Lane::kernels) && began_ < at) return std::nullopt;
        return at;
    }

    void begin(LaneState& state, Lane which) {
        state.running = state.queue[state.next++];
        state.left = launches_[*state.running].work;
        out_.ran[*state.running].from = now_;
        if (which == Lane::kernels) began_ = now_;
    }

    void end(LaneState& state, Lane which) {
        const std::size_t index = *state.running;
        state.running.reset();
        ended_[index] = true;
        out_.ran[index].to = now_;
        state.free = now_ + (which == Lane::kernels ? options_.gap : Time{});
    }

    /// The speeds of both lanes, in work for each unit of time.
    [[nodiscard]] std::array<double, lanes> speeds() {
        if (!runs(Lane::kernels) || !runs(Lane::communication)) return {1.0, 1.0};
        const LaneTask& kernel = launches_[*lane(Lane::kernels).running];
        const LaneTask& beside = launches_[*lane(Lane::communication).running];
        return {1.0 - beside.taken, 1.0 / kernel.stretch};
    }

    /// Goes on to the next event; false when nothing is left.
    bool step() {
        const std::array<double, lanes> speed = speeds();
        std::optional<Time> next;
        for (std::size_t i = 0; i < lanes; ++i) {
            const auto which = static_cast<Lane>(i);
            LaneState& state = lanes_[i];
            const std::optional<Time> at =
                state.running ? std::optional(now_ + state.left / speed[i]) : ready(state, which);
            if (at && (!next || *at < *next)) next = at;
        }
        if (!next) return false;
        advance(*next - now_, speed);
        now_ = *next;
        for (std::size_t i = 0; i < lanes; ++i) finish(lanes_[i], static_cast<Lane>(i));
        // Communication that is ready has its multiprocessors before the next kernel does.
        for (const Lane which : {Lane::communication, Lane::kernels}) {
            LaneState& state = lane(which);
            const std::optional<Time> at = ready(state, which);
            if (at && *at <= now_) begin(state, which);
        }
        return true;
    }

    void advance(Time span, const std::array<double, lanes>& speed) {
        for (std::size_t i = 0; i < lanes; ++i) {
            if (lanes_[i].running) lanes_[i].left -= span * speed[i];
        }
        if (runs(Lane::kernels)) out_.kernels += span;
        if (runs(Lane::communication)) {
            out_.communication += span;
            if (!runs(Lane::kernels)) out_.exposed += span;
        }
    }

    void finish(LaneState& state, Lane which) {
        // What is left of a launch may be rounding; late in a step it is more than below any clock's step,
        // and less than moves the clock on.
        constexpr double rounding = 1e-15;  // seconds
        const double late = 4.0 * std::numeric_limits<double>::epsilon() * now_.base();
        if (state.running && state.left.base() <= std::max(rounding, late)) end(state, which);
    }

    std::span<const LaneTask> launches_;
    ReplayOptions options_;
    std::array<LaneState, lanes> lanes_{};
    std::vector<Time> dispatched_{};
    std::vector<bool> ended_{};
    Time now_{};
    Time began_{};  ///< when the running kernel began
    Replayed out_{};
};

}  // namespace

Replayed replay(std::span<const LaneTask> launches, const ReplayOptions& options) {
    return Replay(launches, options).run();
}

}  // namespace ridge::programs
