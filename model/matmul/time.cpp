#include "model/matmul/time.h"

#include <algorithm>
#include <array>
#include <limits>

#include "hardware/error.h"
#include "model/core/real.h"
#include "model/core/static_vector.h"
#include "model/matmul/search.h"

namespace ridge::model {
namespace {

using search::Candidate;
using search::Context;
using search::round_down;

Time seconds(double value) {
    return Time::from_base(value);
}

/// The search tries splits along k that fill one, two and three waves.
constexpr int split_waves = 3;
/// Times closer than this count as equal.
constexpr double tie = 1.001;

/// The fixed time of one kernel of the library (M20). It was fitted to replayed graphs. A
/// profiler's duration does not include the gap, a plain call in a stream adds its submission and
/// the library's host code (B8), and a call from an eager framework has its own fixed time.
Time launch_time(const MatmulSituation& s) {
    const Time alone =
        std::max(s.machine.kernel_floor, s.parameters.launch - s.machine.library_gap);
    switch (s.launch) {
        case LaunchMode::kernel:
            return alone;
        case LaunchMode::graph:
            return std::max(s.parameters.launch, alone + s.machine.library_gap);
        case LaunchMode::stream:
            break;
    }
    const Time plain = alone + s.machine.library_call +
                       launch_overhead(s.machine.launch, LaunchMode::stream, 1.0, alone);
    if (s.caller == MatmulCaller::code) return plain;
    const Time called = s.machine.matmul.stream_launch;
    return called > Time{} ? called : plain;
}

}  // namespace

Time launch_beyond_kernel(const MatmulSituation& s) {
    MatmulSituation alone = s;
    alone.launch = LaunchMode::kernel;
    return launch_time(s) - launch_time(alone);
}

namespace {

/// Candidates whose time may tie with the shortest.
struct Shortlist {
    struct Entry {
        Candidate candidate;
        std::size_t tile;  ///< position in the library's list
    };
    double shortest = std::numeric_limits<double>::infinity();
    StaticVector<Entry, most_library_tiles*(split_waves + 1)> entries;

    void add(const Candidate& candidate, std::size_t tile) {
        shortest = std::min(shortest, candidate.total);
        if (candidate.total <= tie * shortest) entries.push_back({candidate, tile});
    }

    /// The candidate that reads least; among those that read the same, the first of the library's
    /// list.
    [[nodiscard]] const Candidate& preferred() const {
        const Entry* best = nullptr;
        for (const Entry& each : entries) {
            if (each.candidate.total > tie * shortest) continue;
            const bool first = best == nullptr || each.candidate.edges < best->candidate.edges;
            const bool same = !first && each.candidate.edges == best->candidate.edges;
            if (first || (same && each.tile <= best->tile)) best = &each;
        }
        RIDGE_CONTRACT(best != nullptr);
        return best->candidate;
    }
};

/// The search over the tiles of a library and their splits along k.
class Search {
  public:
    Search(const MatmulSituation& s, const Context& c)
        : s_(s),
          c_(c),
          library_(library_tiles(s.pipe, bits_of(s.op.type), s.machine.compute_capability)),
          floors_(search::make_floors(s.parameters, c)) {
        search::outline(floors_, c, library_, outlines_);
    }

    /// The candidate of the shortest time; among those that tie with it, the one that reads least,
    /// and among those the first.
    [[nodiscard]] Candidate fastest() {
        // Starts from the most promising tile, whose time excludes most of the others.
        const std::size_t first = most_promising();
        add_splits(first);
        for (std::size_t i = library_.count; i-- > 0;) {
            if (i != first && !excluded(i)) add_splits(i);
        }
        Candidate best = list_.preferred();
        best.total = list_.shortest;  // a faster GPU must not be slower because of a tie
        return best;
    }

  private:
    /// If there are several, the last one, which is the largest.
    [[nodiscard]] std::size_t most_promising() const {
        std::size_t first = 0;
        for (std::size_t i = 1; i < library_.count; ++i) {
            if (outlines_.least[i] <= outlines_.least[first]) first = i;
        }
        return first;
    }

