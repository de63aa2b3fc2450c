#include "model/machine/scaling.h"

#include <algorithm>
#include <cmath>

namespace ridge::model {

Evidence evidence_in(const hardware::Description& gpu, const std::string& path) {
    if (gpu.find(path) == nullptr) return Evidence::foreign;
    switch (gpu.provenance(path)) {
        case hardware::Provenance::measured:
            return Evidence::own;
        case hardware::Provenance::derived:
            return Evidence::family;
        default:
            return Evidence::foreign;
    }
}

double sustained_share(const Consists& gpu) {
    constexpr double at_one = 0.77;  // where the limit is one watt per TFLOP/s
    constexpr double slope = 0.18;
    const double watts = gpu.watts.base() / (gpu.tensor_peak.base() / 1e12);
    return std::clamp(at_one + slope * std::log(watts), 0.3, 1.0);
}

BytesPerCycle store_rate(const Consists& gpu) {
    constexpr double share = 0.86;  // of the DRAM rate
    return gpu.dram * share / (gpu.tensor_clock * gpu.sms);
}

double feed_through_registers(const Consists& gpu) {
    constexpr double share = 0.91;    // of what four warps load, two by two
    constexpr double edge = 2.0;      // edge of a block over that of a warp's part
    constexpr double element = 2.0;   // bytes
    constexpr double shared = 128.0;  // bytes per clock
    const double clocks = gpu.sms * gpu.tensor_clock.base();
    if (clocks <= 0.0) return 0.0;
    const double multiply_adds = gpu.tensor_peak.base() / clocks / 2.0;
    return share * edge * element * multiply_adds / shared;
}

BytesPerCycle l2_stream_rate(BytesPerCycle width) {
    constexpr double share = 0.745;
    return width * share;
}

double powered_share(const Consists& gpu, FlopRate peak, double picojoules) {
    if (gpu.watts <= Power{} || peak <= FlopRate{} || picojoules <= 0.0) return 1.0;
    return std::min(1.0, gpu.watts.base() / (peak.base() * picojoules * 1e-12));
}

}  // namespace ridge::model
