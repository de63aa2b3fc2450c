// Computes counters from the values of metrics; see counters.h.
#include <algorithm>
#include <optional>

#include "hardware/packed_fma.h"
#include "measure/cuda/counters/counters.h"

namespace ridge::measure::cuda {
namespace {

/// Sums and duration-weighted means of one meaning over all kernels.
class Totals {
  public:
    void add(std::span<const KernelValues> kernels) {
        for (const KernelValues& kernel : kernels) {
            double duration = 1.0;
            for (std::size_t i = 0; i < kernel.values.size(); ++i) {
                if (kernel.metrics[i].meaning == Meaning::duration) duration = kernel.values[i];
            }
            for (std::size_t i = 0; i < kernel.values.size(); ++i) {
                add(kernel.metrics[i], kernel.values[i], duration);
            }
        }
    }

    [[nodiscard]] std::optional<double> of(Meaning meaning) const {
        const auto found = entries_.find(meaning);
        if (found == entries_.end()) return std::nullopt;
        const Entry& entry = found->second;
        return is_sum(meaning) ? entry.sum : entry.sum / std::max(entry.weight, 1e-300);
    }
    [[nodiscard]] double or_zero(Meaning meaning) const { return of(meaning).value_or(0.0); }

  private:
    struct Entry {
        double sum = 0.0;
        double weight = 0.0;
    };

    void add(const Metric& metric, double value, double duration) {
        Entry& entry = entries_[metric.meaning];
        const double weight = is_sum(metric.meaning) ? 1.0 : duration;
        entry.sum += metric.factor * value * weight;
        entry.weight += weight;
    }

    std::map<Meaning, Entry> entries_;
};

template <class Quantity>
std::optional<Quantity> as(const std::optional<double>& value, double factor = 1.0) {
    if (!value) return std::nullopt;
    return Quantity::from_base(*value * factor);
}

constexpr double warp = 32.0;
constexpr double packed_fma = 4.0;  // FLOP of one HFMA2 thread instruction

/// FLOP of packed FP16.
double packed_flop(const Totals& totals) {
    const double all = totals.or_zero(Meaning::packed_fma) / packed_fma;
    const double on_tensor_pipe = warp * totals.or_zero(Meaning::hfma_on_tensor_pipe);
    return packed_fma * packed_arithmetic(all, on_tensor_pipe) +
           totals.or_zero(Meaning::packed_other);
}

std::optional<double> vector_flop(const Totals& totals) {
    const auto scalar = totals.of(Meaning::fma);
    if (!scalar) return std::nullopt;
    return *scalar + packed_flop(totals);
}

std::map<std::string, double> raw_values(std::span<const KernelValues> kernels) {
    std::map<std::string, double> values;
    std::map<std::string, double> counts;
    for (const KernelValues& kernel : kernels) {
        for (std::size_t i = 0; i < kernel.values.size(); ++i) {
            const std::string name(kernel.metrics[i].name);
            values[name] += kernel.values[i];
            counts[name] += is_sum(kernel.metrics[i].meaning) ? 0.0 : 1.0;
        }
    }
    for (auto& [name, value] : values) {
        if (counts[name] > 0.0) value /= counts[name];
    }
    return values;
}

}  // namespace

bool needs_tensor_types(std::span<const KernelValues> kernels) {
    Totals totals;
    totals.add(kernels);
    if (!totals.of(Meaning::hmma_instructions)) return true;
    const double hmma =
        totals.or_zero(Meaning::hmma_instructions) - totals.or_zero(Meaning::hfma_on_tensor_pipe);
    const bool mma_sync = hmma > totals.or_zero(Meaning::gmma_instructions) + 0.5;
    constexpr double busy_percent = 0.1;
    const bool uncounted = totals.or_zero(Meaning::tensor_active) > busy_percent &&
                           totals.or_zero(Meaning::tensor) == 0.0;
    return mma_sync || uncounted;
}

Counters combine(std::span<const KernelValues> kernels) {
    Totals totals;
    totals.add(kernels);
    constexpr double percent = 0.01;
    const auto by_type = totals.of(Meaning::tensor_by_type);
    return {
        .dram_read = as<Bytes>(totals.of(Meaning::dram_read)),
        .dram_write = as<Bytes>(totals.of(Meaning::dram_write)),
        .sm_l2 = as<Bytes>(totals.of(Meaning::sm_l2)),
        .l2 = as<Bytes>(totals.of(Meaning::l2)),
        .shared = as<Bytes>(totals.of(Meaning::shared)),
        .tensor = as<Flop>(by_type ? by_type : totals.of(Meaning::tensor)),
        .fma = as<Flop>(vector_flop(totals)),
        .special = totals.of(Meaning::special),
        .occupancy = as<Quantity<dimensionless>>(totals.of(Meaning::occupancy), percent),
        .tensor_active = as<Quantity<dimensionless>>(totals.of(Meaning::tensor_active), percent),
        .sm_clock = as<Frequency>(totals.of(Meaning::sm_clock)),
        .dram_clock = as<Frequency>(totals.of(Meaning::dram_clock)),
        .metrics = raw_values(kernels)};
}

}  // namespace ridge::measure::cuda