    /// Number of tiles that cover the output.
    [[nodiscard]] double tiles(std::size_t tile) const {
        const Tile& size = library_.tiles[tile];
        return c_.batch * search::round_up(c_.m / size.m) * search::round_up(c_.n / size.n);
    }
    [[nodiscard]] double elements(std::size_t tile) const {
        return tiles(tile) * (real(library_.tiles[tile].m) * library_.tiles[tile].n);
    }
    [[nodiscard]] double edges(std::size_t tile) const {
        return tiles(tile) * (real(library_.tiles[tile].m) + library_.tiles[tile].n);
    }

    /// Whether a tile is too slow, or, if the power limit sets its time, neither faster than the
    /// fastest nor preferred to it in a tie.
    [[nodiscard]] bool excluded(std::size_t tile) const {
        if (static_cast<double>(outlines_.least[tile]) > tie * list_.shortest) return true;
        return is_powered_ && elements(tile) >= powered_elements_ && edges(tile) > powered_edges_;
    }

    /// Adds the splits of a tile that fill up to `split_waves` waves.
    void add_splits(std::size_t tile) {
        const search::Cover cover = search::cover(s_.parameters, c_, library_.tiles[tile]);
        const bool splits = s_.parameters.second_kernel > Time{};
        const double longest = splits ? std::min(s_.machine.library_split, c_.steps) : 1.0;
        double previous = 0.0;
        for (int waves = split_waves; waves >= 0; --waves) {
            const double filling = round_down(waves * c_.sms / cover.tiles);
            const double split = std::max(1.0, std::min(filling, longest));
            if (split == previous) continue;
            previous = split;
            const search::Issue issue = search::issue(c_, cover, split);
            if (search::least_total(floors_, c_, cover, issue) <= tie * list_.shortest) {
                add(search::complete(s_.parameters, c_, cover, issue), tile);
            }
            if (split == 1.0) return;  // so do the splits for fewer waves
        }
    }

    void add(const Candidate& candidate, std::size_t tile) {
        if (candidate.total < list_.shortest) {
            is_powered_ = candidate.total <= candidate.power;
            if (is_powered_) {
                powered_elements_ = elements(tile);
                powered_edges_ = edges(tile);
            }
        }
        list_.add(candidate, tile);
    }

