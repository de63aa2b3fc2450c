#include "programs/traces/nsight_metrics.h"

#include <algorithm>
#include <array>

namespace ridge::programs {
namespace {

constexpr double sector = 32.0;  ///< bytes

void add(double& sum, double value) {
    sum = std::max(sum, 0.0) + value;
}

/// FLOP of one executed thread instruction; zero for another metric. An instruction on halves
/// works on two.
double flop_of_instruction(std::string_view metric) {
    constexpr std::string_view before = "smsp__sass_thread_inst_executed_op_";
    constexpr std::string_view after = "_pred_on.sum";
    if (!metric.starts_with(before) || !metric.ends_with(after)) return 0.0;
    metric.remove_prefix(before.size());
    metric.remove_suffix(after.size());
    if (metric.size() != 4) return 0.0;
    const std::string_view what = metric.substr(1);
    const double each = what == "fma" ? 2.0 : what == "add" || what == "mul" ? 1.0 : 0.0;
    switch (metric.front()) {
        case 'd':
        case 'f':
            return each;
        case 'h':
            return 2.0 * each;
        default:
            return 0.0;
    }
}

}  // namespace

void NsightMetrics::set(std::string_view metric, double value) {
    if (value < 0.0) return;
    keep(metric, value);
    constexpr std::string_view share = ".pct_of_peak_sustained_";
    if (const std::size_t at = metric.find(share); at != metric.npos) {
        set_share(metric.substr(0, metric.find('.')), value / 100.0);
    } else if (metric == "dram__bytes_read.sum") {
        counted_.dram_read_bytes = value;
        any_ = true;
    } else if (metric == "dram__bytes_write.sum") {
        counted_.dram_write_bytes = value;
        any_ = true;
    } else if (metric == "lts__t_sectors_srcunit_tex.sum") {
        counted_.l2_bytes = value * sector;
        any_ = true;
    } else {
        set_flop(metric, value);
    }
}

/// What the cause split reads (kernel/causes), under the profiler's names.
void NsightMetrics::keep(std::string_view metric, double value) {
    constexpr std::array units{std::string_view("sm__"),
                               std::string_view("smsp__"),
                               std::string_view("l1tex__"),
                               std::string_view("lts__"),
                               std::string_view("dram__"),
                               std::string_view("memory_"),
                               std::string_view("gpu__time_duration.sum"),
                               std::string_view("derived__")};
    const bool known = std::any_of(units.begin(), units.end(), [metric](std::string_view unit) {
        return metric.starts_with(unit);
    });
    const bool extreme = metric.find(".min") != metric.npos ||
                         (metric.find(".max.") != metric.npos && !metric.starts_with("lts__d_"));
    constexpr std::size_t most = 4000;
    if (known && !extreme && counted_.metrics.size() < most) {
        counted_.metrics[std::string(metric)] = value;
    }
}

void NsightMetrics::set_flop(std::string_view metric, double value) {
    constexpr std::string_view tensor = "sm__ops_path_tensor_";
    if (metric.starts_with(tensor) && metric.ends_with(".sum")) {
        const bool by_type = metric.substr(tensor.size()).starts_with("src_");
        add(by_type ? tensor_by_type_ : tensor_by_instruction_, value);
        any_ = true;
    } else if (const double flop = flop_of_instruction(metric); flop > 0.0) {
        add(counted_.vector_flop, flop * value);
        any_ = true;
    }
}

void NsightMetrics::set_share(std::string_view unit, double share) {
    if (share > 1.0) share = 1.0;  // rounded, or counted over a longer time than the kernel's
    const auto busiest = [&](double& value) {
        value = std::max(value, share);
        any_ = true;
    };
    if (unit == "sm__warps_active") {
        counted_.occupancy = share;
        any_ = true;
    } else if (unit.starts_with("sm__pipe_tensor") ||
               unit.starts_with("sm__inst_executed_pipe_tensor")) {
        busiest(counted_.tensor_active);
        busiest(counted_.sm_throughput);
    } else if (unit == "sm__throughput" || unit.starts_with("sm__pipe_") ||
               unit.starts_with("sm__inst_executed_pipe_") || unit == "sm__inst_executed" ||
               unit == "sm__inst_issued") {
        busiest(counted_.sm_throughput);
    } else if (unit == "gpu__dram_throughput" || unit == "dram__throughput") {
        busiest(counted_.dram_throughput);
        busiest(counted_.memory_throughput);
    } else if (unit == "gpu__compute_memory_throughput" || unit == "lts__throughput" ||
               unit == "l1tex__throughput") {
        busiest(counted_.memory_throughput);
    }
}

KernelCounters NsightMetrics::counters() const {
    KernelCounters all = counted_;
    all.tensor_flop = tensor_by_type_ >= 0.0 ? tensor_by_type_ : tensor_by_instruction_;
    // A report that counts the instructions of one pipe shows whether there are others.
    if (all.tensor_flop >= 0.0) all.vector_flop = std::max(all.vector_flop, 0.0);
    if (all.vector_flop >= 0.0) all.tensor_flop = std::max(all.tensor_flop, 0.0);
    all.launches = 1;
    return all;
}

}  // namespace ridge::programs
