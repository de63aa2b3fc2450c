#include "kernel/causes/split.h"

#include <algorithm>
#include <cmath>

#include "hardware/units.h"

namespace ridge::kernel {
namespace {

constexpr double same = 1e-9;  // share of a time below which two are the same

std::string percent(double share) {
    return format_number(100.0 * share, share < 0.1 ? 2 : 3) + " %";
}

std::string whole(double number) {
    return format_number(std::round(number), 6);
}

class Splitter {
  public:
    Splitter(const Counted& counted, const Roofs& roofs)
        : c_(counted), roofs_(roofs), loads_(loads_of(counted, roofs)) {
        split_.measured = counted.measured.base();
        split_.loads = loads_;
        split_.residency = residency_of(counted, roofs);
        constexpr std::size_t most_lines = 10;
        split_.lines = worst_lines(counted.sites, most_lines);
    }

    Split split() {
        left_ = split_.measured;
        take_launch();
        if (is_close()) return close();
        take_imbalance();
        take_latency();
        take_resources();
        take_clock();
        split_.ideal = left_;
        split_.roof = loads_.roof;
        split_.bound = bound();
        finish();
        return split_;
    }

  private:
    /// (eq. KC1)
    void take_launch() {
        busiest_ = 0.0;
        for (const Load& load : loads_.all) busiest_ = std::max(busiest_, load.seconds);
        const double most = std::max(0.0, left_ - busiest_);
        take(Cause::launch, std::min(roofs_.kernel_floor, most));
    }

    /// Whether the kernel meets its roof as nearly as the roofs are known.
    [[nodiscard]] bool is_close() const {
        constexpr double nearly = 0.9;
        return loads_.ideal >= nearly * left_;
    }
    Split close() {
        split_.ideal = std::min(loads_.ideal, left_);
        split_.unexplained = left_ - split_.ideal;
        split_.roof = loads_.roof;
        split_.bound = bound();
        finish();
        return split_;
    }

    /// Multiprocessors that are done while others work. (eq. KC9)
    void take_imbalance() {
        const double mean = c_.first_of({"sm__cycles_active.avg"});
        const double longest = c_.first_of(
            {"sm__cycles_active.max", "sm__cycles_elapsed.max", "sm__cycles_elapsed.avg"});
        if (mean <= 0.0 || longest <= 0.0) return;
        const double even = std::max(left_ * std::min(1.0, mean / longest), busiest_);
        const bool few = static_cast<double>(c_.blocks()) < roofs_.multiprocessors;
        take(few ? Cause::too_few_blocks : Cause::last_wave, std::max(0.0, left_ - even));
    }

    /// What is left beyond the busiest resource. (eq. KC10)
    void take_latency() {
        const double gap = std::max(0.0, left_ - busiest_);
        shares_ = latency_of(c_, loads_, roofs_);
        constexpr double close = 0.9;
        if (busiest_ >= close * left_ || shares_.of.empty()) {
            split_.unexplained += gap;
        } else {
            busy_ = busiest_ / left_;
            for (const auto& [cause, share] : shares_.of) latency_[cause] += gap * share;
            split_.unexplained += gap * shares_.unexplained;
        }
        left_ -= gap;
    }

    /// A resource delays the kernel only while it is busy; the rest of its surplus over the ideal is
    /// waiting too. (eq. KC10)
    void name_parts() {
        named_ = outer_;
        double idle = 0.0;
        for (const auto& [cause, seconds] : resource_) {
            named_[cause] += seconds * busy_;
            idle += seconds * (1.0 - busy_);
        }
        for (const auto& [cause, seconds] : latency_) named_[cause] += seconds;
        for (const auto& [cause, share] : shares_.of) named_[cause] += idle * share;
        split_.unexplained += idle * shares_.unexplained;
    }

    /// From the busiest resource down to the ideal. (eq. KC11)
    void take_resources() {
        std::vector<Load> loads = loads_.all;
        const double ideal = std::min(loads_.ideal, left_);
        // Where the rates are a little too low, everything shrinks alike.
        const double scale =
            busiest_ > ideal && busiest_ > left_ ? (left_ - ideal) / (busiest_ - ideal) : 1.0;
        while (true) {
            double level = 0.0;
            for (const Load& load : loads) level = std::max(level, load.seconds);
            if (level <= ideal * (1.0 + same) + same * split_.measured) break;
            lower(loads, level, ideal, scale);
        }
        left_ = ideal;
        if (pipe_.empty()) pipe_ = shares_.pipe;
    }

