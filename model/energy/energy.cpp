#include "model/energy/energy.h"

#include <algorithm>
#include <cmath>

namespace ridge::model {
namespace {

constexpr double picojoule = 1e-12;

const TensorEnergy& tensor_energy(const EnergyParameters& p, DataType type) {
    if (type == DataType::int8) return p.whole;
    const std::int64_t bits = bits_of(type);
    if (type == DataType::tf32 || bits >= 32) return p.wide;
    if (bits >= 16) return p.half;
    return bits >= 8 ? p.byte : p.four;
}

/// Clocks of integers and of 4 bits are taken from those of fp8; fp64 keeps the highest clock.
TensorEnergy tensor_clock_of(const EnergyParameters& p, DataType type) {
    if (bits_of(type) > 32) return {};
    const bool small = type == DataType::int8 || bits_of(type) < 16;
    return small ? p.byte : tensor_energy(p, type);
}

DataEnergy share_of(const EnergyParameters& p, DataPattern data) {
    if (data == DataPattern::zeros) return p.zeros;
    return data == DataPattern::constant ? p.constant : DataEnergy{};
}

Time term_of(const Prediction& prediction, Resource resource) {
    Time time;
    for (const Term& term : prediction.terms) {
        if (term.resource == resource) time += term.time;
    }
    return std::min(time, prediction.time);
}

double amount_of(const Prediction& prediction, Resource resource) {
    double amount = 0.0;
    for (const Term& term : prediction.terms) {
        if (term.resource == resource) amount += term.amount;
    }
    return amount;
}

constexpr double fourth(double value) {
    const double square = value * value;
    return square * square;
}

/// How the time follows the clock: launches and links do not, DRAM does not, the chip does. (eq. EN4)
struct ClockTime {
    double fixed = 0.0;
    double memory = 0.0;
    double chip = 0.0;

    /// Seconds at `slower` times the period of the clock at which the parts are stated.
    [[nodiscard]] double at(double slower) const {
        const double together = fourth(memory) + fourth(chip * slower);
        return fixed + std::sqrt(std::sqrt(together));
    }
};

ClockTime clock_time(const Prediction& p) {
    ClockTime time;
    for (const Term& term : p.terms) {
        const double seconds = term.time.base();
        switch (term.resource) {
            case Resource::launch:
            case Resource::link:
                time.fixed += seconds;
                break;
            case Resource::dram:
                time.memory = std::max(time.memory, seconds);
                break;
            default:
                time.chip = std::max(time.chip, seconds);
                break;
        }
    }
    time.fixed = std::min(time.fixed, p.time.base());
    const double rest = p.time.base() - time.fixed;
    const double told = time.at(1.0) - time.fixed;
    const double scale = told > 0.0 ? rest / told : 0.0;
    time.memory *= scale;
    time.chip = told > 0.0 ? time.chip * scale : rest;
    return time;
}

/// The pipe of tensor cores that multiplies a type; null if its rates are not known.
const MatmulParameters* pipe_of(const Machine& machine, DataType type) {
    const MatmulCalibration& all = machine.matmul;
    if (type == DataType::tf32) return all.find(MatmulPipe::tf32);
    const std::int64_t bits = bits_of(type);
    if (bits > 16) return nullptr;
    return all.find(bits == 16  ? MatmulPipe::tensor
                    : bits == 8 ? MatmulPipe::eight_bit
                                : MatmulPipe::four_bit);
}

/// The clock of a short run falls with its length, from that of the shortest products, as the rate
/// of the tensor cores that the power limit leaves does. (eq. EN4)
double droop_of(const Prediction& prediction, DataType type, const Machine& machine) {
    const MatmulParameters* const pipe = pipe_of(machine, type);
    const auto* const limited = noted<note::PowerLimited>(prediction);
    if (pipe == nullptr || limited == nullptr) return 1.0;
    return std::min(1.0, limited->share / pipe->burst_fraction);
}

/// The operation at any clock.
class Steady {
  public:
    Steady(const Prediction& prediction, DataType type, const Machine& machine,
           const EnergyConditions& conditions)
        : p_(*machine.energy),
          parts_(energy_parts(prediction, type, p_, conditions.data)),
          time_(clock_time(prediction)) {
        if (conditions.celsius) {  // leakage (eq. EN1)
            parts_.always += p_.idle * (p_.leakage * (*conditions.celsius - p_.temperature));
        }
        const TensorEnergy tensor = tensor_clock_of(p_, type);
        burst_ = (1.0 - tensor.burst * parts_.loaded) * droop_of(prediction, type, machine);
        ceiling_ = 1.0 - tensor.ceiling * parts_.loaded;
    }

