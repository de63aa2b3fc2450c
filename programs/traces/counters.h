// Hardware counters: for one launch of a kernel (counter_sums.h), and for the whole GPU over time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ridge::programs {

/// Samples of the warps that stood at one instruction, by what they waited for.
struct StallSample {
    std::string file{};  ///< empty without line information
    std::int64_t line = 0;
    std::uint64_t address = 0;  ///< from the start of the kernel's code
    std::map<std::string, double> samples{};
};

/// Sums over the GPU, as the mean of the counted launches; a negative value was not counted.
struct KernelCounters {
    std::int64_t launches = 0;  ///< launches counted with one set of counters
    std::int64_t passes = 0;    ///< of all sets
    double duration_ns = -1.0;  ///< during counting, not in a normal run
    double dram_read_bytes = -1.0;
    double dram_write_bytes = -1.0;
    double l2_bytes = -1.0;  ///< looked up in L2 for the SMs
    double shared_bytes = -1.0;
    double tensor_flop = -1.0;
    double vector_flop = -1.0;
    double special_results = -1.0;
    double occupancy = -1.0;      ///< share of the warps that an SM can hold
    double tensor_active = -1.0;  ///< share of cycles in which the tensor pipe is active
    /// Shares of the peaks of the busiest unit of the SMs, of the memory system, and of the DRAM.
    double sm_throughput = -1.0;
    double memory_throughput = -1.0;
    double dram_throughput = -1.0;

    /// Everything that was counted, by the profiler's names; see kernel/causes.
    std::map<std::string, double> metrics{};
    std::vector<StallSample> stalls{};  ///< of all launches

    [[nodiscard]] double dram_bytes() const {
        const bool counted = dram_read_bytes >= 0.0 && dram_write_bytes >= 0.0;
        return counted ? dram_read_bytes + dram_write_bytes : -1.0;
    }
    [[nodiscard]] double flop() const {
        if (tensor_flop < 0.0 || vector_flop < 0.0) return -1.0;
        return tensor_flop + vector_flop;
    }
};

/// The whole GPU over a short interval; a negative value was not sampled.
struct DeviceSample {
    std::int64_t device = 0;
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    double dram_read_bytes = -1.0;
    double dram_write_bytes = -1.0;
    double sm_active = -1.0;      ///< share of SMs with a resident warp
    double tensor_active = -1.0;  ///< share of cycles in which the tensor pipe is active
};

}  // namespace ridge::programs
