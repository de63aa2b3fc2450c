#include "model/roof/account.h"

#include <algorithm>
#include <limits>

#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

/// Highest rate of a term in its own unit; zero if it has none or it is unknown.
double ceiling_of(Resource resource, const Prediction& p, const Machine& machine) {
    switch (resource) {
        case Resource::tensor:
        case Resource::fma:
            return p.peak.base();
        case Resource::special:
            return machine.special_rate.value_or(0.0);
        case Resource::dram:
        case Resource::link:
            return p.bandwidth.base();
        case Resource::l2:
        case Resource::store:
            return l2_ceiling(machine).base();
        case Resource::shared:
            return machine.shared_bandwidth.value_or(Bandwidth{}).base();
        default:
            return 0.0;
    }
}

bool is_near(Resource resource) {
    return resource == Resource::l2 || resource == Resource::store || resource == Resource::shared;
}

/// Whether the term is certainly below its ceiling, or has none. True for most terms, which saves
/// them a division.
bool is_surely_below(const Term& term, double ceiling, Time whole) {
    constexpr double surely = 1.0 - 1e-9;
    return term.amount <= 0.0 || ceiling <= 0.0 ||
           term.amount < ceiling * std::min(term.time, whole).base() * surely;
}

/// Keeps a term at or below its ceiling: it lasts at least as long as its amount takes there, but
/// no longer than `longest`. Returns the time that the amount takes at the ceiling.
Time hold_ceiling(Term& term, double ceiling, Time longest) {
    const Time least = Time::from_base(term.amount / ceiling);
    term.time = std::max(term.time, std::min(least, longest));
    if (least > term.time) term.amount = ceiling * term.time.base();
    return least;
}

/// Sums over the terms of the level next to the multiprocessors.
struct NearTerms {
    std::size_t count = 0;
    double stored = 0.0;  ///< bytes stored by a tiled kernel, which are a separate term
};

/// The traffic of a level is at least what its terms carry. What the L2 sends once to several
/// multiprocessors (multicast) counts once in its term and once per receiver in the traffic. The
/// terms run under the largest one, `longest`: they grow to it at most.
void settle_near(Prediction& p, const Machine& machine, const NearTerms& near, Time longest) {
    if (machine.l2.size <= Bytes{}) p.work.l2 = Bytes{};
    p.work.l2 = std::max(p.work.l2, Bytes::from_base(near.stored));
    if (near.count == 0) return;
    for (Term& term : p.terms) {
        if (!is_near(term.resource)) continue;
        if (term.resource == Resource::l2) {
            term.amount = std::min(term.amount, p.work.l2.base() - near.stored);
        }
        const double ceiling = ceiling_of(term.resource, p, machine);
        if (!is_surely_below(term, ceiling, p.time)) hold_ceiling(term, ceiling, longest);
    }
}

/// Keeps every term at or below its ceiling, and the whole at least as long as a pipe, DRAM or a
/// link needs. The largest term is the limiter. The L2 and shared memory run under it; the time
/// never grows for them.
void hold_ceilings(Prediction& p, const Machine& machine) {
    const Time unbounded = Time::from_base(std::numeric_limits<double>::infinity());
    NearTerms near;
    Time least{};
    const Term* largest = nullptr;
    for (Term& term : p.terms) {
        if (is_near(term.resource)) {
            ++near.count;
            if (term.resource == Resource::store) near.stored += term.amount;
        } else {
            if (term.resource == Resource::dram) term.amount = p.work.dram().base();
            const double ceiling = ceiling_of(term.resource, p, machine);
            if (!is_surely_below(term, ceiling, p.time)) {
                least = std::max(least, hold_ceiling(term, ceiling, unbounded));
            }
        }
        if (largest == nullptr || term.time > largest->time) largest = &term;
    }
    if (largest != nullptr) p.limiter = largest->resource;
    settle_near(p, machine, near, largest != nullptr ? largest->time : Time{});
    if (least <= p.time) return;
    const double longer = least / p.time;
    p.time = least;
    p.low = p.low * longer;
    p.high = p.high * longer;
}