    /// Highest clock that the tensor cores allow, over boost. (eq. EN5)
    [[nodiscard]] double ceiling() const { return ceiling_; }
    [[nodiscard]] double slowest() const { return std::min(p_.slowest, ceiling_); }

    [[nodiscard]] double period(double clock) const {
        return time_.at(burst_ / clock) + p_.gap.base();
    }
    [[nodiscard]] Power power_at(double clock) const {
        const double energy =
            parts_.chip.base() * std::pow(clock / ceiling_, p_.exponent) + parts_.memory.base();
        return parts_.always + Power::from_base(energy / period(clock));
    }
    /// The highest clock up to `most` that keeps the limit, by the Illinois rule. (eq. EN6)
    [[nodiscard]] double settled(double most, Power limit) const {
        const auto excess = [&](double clock) { return (power_at(clock) - limit).base(); };
        double high = most;
        double over = excess(high);
        if (over <= 0.0) return most;
        double low = std::min(slowest(), most);
        double under = excess(low);
        if (under >= 0.0) return low;
        constexpr double near = 1e-3;  // W
        constexpr int steps = 30;
        double clock = low;
        bool above = false;
        for (int i = 0; i < steps; ++i) {
            clock = (low * over - high * under) / (over - under);
            const double found = excess(clock);
            if (std::abs(found) < near) break;
            if (found > 0.0) {
                high = clock;
                over = found;
                if (above) under *= 0.5;
                above = true;
            } else {
                low = clock;
                under = found;
                if (!above && i > 0) over *= 0.5;
                above = false;
            }
        }
        return clock;
    }

