#include "kernel/causes/latency.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "hardware/units.h"

namespace ridge::kernel {
namespace {

enum class Waits : std::uint8_t {
    memory,
    on_chip,
    fixed,
    barrier,
    math_pipe,
    queue,
    global_queue,
    fence,
    at_exit,
    branch,
    supply,
    tensor,
    nothing
};

struct Reason {
    std::string_view name;
    Waits waits;
};

constexpr std::array stall_reasons{
    Reason{"long_scoreboard", Waits::memory},
    Reason{"short_scoreboard", Waits::on_chip},
    Reason{"wait", Waits::fixed},
    Reason{"barrier", Waits::barrier},
    Reason{"math_pipe_throttle", Waits::math_pipe},
    Reason{"mio_throttle", Waits::queue},
    Reason{"lg_throttle", Waits::global_queue},
    Reason{"membar", Waits::fence},
    Reason{"drain", Waits::at_exit},
    Reason{"branch_resolving", Waits::branch},
    Reason{"no_instruction", Waits::supply},
    Reason{"imc_miss", Waits::supply},
    Reason{"gmma", Waits::tensor},
    Reason{"dispatch_stall", Waits::math_pipe},
    Reason{"sleeping", Waits::nothing},
    Reason{"tex_throttle", Waits::nothing},
    Reason{"misc", Waits::nothing},
};

/// Warps times cycles in this state; only the ratios matter.
double stalled(const Counted& c, std::string_view reason) {
    const std::string name(reason);
    return c.first_of({"smsp__warps_issue_stalled_" + name + ".sum",
                       "smsp__average_warps_issue_stalled_" + name + "_per_issue_active.ratio",
                       "smsp__average_warp_latency_issue_stalled_" + name + ".ratio",
                       "smsp__pcsamp_warps_issue_stalled_" + name});
}

double log_gain(double factor) {
    return factor > 1.0 ? std::log2(factor) : 0.0;
}

class Sharing {
  public:
    Sharing(const Counted& counted, const Loads& loads, const Roofs& roofs)
        : c_(counted), loads_(loads), roofs_(roofs), residency_(residency_of(counted, roofs)) {}

    LatencyShares share() {
        double all = 0.0;
        for (const Reason& reason : stall_reasons) all += stalled(c_, reason.name);
        if (all <= 0.0) return shares_;
        shares_.unexplained = 0.0;
        // While the last blocks run, a multiprocessor has fewer warps than fit. (eq. KC11)
        const double emptied = share_of_tail();
        add(Cause::last_wave, emptied);
        all /= 1.0 - emptied;
        for (const Reason& reason : stall_reasons) {
            add(reason.waits, stalled(c_, reason.name) / all);
        }
        return shares_;
    }

  private:
    void add(Cause cause, double amount) {
        if (amount > 0.0) shares_.of[cause] += amount;
    }

    void add(Waits waits, double amount) {
        switch (waits) {
            case Waits::memory:
                return add_memory(amount);
            case Waits::on_chip:
                return add_on_chip(amount);
            case Waits::fixed:
                // A chain of values of the wrong type waits for their pipe.
                add(Cause::wrong_pipe, amount * loads_.slipped);
                return add(Cause::dependence, amount * (1.0 - loads_.slipped));
            case Waits::tensor:
                return add(Cause::dependence, amount);
            case Waits::barrier:
                return add(Cause::barriers, amount);
            case Waits::math_pipe:
                return add_pipe(amount);
            case Waits::queue:
                add(Cause::bank_conflicts, amount * loads_.conflicts);
                return add_pipe(amount * (1.0 - loads_.conflicts));
            case Waits::global_queue:
                return add_global_queue(amount);
            case Waits::fence:
                return add(Cause::fences, amount);
            case Waits::at_exit:
                return add_exit(amount);
            case Waits::branch:
                return add(loads_.lanes_on < mostly_on ? Cause::divergence : Cause::dependence,
                           amount);
            case Waits::supply:
                return add(
                    loads_.lanes_on < mostly_on ? Cause::divergence : Cause::instruction_supply,
                    amount);
            case Waits::nothing:
                shares_.unexplained += amount;
        }
    }