    /// Lowers all resources that are as busy as `level`. The time goes to the wastes of the one that
    /// wastes least, because the others would wait for it; without waste it is that one's pressure.
    void lower(std::vector<Load>& loads, double level, double ideal, double scale) {
        const double tied = level - same * split_.measured;
        Load* chosen = nullptr;
        double least = 0.0;
        double second = ideal;
        for (Load& load : loads) {
            if (load.seconds < tied) {
                second = std::max(second, load.seconds);
            } else if (chosen == nullptr || wasted(load) < least) {
                least = wasted(load);
                chosen = &load;
            }
        }
        const bool wastes = least > same * split_.measured;
        const double target = wastes ? std::max(second, level - least) : second;
        const double drop = (level - target) * scale;
        if (!wastes) charge(chosen->pressure, *chosen, drop);
        for (const Waste& waste : chosen->wastes) {
            if (wastes) charge(waste.cause, *chosen, drop * waste.seconds / least);
        }
        for (Load& load : loads) {
            if (load.seconds < tied) continue;
            const double all = wasted(load);
            const double left = all > 0.0 ? std::max(0.0, 1.0 - (level - target) / all) : 0.0;
            for (Waste& waste : load.wastes) waste.seconds *= left;
            load.seconds = target;
        }
    }

    static double wasted(const Load& load) {
        double sum = 0.0;
        for (const Waste& waste : load.wastes) sum += waste.seconds;
        return sum;
    }

    void charge(Cause cause, const Load& load, double seconds) {
        if (seconds <= 0.0) return;
        // Addresses and loop counters of arithmetic at its peak are no fault.
        constexpr double overhead = 0.15;
        const bool compute = loads_.roof == Resource::fma || loads_.roof == Resource::fp64;
        const bool shares_pipe = load.resource == Resource::fma || load.resource == Resource::issue;
        if (cause == Cause::pipe_pressure && compute && shares_pipe &&
            seconds <= overhead * loads_.ideal) {
            split_.unexplained += seconds;
            return;
        }
        resource_[cause] += seconds;
        if (cause == Cause::pipe_pressure && pipe_.empty()) pipe_ = name_of(load.resource);
    }

    /// Arithmetic at a clock that a power or thermal limit holds down. (eq. KC8)
    void take_clock() {
        constexpr double usual = 0.9;
        const double share = roofs_.clock > 0.0 ? loads_.clock / roofs_.clock : 1.0;
        const bool memory = loads_.roof == Resource::dram || loads_.roof == Resource::l2;
        if (!memory && share < usual) take(Cause::clock, left_ * (1.0 - share));
    }

    void take(Cause cause, double seconds) {
        if (seconds <= 0.0) return;
        outer_[cause] += seconds;
        left_ -= seconds;
    }

    /// (eq. KC15)
    [[nodiscard]] std::string bound() const {
        const bool memory = loads_.roof == Resource::dram || loads_.roof == Resource::l2;
        if (memory && !loads_.knows_flop) return {};
        return memory ? "memory" : "compute";
    }

    void finish() {
        name_parts();
        for (const Cause cause : all_causes()) {
            const double seconds = named_[cause];
            if (seconds <= same * split_.measured) continue;
            const double saves = std::clamp(split_.measured - time_without(cause), 0.0,
                                            split_.measured - split_.ideal);
            split_.parts.push_back(
                {cause, seconds, saves, detail(cause), place_of(cause, c_.sites)});
        }
        std::stable_sort(split_.parts.begin(), split_.parts.end(),
                         [](const Part& a, const Part& b) { return a.seconds > b.seconds; });
    }

