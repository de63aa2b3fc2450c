#include "programs/report/row_causes.h"

#include "programs/traces/timeline.h"

namespace ridge::programs {

namespace {

std::vector<kernel::StallSite> sites_of(const std::vector<StallSample>& samples) {
    std::vector<kernel::StallSite> sites;
    sites.reserve(samples.size());
    for (const StallSample& each : samples) {
        sites.push_back({.file = each.file,
                         .line = each.line,
                         .address = each.address,
                         .samples = each.samples});
    }
    return sites;
}

}  // namespace

RowCauses::RowCauses(const model::Machine& machine) : roofs_(kernel::roofs_of(machine)) {}

void RowCauses::start(std::size_t row, const Trace& trace, const Kernel& kernel) {
    const KernelCounters& counters = trace.counters[static_cast<std::size_t>(kernel.counters)];
    if (!roofs_ || counters.metrics.empty()) return;
    rows_[row] = {.of = {.grid = kernel.grid,
                         .block = kernel.block,
                         .registers = kernel.registers,
                         .shared_bytes = kernel.shared_bytes,
                         .metrics = counters.metrics,
                         .sites = sites_of(counters.stalls)},
                  .counters = kernel.counters};
}

void RowCauses::add(std::size_t row, const Trace& trace, std::span<const std::int32_t> kernels) {
    const auto found = rows_.find(row);
    if (found == rows_.end()) return;
    for (const std::int32_t index : kernels) {
        const Kernel& kernel = trace.kernels[static_cast<std::size_t>(index)];
        if (kernel.counters != found->second.counters) continue;
        found->second.nanoseconds += kernel.duration_ns;
        ++found->second.launches;
    }
}

std::optional<kernel::Split> RowCauses::split(std::size_t row) const {
    const auto found = rows_.find(row);
    if (found == rows_.end() || found->second.launches < 1) return std::nullopt;
    kernel::Counted counted = found->second.of;
    if (!has_stall_reasons(counted)) add_sampled_reasons(counted.metrics, counted.sites);
    if (!has_stall_reasons(counted)) return std::nullopt;
    counted.measured = time_of(found->second.nanoseconds / found->second.launches);
    return kernel::split_causes(counted, *roofs_);
}

}  // namespace ridge::programs