    /// The share of warps that could be resident, by grid and resources, but were not on average.
    [[nodiscard]] double share_of_tail() const {
        const double warps = c_.first_of({"smsp__warps_active.sum"});
        const double cycles = c_.first_of({"smsp__cycles_active.sum"});
        const double percent = c_.first_of({"sm__warps_active.avg.pct_of_peak_sustained_active"});
        const double resident =
            cycles > 0.0 ? roofs_.schedulers * warps / cycles : roofs_.warps * percent / 100.0;
        if (!residency_.is_known || resident <= 0.0) return 0.0;
        // Where blocks come and go all the time, slots wait for new ones, not for the last.
        constexpr double few_waves = 8.0;
        const double warps_of_block = std::ceil(static_cast<double>(c_.threads_per_block()) / 32.0);
        const double waves = static_cast<double>(c_.blocks()) * warps_of_block /
                             (roofs_.multiprocessors * residency_.possible);
        if (waves > few_waves) return 0.0;
        constexpr double usual = 0.6;
        const double share = resident / std::max(1.0, residency_.from_grid);
        return share < usual ? std::min(0.9, 1.0 - share) : 0.0;
    }

    /// (eq. KC12)
    void add_memory(double amount) {
        const double local = std::min(1.0, loads_.local_share);
        add(Cause::spills, amount * local);
        const double atomic = (1.0 - local) * loads_.atomic_share;
        add(Cause::atomics, amount * atomic);
        const double left = amount * (1.0 - local - atomic);
        const double fenced = fences() > 0.0 ? 0.5 : 0.0;
        add(Cause::fences, left * fenced);
        share_latency(left * (1.0 - fenced));
    }

    [[nodiscard]] double fences() const {
        double all = 0.0;
        for (const Reason& reason : stall_reasons) all += stalled(c_, reason.name);
        constexpr double some = 0.02;
        const double share = all > 0.0 ? stalled(c_, "membar") / all : 0.0;
        return share > some ? share : 0.0;
    }

    /// Words that pass L2 again, queues of unasked sectors, then what would let more bytes be in
    /// flight. (eq. KC13)
    void share_latency(double amount) {
        const double in_flight = loads_in_flight();
        add(Cause::l2_pressure, amount * loads_.repeated);
        const double once = amount * (1.0 - loads_.repeated);
        const double queued = once * queueing_ * loads_.scattered;
        add(Cause::uncoalesced, queued);
        share_flight(once - queued, in_flight);
    }

    void share_flight(double amount, double in_flight) {
        const double possible = residency_.is_known ? residency_.possible : roofs_.warps;
        const double by_block = residency_.is_known ? roofs_.warps / std::max(1.0, possible) : 1.0;
        const double by_grid =
            residency_.is_known ? possible / std::clamp(residency_.from_grid, 1.0, possible) : 1.0;
        const double scatter = 1.0 / std::max(0.03, 1.0 - loads_.scattered_far);
        const double width = scatter < 1.3 ? 16.0 / std::max(1.0, loads_.bytes_per_access) : 1.0;
        // A block that ends after a few instructions costs more to start than to run.
        const double instructions = c_.first_of({"smsp__inst_executed.sum"});
        const double warps = static_cast<double>(counted_warps());
        constexpr double worth_starting = 40.0;
        const double length = instructions > 0.0 ? worth_starting * warps / instructions : 1.0;
        const bool small = residency_.limiter == model::OccupancyLimiter::blocks;
        constexpr double enough = 4.0;
        const double ahead = in_flight > 0.0 ? enough / in_flight : 1.0;
        std::array<std::pair<Cause, double>, 6> gains{
            {{block_cause(), log_gain(by_block)},
             {Cause::small_blocks, small ? 1.5 * log_gain(length) : 0.0},
             {Cause::too_few_blocks, log_gain(by_grid)},
             {Cause::uncoalesced, 1.75 * log_gain(scatter) * memory_use()},
             {Cause::narrow_accesses, 1.25 * log_gain(width)},
             {Cause::memory_latency, log_gain(ahead) * (1.0 - queueing_)}}};
        double all = 0.0;
        for (const auto& [cause, gain] : gains) {
            all += gain;
            if (gain > 0.0 && cause != Cause::uncoalesced) shares_.gains[cause] += gain;
        }
        if (all <= 0.0) return add(Cause::memory_latency, amount);
        for (const auto& [cause, gain] : gains) add(cause, amount * gain / all);
    }