  private:
    const EnergyParameters& p_;
    EnergyParts parts_;
    ClockTime time_;
    double burst_ = 1.0;
    double ceiling_ = 1.0;
};

double half_width(const EnergyParameters& p, bool asked) {
    double width = p.band_foreign;
    if (p.evidence == Evidence::own) width = p.band;
    if (p.evidence == Evidence::family) width = p.band_related;
    return asked ? std::max(width, p.band_foreign) : width;
}

/// The band of the power, and with that of the time the band of the energy. (eq. EN7)
void set_bands(EnergyEstimate& e, const Prediction& prediction, double width, Power most) {
    e.power_low = e.idle + (e.power - e.idle) * (1.0 / (1.0 + width));
    e.power_high = std::max(e.power, std::min(most, e.power * (1.0 + width)));
    const double under = 1.0 - prediction.low / prediction.time;
    const double over = prediction.high / prediction.time - 1.0;
    const double less = 1.0 - e.power_low / e.power;
    const double more = e.power_high / e.power - 1.0;
    e.energy_low = e.energy * (1.0 - std::min(1.0, std::hypot(under, less)));
    e.energy_high = e.energy * (1.0 + std::hypot(over, more));
}

/// Energy of a vector FLOP over that of 32 bits.
double width_of(DataType type) {
    constexpr double usual_bits = 32.0;
    return std::max(1.0, static_cast<double>(bits_of(type)) / usual_bits);
}

/// A multiprocessor without a block takes half of what one takes that works. (eq. EN3)
double share_with_blocks(const Tiling& tiling) {
    constexpr double without = 0.5;
    return tiling.tiles > 0 ? without + (1.0 - without) * std::min(1.0, tiling.wave_efficiency)
                            : 1.0;
}

/// Energy of multiprocessors that feed their pipes, issue instructions or wait. An operation of many
/// kernels issues where no term says what it does. (eq. EN3)
Energy active_energy(const Prediction& prediction, const EnergyParameters& p, double of_data) {
    constexpr std::int32_t many_kernels = 8;
    const Time tensor = term_of(prediction, Resource::tensor);
    const Time fma = term_of(prediction, Resource::fma);
    const Time issue = term_of(prediction, Resource::issue);
    const Time busy =
        std::max(std::max(tensor, fma), std::max(issue, term_of(prediction, Resource::special)));
    const Time waiting = std::max(Time{}, term_of(prediction, Resource::latency) - busy);
    Energy energy = of_data * share_with_blocks(prediction.tiling) *
                        (p.tensor_active * tensor + p.fma_active * fma + p.waiting * waiting) +
                    p.issue_active * issue;
    if (prediction.work.kernels >= many_kernels) {
        const Time told = busy + waiting + term_of(prediction, Resource::launch);
        energy += p.issue_active * std::max(Time{}, prediction.time - told);
    }
    return energy;
}

}  // namespace

EnergyParts energy_parts(const Prediction& prediction, DataType type, const EnergyParameters& p,
                         DataPattern data) {
    const DataEnergy of_data = share_of(p, data);
    const Work& work = prediction.work;
    const bool tensor = work.tensor > Flop{};
    const double l2 = tensor ? p.operands : p.l2;
    const double chip =
        work.tensor.base() * tensor_energy(p, type).flop * width_of(type) * of_data.tensor +
        work.fma.base() * p.fma * width_of(type) * of_data.vector + work.special * p.special +
        work.l2.base() * l2 * of_data.bytes;
    const double memory = work.dram().base() * p.dram * of_data.bytes +
                          amount_of(prediction, Resource::link) * p.link;
    EnergyParts parts;
    parts.always = p.idle + p.running;
    parts.chip = Energy::from_base(picojoule * chip) + active_energy(prediction, p, of_data.active);
    parts.memory = Energy::from_base(picojoule * memory);
    const double most = (prediction.peak * prediction.time).base();
    if (tensor && most > 0.0) parts.loaded = std::min(1.0, work.tensor.base() / most);
    return parts;
}

std::optional<EnergyEstimate> energy_of(const Prediction& prediction, DataType type,
                                        const Machine& machine,
                                        const EnergyConditions& conditions) {
    if (!machine.energy || prediction.time <= Time{}) return std::nullopt;
    const EnergyParameters& p = *machine.energy;
    const Power own = machine.power_limit * p.regulated;
    const Power limit = conditions.limit ? std::min(own, *conditions.limit * p.regulated) : own;
    const Steady steady(prediction, type, machine, conditions);
    const double asked =
        conditions.clock ? *conditions.clock / machine.boost_clock : steady.ceiling();
    const double most = std::min(steady.ceiling(), asked);
    const double clock = steady.settled(most, limit);
    EnergyEstimate e;
    e.idle = p.idle;
    e.clock = clock * machine.boost_clock;
    e.period = Time::from_base(steady.period(clock));
    e.power = std::min(steady.power_at(clock), std::max(limit, steady.power_at(steady.slowest())));
    e.energy = e.power * e.period;
    e.evidence = chip_evidence(p.evidence);
    e.asked_conditions = conditions.limit.has_value() || conditions.clock.has_value();
    if (clock < most) {
        e.limit = ClockLimit::power;
    } else if (conditions.clock && asked < steady.ceiling()) {
        e.limit = ClockLimit::asked;
    } else if (steady.ceiling() < 1.0) {
        e.limit = ClockLimit::current;
    }
    set_bands(e, prediction, half_width(p, e.asked_conditions), std::max(limit, e.power));
    return e;
}

}  // namespace ridge::model
