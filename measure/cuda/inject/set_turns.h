// Decides which set of counters runs for each of a program's launches.
//
// Method: one set stays on for many launches in a row, because switching costs as much as counting
// dozens of them. A set stays while launches need it. After it has run for a while, it gives way to
// another set that a launch needs. If nothing is needed for long, the program runs freely.
//
//   SetTurns turns;
//   const SetTurns::Turn turn = turns.next(missing);   // sets that this launch lacks, one bit each
//   if (turn.stop) read();
//   if (turn.start) begin(*turn.start);
//   if (turn.counted) ...                              // this launch gets the running set
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ridge::measure::cuda {

class SetTurns {
  public:
    /// Largest number of launches between two readings. Each launch needs memory for its counters,
    /// which takes time to allocate and to start with.
    static constexpr std::size_t most_launches = 128;
    /// The same when reading is cheap because the next set is the same one.
    static constexpr std::size_t launches_of_one_set = 64;
    /// A set runs for at least this many launches before another one takes its turn.
    static constexpr std::size_t least_launches = 16;
    /// Number of consecutive launches without a need after which the program runs freely.
    static constexpr std::size_t patience = 32;

    struct Turn {
        bool stop = false;                ///< do this first
        std::optional<unsigned> start{};  ///< then start this set
        bool counted = false;             ///< whether the launch is counted
    };

    explicit SetTurns(std::size_t most = most_launches) : most_(most) {}

    [[nodiscard]] Turn next(std::uint32_t missing) {
        if (!running_) return missing == 0 ? Turn{} : begin(missing, false);
        const bool wanted = (missing >> *running_ & 1U) != 0;
        if (wanted && launches_ < most_) return go_on(true);
        if (wanted) return again();
        ++idle_;
        if (missing != 0 && launches_ >= least_launches) return begin(missing, true);
        if (idle_ >= patience || launches_ >= most_) {
            stopped();
            return {.stop = true};
        }
        return go_on(false);
    }
    /// Call this when the counters were stopped for another reason.
    void stopped() { running_.reset(); }
    [[nodiscard]] std::optional<unsigned> running() const { return running_; }

  private:
    Turn begin(std::uint32_t missing, bool stop) {
        running_ = static_cast<unsigned>(std::countr_zero(missing));
        launches_ = 1;
        idle_ = 0;
        return {.stop = stop, .start = running_, .counted = true};
    }
    Turn again() {
        launches_ = 1;
        idle_ = 0;
        return {.stop = true, .start = running_, .counted = true};
    }
    Turn go_on(bool counted) {
        ++launches_;
        if (counted) idle_ = 0;
        return {.counted = counted};
    }

    std::size_t most_;
    std::optional<unsigned> running_;
    std::size_t launches_ = 0;
    std::size_t idle_ = 0;
};

}  // namespace ridge::measure::cuda