    /// How near the memory is to its rates, from 0 to 1: sectors that nobody asked for hold up others
    /// only when there are many.
    [[nodiscard]] double memory_use() const {
        double busiest = 0.0;
        for (const Resource level : {Resource::dram, Resource::l2, Resource::l1}) {
            busiest = std::max(busiest, loads_.of(level).seconds);
        }
        return use_of(busiest);
    }
    /// How near to its rate a resource is that works for so many seconds, from 0 to 1.
    [[nodiscard]] double use_of(double seconds) const {
        constexpr double contended = 0.65;
        const double measured = c_.measured.base();
        return measured > 0.0 ? std::min(1.0, seconds / (contended * measured)) : 1.0;
    }

    [[nodiscard]] std::int64_t counted_warps() const {
        return c_.blocks() * ((c_.threads_per_block() + 31) / 32);
    }

    [[nodiscard]] Cause block_cause() const {
        return residency_.limiter == model::OccupancyLimiter::blocks ? Cause::small_blocks
                                                                     : Cause::occupancy;
    }

    /// Requests of a warp that waits: by Little's law over the time that warps wait. (eq. KC14)
    double loads_in_flight() {
        const double waiting = c_.first_of({"smsp__warps_issue_stalled_long_scoreboard.sum"});
        const double requests = c_.sum_of(
            {"smsp__sass_inst_executed_op_global_ld.sum", "smsp__sass_inst_executed_op_local.sum"});
        if (waiting <= 0.0 || requests <= 0.0) return 0.0;
        const double sectors = c_.first_of({"l1tex__t_sectors_pipe_lsu.sum"});
        const double hits = c_.first_of({"l1tex__t_sectors_pipe_lsu_lookup_hit.sum"});
        const double in_l1 = sectors > 0.0 ? std::min(1.0, hits / sectors) : 0.0;
        const double l2 = c_.first_of({"lts__t_sectors_srcunit_tex.sum"});
        const double in_l2 =
            l2 > 0.0
                ? std::min(1.0, c_.first_of({"lts__t_sectors_srcunit_tex_lookup_hit.sum"}) / l2)
                : 0.0;
        constexpr double l1_cycles = 35.0;
        const double far = roofs_.dram_latency * loads_.clock;
        const double near = roofs_.memory.l2_latency.base() * loads_.clock;
        const double latency =
            in_l1 * l1_cycles + (1.0 - in_l1) * (in_l2 * near + (1.0 - in_l2) * far);
        // A chain of single loads waits 1.6 to 2.3 times the latency; what is beyond waits in queues.
        constexpr double single = 0.4;
        const double in_flight = requests * latency / waiting;
        queueing_ = std::max(0.0, 1.0 - in_flight / single);
        shares_.loads_in_flight = std::max(1.0, in_flight);
        return shares_.loads_in_flight;
    }