/// Terms that more thread blocks would shorten.
bool waits_for_blocks(Resource resource) {
    switch (resource) {
        case Resource::tensor:
        case Resource::fma:
        case Resource::special:
        case Resource::issue:
        case Resource::load_store:
        case Resource::shared:
        case Resource::store:
            return true;
        default:
            return false;
    }
}

}  // namespace

Bandwidth l2_ceiling(const Machine& machine) {
    Bandwidth ceiling = machine.l2_bandwidth.value_or(Bandwidth{});
    if (machine.memory) ceiling = std::max(ceiling, machine.memory->l2_read);
    return ceiling;
}

Time roofline_bound(const Work& work, FlopRate peak, const Machine& machine, L2State l2) {
    const Bytes once = work.compulsory();
    const Bytes could_hit = l2 == L2State::warm ? once : work.compulsory_write;
    const Bandwidth near = l2_ceiling(machine);
    const Bytes spared = near > Bandwidth{} ? std::min(could_hit, machine.l2.size) : Bytes{};
    Time bound = (once - spared) / machine.dram_bandwidth;
    if (near > Bandwidth{}) bound = std::max(bound, once / near);
    if (peak > FlopRate{}) bound = std::max(bound, work.flop() / peak);
    return bound;
}

void settle_account(Prediction& p, const Machine& machine) {
    hold_ceilings(p, machine);
    settle_intensities(p);
    constexpr double mostly_idle = 0.5;
    const bool idle = p.tiling.tiles > 0 && p.tiling.wave_efficiency < mostly_idle;
    if (idle && waits_for_blocks(p.limiter)) p.limiter = Resource::parallelism;
    // A time that is raised keeps its distance from the upper end of its band.
    const Time unbounded = p.time;
    p.time = std::max(std::max(p.time, p.lower_bound), machine.kernel_floor);
    if (unbounded > Time{} && p.time > unbounded) p.high *= p.time / unbounded;
    p.low = std::min(p.time, std::max(p.low, p.lower_bound));
    if (p.evidence.chip == ChipEvidence::datasheet) {
        p.low = std::min(p.time, std::max(p.low, machine.kernel_floor));
    }
    p.high = std::max(p.high, p.time);
    if (p.footprint > machine.dram_capacity) {
        p.note(note::DoesNotFit{.needed = p.footprint, .capacity = machine.dram_capacity});
    }
}

namespace {

/// One term for each resource, in the order of their first places. Terms of the DRAM name the bytes
/// of the whole prediction already.
void merge_terms(Prediction& p) {
    std::uint32_t seen = 0;
    bool repeated = false;
    for (const Term& term : p.terms) {
        const std::uint32_t bit = 1U << static_cast<std::uint32_t>(term.resource);
        repeated = repeated || (seen & bit) != 0;
        seen |= bit;
    }
    if (!repeated) return;
    decltype(p.terms) merged;
    for (const Term& term : p.terms) {
        Term* known = nullptr;
        for (Term& each : merged) {
            if (each.resource == term.resource) known = &each;
        }
        if (known == nullptr) {
            merged.push_back(term);
        } else {
            known->time += term.time;
            if (term.resource != Resource::dram) known->amount += term.amount;
        }
    }
    p.terms = merged;
}

}  // namespace

void settle_terms(Prediction& p) {
    merge_terms(p);
    // A prediction that is part of another was settled before and may have the term already.
    Term* idle = nullptr;
    const Term* largest = nullptr;
    for (Term& term : p.terms) {
        if (term.resource == Resource::parallelism) idle = &term;
        if (largest == nullptr || term.time > largest->time) largest = &term;
    }
    if (largest == nullptr) return;
    if (p.limiter == Resource::parallelism && idle != nullptr) {
        idle->time = largest->time;
    } else if (p.limiter == Resource::parallelism && !p.terms.full()) {
        add_term(p, Resource::parallelism, largest->time);
    } else {
        p.limiter = largest->resource;
    }
}

}  // namespace ridge::model