    /// The kernel's time if one cause were gone. (eq. KC16)
    [[nodiscard]] double time_without(Cause cause) {
        const double imbalance = outer_[Cause::too_few_blocks] + outer_[Cause::last_wave];
        const double launch = outer_[Cause::launch];
        const double body = split_.measured - launch - imbalance;
        if (outer_[cause] > 0.0) {
            const double left = split_.measured - outer_[cause];
            if (cause == Cause::too_few_blocks) return launch + filled(left - launch);
            return latency_[cause] > 0.0 ? left - latency_[cause] : left;
        }
        // Fewer sectors mean less of everything that follows from them.
        const double fewer = cause == Cause::uncoalesced ? 1.0 - loads_.scattered
                             : cause == Cause::spills    ? 1.0 - loads_.local_share
                             : cause == loads_.skips     ? 1.0 - skipped_share()
                                                         : 1.0;
        double resources = split_.ideal;
        for (const auto& [other, seconds] : resource_) {
            if (other == cause) continue;
            // Fewer instructions of a pipe also have fewer lanes that are off.
            const bool follows = cause == Cause::pipe_pressure && other == Cause::divergence;
            resources += follows ? 0.0 : seconds * fewer;
        }
        if (cause == Cause::pipe_pressure) resources = std::max(resources, next_pipe());
        const double busiest = std::max(split_.ideal, busiest_ - resource_[cause]);
        const double shrinks = busiest_ > 0.0 ? std::min(fewer, busiest / busiest_) : fewer;
        // Lanes that work more, or in another type, wait for memory as often.
        const bool as_often = cause == Cause::divergence || cause == Cause::wrong_pipe;
        Waiting left = waiting_without(cause, busiest);
        left.memory *= as_often ? fewer : shrinks;
        left.other *= cause == Cause::divergence ? fewer : shrinks;
        const double latency = left.memory + left.other;
        const double tail = body > 0.0 ? imbalance / body : 0.0;
        return launch + (resources + latency) * (1.0 + tail);
    }

    /// Two times of which the longer hides the other, but for some rounding where they are equal.
    [[nodiscard]] static double either(double a, double b) {
        constexpr double sharpness = 4.0;
        return std::pow(std::pow(a, sharpness) + std::pow(b, sharpness), 1.0 / sharpness);
    }

    /// Blocks for all multiprocessors fill them with warps, too, which hide each other's waiting.
    [[nodiscard]] double filled(double body) const {
        const Residency& held = split_.residency;
        if (!held.is_known || held.possible <= held.from_grid) return body;
        return std::min(body, std::hypot(busiest_, body * held.from_grid / held.possible));
    }

    /// Accesses of which no lane is on count as far as L1 is what the kernel is busy with.
    [[nodiscard]] double skipped_share() const {
        const double use = loads_.of(Resource::l1).seconds;
        return busiest_ > 0.0 ? loads_.skipped * std::min(1.0, use / busiest_) : 0.0;
    }

    /// The work that leaves one pipe leaves the others theirs, as far as the ideal does not hold it.
    [[nodiscard]] double next_pipe() const {
        const auto is_pipe = [](Resource resource) {
            return resource == Resource::fma || resource == Resource::alu ||
                   resource == Resource::xu || resource == Resource::fp64 ||
                   resource == Resource::l1;
        };
        double first = 0.0;
        double second = 0.0;
        for (const Load& load : loads_.all) {
            if (!is_pipe(load.resource)) continue;
            second = std::max(second, std::min(first, load.seconds));
            first = std::max(first, load.seconds);
        }
        return busiest_ > 0.0 ? second * (1.0 - std::min(1.0, split_.ideal / busiest_)) : 0.0;
    }

    struct Waiting {
        double memory = 0.0;  ///< s, what more bytes in flight would shorten
        double other = 0.0;
    };
    /// Bytes in flight that grow by a factor shorten all of the waiting for memory: the larger of
    /// the busiest resource and what Little's law leaves. Chains that are interleaved hide each
    /// other's waiting.
    [[nodiscard]] Waiting waiting_without(Cause cause, double busiest) const {
        const auto gain = shares_.gains.find(cause);
        Waiting left;
        for (const auto& [other, seconds] : latency_) {
            if (shares_.gains.contains(other)) {
                left.memory += seconds;
            } else if (other != cause) {
                left.other += seconds;
            }
        }
        const auto overlapped = [busiest](double waits) {
            return std::max(0.0, either(busiest, waits) - busiest);
        };
        if (gain == shares_.gains.end()) {
            // A warp that does not stop here is done sooner, and no multiprocessor waits for all.
            const auto share = shares_.of.find(cause);
            const double stops = share != shares_.of.end() ? share->second : 0.0;
            if (cause == Cause::dependence) left.memory *= 1.0 - stops;
            const double all = left.memory + left.other;
            const double warp = (busiest_ + all + latency_of_cause(cause)) * (1.0 - stops);
            const double shorter = all > 0.0 ? std::min(1.0, overlapped(warp) / all) : 0.0;
            return {left.memory * shorter, left.other * shorter};
        }
        const double waits = (busiest_ + left.memory) / std::exp2(gain->second);
        return {std::min(left.memory, overlapped(waits)), left.other};
    }