    void add_on_chip(double amount) {
        const double shared_atomics = c_.first_of({"smsp__sass_inst_executed_op_shared_atom.sum"});
        const double shared = c_.sum_of({"smsp__sass_inst_executed_op_shared_ld.sum",
                                         "smsp__sass_inst_executed_op_shared_st.sum"});
        const double special = loads_.of(Resource::xu).seconds;
        const double l1 = loads_.of(Resource::l1).seconds;
        if (shared_atomics > 0.0 && shared_atomics > 0.1 * shared) {
            return add(Cause::atomics, amount);
        }
        if (special > l1) {
            // Waiting for units that idle is latency.
            const double queued = amount * use_of(special);
            add(Cause::dependence, amount - queued);
            return add_named_pipe(queued, Resource::xu);
        }
        add(Cause::bank_conflicts, amount * loads_.conflicts);
        add(Cause::dependence, amount * (1.0 - loads_.conflicts));
    }

    /// What a pipe wastes, its queue waits for as well; the rest is pressure.
    void add_named_pipe(double amount, Resource resource) {
        const Load& load = loads_.of(resource);
        double left = amount;
        for (const Waste& waste : load.wastes) {
            const double share = amount * waste.seconds / load.seconds;
            add(waste.cause, share);
            left -= share;
        }
        shares_.pipe = name_of(resource);
        add(Cause::pipe_pressure, left);
    }

    void add_pipe(double amount) {
        if (amount <= 0.0) return;
        const Load* busiest = nullptr;
        for (const Load& load : loads_.all) {
            const bool is_pipe = load.resource != Resource::dram && load.resource != Resource::l2 &&
                                 load.resource != Resource::atomic &&
                                 load.resource != Resource::issue;
            if (is_pipe && (busiest == nullptr || load.seconds > busiest->seconds)) busiest = &load;
        }
        add_named_pipe(amount, busiest->resource);
    }

    void add_global_queue(double amount) {
        add(Cause::spills, amount * loads_.local_share);
        const double left = amount * (1.0 - loads_.local_share);
        add(Cause::atomics, left * loads_.atomic_share);
        const double plain = left * (1.0 - loads_.atomic_share);
        add(Cause::uncoalesced, plain * loads_.scattered);
        add(Cause::narrow_accesses, plain * (1.0 - loads_.scattered));
    }

    /// Stores that a block waits for at its end: short blocks, or scattered stores.
    void add_exit(double amount) {
        add(Cause::uncoalesced, amount * loads_.scattered);
        const bool small = residency_.limiter == model::OccupancyLimiter::blocks;
        add(small ? Cause::small_blocks : Cause::memory_latency, amount * (1.0 - loads_.scattered));
    }

    static constexpr double mostly_on = 0.9;
    const Counted& c_;
    const Loads& loads_;
    const Roofs& roofs_;
    Residency residency_;
    LatencyShares shares_;
    double queueing_ = 0.0;  // share of the waiting for memory that is spent in its queues
};

}  // namespace

Residency residency_of(const Counted& counted, const Roofs& roofs) {
    Residency found;
    if (!roofs.limits || counted.registers <= 0) return found;
    const model::Occupancy most =
        model::occupancy({.threads = counted.threads_per_block(),
                          .registers = counted.registers,
                          .shared = static_cast<double>(counted.shared_bytes) * units::B},
                         *roofs.limits);
    if (most.blocks < 1) return found;
    const double warps_per_block =
        static_cast<double>(most.warps) / static_cast<double>(most.blocks);
    const double blocks = std::ceil(static_cast<double>(counted.blocks()) / roofs.multiprocessors);
    found.is_known = true;
    found.possible = static_cast<double>(most.warps);
    found.from_grid = std::min(found.possible, blocks * warps_per_block);
    found.limiter = most.limiter;
    return found;
}

bool has_stall_reasons(const Counted& counted) {
    return std::any_of(stall_reasons.begin(), stall_reasons.end(),
                       [&](const Reason& reason) { return stalled(counted, reason.name) > 0.0; });
}

LatencyShares latency_of(const Counted& counted, const Loads& loads, const Roofs& roofs) {
    return Sharing(counted, loads, roofs).share();
}

}  // namespace ridge::kernel