    const MatmulSituation& s_;
    const Context& c_;
    const LibraryTiles& library_;
    search::Floors floors_;
    search::Outlines outlines_;
    Shortlist list_;
    bool is_powered_ = false;  ///< whether the power limit sets the time of the fastest
    double powered_elements_ = 0.0;
    double powered_edges_ = 0.0;
};

/// The library's choice: a tile from its list, or its kernel for one row.
Candidate fastest(const MatmulSituation& s, const Context& c) {
    Candidate best = Search(s, c).fastest();
    if (s.op.m == 1 && s.op.batch == 1 && s.parameters.gemv_per_sm > Bandwidth{}) {
        const Candidate vector = search::evaluate_vector(s.parameters, c);
        if (vector.total < best.total) best = vector;
    }
    return best;
}

/// Time added by what L2 loses between waves. It is zero unless DRAM becomes the longest of the
/// bounds.
double repeat_time(const Candidate& best, const Context& c, double repeats) {
    const double bound = best.total - best.reduction;
    return std::max(0.0, best.dram + repeats / c.dram_rate - bound);
}

/// What L2 loses between the waves of a candidate. The search does not see it.
struct Lost {
    double repeats;  ///< bytes
    double time;
};

/// A candidate, and what its waves lose.
struct Choice {
    Candidate candidate;
    Lost lost;
};

double total_of(const Choice& choice) {
    return choice.candidate.total + choice.lost.time;
}

Lost lost_by(const MatmulSituation& s, const Context& c, const Candidate& candidate) {
    // The kernel for one row reads its matrix once; a tile of one row that the user asked for does
    // not.
    const bool one_row = !s.tile && candidate.tile.m == 1;
    const double repeats = one_row ? 0.0 : search::repeated_bytes(s, c, candidate.tile);
    return {repeats, repeat_time(candidate, c, repeats)};
}

/// If repeats cost time, the choice for another state of the L2 may lose less. Every state compares
/// the same choices, since otherwise a cold product could be faster than a warm one, or a replayed
/// graph faster than its kernel.
void take_fewest_repeats(const MatmulSituation& s, const Context& c, Choice& best) {
    struct State {
        L2State l2;
        LaunchMode launch;
    };
    constexpr std::array<State, 4> states{{{L2State::warm, LaunchMode::kernel},
                                           {L2State::warm, LaunchMode::graph},
                                           {L2State::cold, LaunchMode::kernel},
                                           {L2State::dirty, LaunchMode::kernel}}};
    for (const State& state : states) {
        MatmulSituation other = s;
        other.l2 = state.l2;
        other.launch = state.launch;
        const Candidate found = fastest(other, search::make_context(other));
        if (found.tile.m == 1) continue;
        Choice other_choice{.candidate = search::evaluate(s.parameters, c, found.tile, found.split),
                            .lost = {}};
        other_choice.lost = lost_by(s, c, other_choice.candidate);
        if (total_of(other_choice) < total_of(best)) best = other_choice;
    }
}

MatmulTime assemble(const MatmulSituation& s, const Context& c, const Choice& choice) {
    const Candidate& best = choice.candidate;
    const double repeats = choice.lost.repeats;
    MatmulTime t;
    t.tile = best.tile;
    t.split = static_cast<std::int32_t>(best.split);
    t.launch = launch_time(s);
    t.cold_fill = seconds(best.cold_fill);
    t.loop = seconds(best.loop);
    t.pipe = seconds(best.pipe);
    t.power = seconds(best.power);
    t.latency = seconds(best.latency);
    t.l2 = seconds(best.l2);
    t.store = seconds(best.store);
    t.dram_read = seconds(best.dram_read);
    t.dram = seconds(best.dram + repeats / c.dram_rate);
    t.reduction = seconds(best.reduction);
    t.repeats = Bytes::from_base(repeats);
    t.dram_reads = Bytes::from_base(c.read_bytes + repeats);
    t.dram_writes = Bytes::from_base(c.write_bytes);
    t.l2_reads = Bytes::from_base(best.l2_bytes);
    t.alignment = c.alignment;
    t.total = t.launch + seconds(total_of(choice));
    if (t.split > 1) {
        t.launches = seconds(c.second_kernel);
        t.kernels = 2;
    }
    return t;
}

/// Libraries take 16-bit activations and quantise them first (M20). A profiler's duration of the
/// product alone leaves that out.
void add_quantisation(const MatmulSituation& s, const Context& c, MatmulTime& t) {
    const MatmulParameters& p = s.parameters;
    const bool narrow = s.op.type == DataType::fp8 || s.pipe == MatmulPipe::four_bit;
    const bool asked = narrow && s.launch != LaunchMode::kernel;
    if (!asked || p.quantise_warm <= Bandwidth{} || p.quantise_cold <= Bandwidth{}) return;
    const double elements = c.batch * c.m * c.k;
    const double read = 2.0 * elements;
    const double miss = search::miss_share(s, 3.0 * elements);
    t.quantise =
        p.quantise +
        seconds(read * ((1.0 - miss) / p.quantise_warm.base() + miss / p.quantise_cold.base()));
    t.launches += p.quantise;
    t.total += t.quantise;
    t.dram_reads += Bytes::from_base(miss * read);
    t.dram_writes += Bytes::from_base(miss * elements);
    t.kernels += 1;
}

}  // namespace

MatmulTime library_matmul_time(const MatmulSituation& s) {
    const Context c = search::make_context(s);
    Choice best{
        .candidate = s.tile ? search::evaluate(s.parameters, c, *s.tile, 1.0) : fastest(s, c),
        .lost = {}};
    best.lost = lost_by(s, c, best.candidate);
    if (!s.tile && best.lost.time > 0.0) take_fewest_repeats(s, c, best);
    MatmulTime time = assemble(s, c, best);
    add_quantisation(s, c, time);
    return time;
}

MatmulRegime regime_of(const MatmulTime& t) {
    if (t.quantise > 0.5 * t.total) return MatmulRegime::quantise;
    if (t.launch > 0.6 * (t.total - t.quantise)) return MatmulRegime::launch;
    if (t.split > 1) return MatmulRegime::split;
    if (t.power >= std::max(t.loop + t.store, t.dram)) return MatmulRegime::power;
    const Time memory = std::max({t.dram_read, t.dram, t.l2});
    const Time largest = std::max({memory, t.store, t.latency, t.pipe});
    if (largest == memory) return MatmulRegime::memory;
    if (largest == t.pipe) return MatmulRegime::pipe;
    return largest == t.store ? MatmulRegime::store : MatmulRegime::latency;
}

}  // namespace ridge::model
