// What the hardware counted: of launches of one kernel, and of the whole GPU over time.
//
//   KernelCounters sum;
//   sum.add(launch);  sum.add(another);
//   sum.mean().dram_bytes();        // of one launch; negative where DRAM was not counted
#pragma once

#include <cstdint>

namespace ridge::programs {

/// Sums over the GPU of one launch, or of several added up; a negative value was not counted.
struct KernelCounters {
    std::int64_t launches = 0;
    std::int64_t passes = 0;
    double duration_ns = -1.0;  ///< while counting, not in the free run
    double dram_read_bytes = -1.0;
    double dram_write_bytes = -1.0;
    double l2_bytes = -1.0;  ///< looked up in L2 for the SMs
    double shared_bytes = -1.0;
    double tensor_flop = -1.0;
    double vector_flop = -1.0;
    double special_results = -1.0;
    double occupancy = -1.0;      ///< share of the warps an SM can hold
    double tensor_active = -1.0;  ///< share of the cycles of the tensor pipe

    /// Adds another launch's; what one of the two lacks is lacking in the sum.
    void add(const KernelCounters& other) {
        const bool first = launches == 0;
        visit(other, [first](double& mine, double theirs) {
            mine = first ? theirs : mine < 0.0 || theirs < 0.0 ? -1.0 : mine + theirs;
        });
        launches += other.launches;
        passes = other.passes;
    }
    /// Per launch.
    [[nodiscard]] KernelCounters mean() const {
        KernelCounters one = *this;
        const auto count = static_cast<double>(launches > 0 ? launches : 1);
        one.visit(*this,
                  [count](double& mine, double sum) { mine = sum < 0.0 ? -1.0 : sum / count; });
        return one;
    }
    [[nodiscard]] double dram_bytes() const {
        const bool counted = dram_read_bytes >= 0.0 && dram_write_bytes >= 0.0;
        return counted ? dram_read_bytes + dram_write_bytes : -1.0;
    }
    [[nodiscard]] double flop() const {
        if (tensor_flop < 0.0 || vector_flop < 0.0) return -1.0;
        return tensor_flop + vector_flop;
    }

  private:
    template <class Visit>
    void visit(const KernelCounters& other, Visit&& each) {
        each(duration_ns, other.duration_ns);
        each(dram_read_bytes, other.dram_read_bytes);
        each(dram_write_bytes, other.dram_write_bytes);
        each(l2_bytes, other.l2_bytes);
        each(shared_bytes, other.shared_bytes);
        each(tensor_flop, other.tensor_flop);
        each(vector_flop, other.vector_flop);
        each(special_results, other.special_results);
        each(occupancy, other.occupancy);
        each(tensor_active, other.tensor_active);
    }
};

/// The whole GPU over a short interval; a negative value was not sampled.
struct DeviceSample {
    std::int64_t device = 0;
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    double dram_read_bytes = -1.0;
    double dram_write_bytes = -1.0;
    double sm_active = -1.0;      ///< share of the SMs with a warp
    double tensor_active = -1.0;  ///< share of the cycles of the tensor pipe
};

}  // namespace ridge::programs