    [[nodiscard]] double latency_of_cause(Cause cause) const {
        const auto found = latency_.find(cause);
        return found != latency_.end() ? found->second : 0.0;
    }

    [[nodiscard]] std::string detail(Cause cause) const {
        switch (cause) {
            case Cause::too_few_blocks:
                return whole(static_cast<double>(c_.blocks())) + " blocks on " +
                       whole(roofs_.multiprocessors) + " multiprocessors";
            case Cause::last_wave:
                return waves();
            case Cause::small_blocks:
                return "blocks of " + whole(static_cast<double>(c_.threads_per_block())) +
                       " threads";
            case Cause::occupancy:
                return resident();
            case Cause::uncoalesced:
                return loads_.scattered < 0.01
                           ? std::string("more cycles of L1 than the bytes need")
                           : "nobody asked for " + percent(loads_.scattered) +
                                 " of the bytes of the sectors";
            case Cause::narrow_accesses:
                return format_number(loads_.bytes_per_access, 2) + " bytes a thread and access";
            case Cause::spills:
                return percent(loads_.local_share) + " of the sectors are of local memory";
            case Cause::bank_conflicts:
                return percent(loads_.conflicts) +
                       " of the wavefronts of shared memory are repeats";
            case Cause::divergence:
                return percent(loads_.lanes_on) + " of the lanes work";
            case Cause::pipe_pressure:
                return pipe_;
            case Cause::memory_latency:
                return shares_.loads_in_flight > 0.0
                           ? "a waiting warp has about " +
                                 format_number(shares_.loads_in_flight, 2) + " in flight"
                           : std::string();
            case Cause::wrong_pipe:
                return "fp64 on values of another type";
            default:
                return {};
        }
    }

    [[nodiscard]] std::string waves() const {
        if (!split_.residency.is_known) return {};
        const double warps = std::ceil(static_cast<double>(c_.threads_per_block()) / 32.0);
        const double a_wave =
            roofs_.multiprocessors * std::max(1.0, std::floor(split_.residency.possible / warps));
        return whole(static_cast<double>(c_.blocks())) + " blocks, " +
               format_number(static_cast<double>(c_.blocks()) / a_wave, 3) + " waves";
    }

    [[nodiscard]] std::string resident() const {
        if (!split_.residency.is_known) return {};
        return whole(split_.residency.possible) + " of " + whole(roofs_.warps) +
               " warps, limited by " + std::string(model::name_of(split_.residency.limiter));
    }

    const Counted& c_;
    const Roofs& roofs_;
    Loads loads_;
    LatencyShares shares_;
    Split split_;
    double left_ = 0.0;
    double busiest_ = 0.0;
    double busy_ = 1.0;  // share of the kernel's time in which the busiest resource works
    std::string pipe_;
    std::map<Cause, double> outer_;
    std::map<Cause, double> resource_;
    std::map<Cause, double> latency_;
    std::map<Cause, double> named_;
};

}  // namespace

const Part* Split::of(Cause cause) const {
    for (const Part& part : parts) {
        if (part.cause == cause) return &part;
    }
    return nullptr;
}

std::optional<Split> split_causes(const Counted& counted, const Roofs& roofs) {
    if (counted.measured <= Time{} || counted.metrics.empty()) return std::nullopt;
    return Splitter(counted, roofs).split();
}

std::vector<std::string> sentences_of(const Split& split, double least) {
    constexpr std::size_t most = 3;
    std::vector<std::string> sentences;
    for (const Part& part : split.parts) {
        if (sentences.size() == most || part.seconds < least * split.measured) break;
        std::string name(name_of(part.cause));
        name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
        const Time takes = Time::from_base(part.seconds);
        const Time after = Time::from_base(split.measured - part.saves);
        sentences.push_back(
            name + ": " + format(takes) + " (" + percent(part.seconds / split.measured) + ")" +
            (part.detail.empty() ? "" : ", " + part.detail) +
            (part.where.empty() ? "" : "; " + part.where) + ". Without it the kernel would take " +
            format(after) + ": " + std::string(remedy_of(part.cause)) + ".");
    }
    return sentences;
}

}  // namespace ridge::kernel
