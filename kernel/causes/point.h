// A kernel that is known only by its figures: FLOP, bytes, launch. What it should take, and with a
// measured time, where the difference may come from.
//
//   const auto answer = answer_for({.flop = 137e9, .dram_bytes = 101e6, .l2_bytes = 1.6e9,
//                                   .blocks = 512, .threads = 256, .registers = 168}, machine, roofs);
//   answer.seconds; answer.limiter          // 185 us, "tensor cores"
//
// Method (equations KP1 to KP4 of docs/kernel.md): FLOP over the peak of their pipe, lengthened by
// the last wave; bytes over the rates of L2 and DRAM; DRAM also over what the resident warps can
// have in flight (Little). The terms join in a 4-norm.
//
// Limits: a roofline with waves and occupancy; nothing is fitted. Two thirds of the DRAM bytes count
// as read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/causes/latency.h"
#include "kernel/causes/roofs.h"
#include "model/core/data_type.h"

namespace ridge::kernel {

enum class PointPipe : std::uint8_t { tensor, vector };

struct KernelPoint {
    double flop = 0.0;
    model::DataType type = model::DataType::fp32;
    PointPipe pipe = PointPipe::vector;
    double dram_bytes = 0.0;
    double l2_bytes = 0.0;
    std::int64_t blocks = 0;  ///< 0: not known; no waves then
    std::int64_t threads = 256;
    std::int64_t registers = 0;
    std::int64_t shared_bytes = 0;
    std::optional<double> measured{};  ///< s
};

struct PointTerm {
    std::string name;
    double seconds = 0.0;
};

struct PointAnswer {
    double seconds = 0.0;
    double low = 0.0;
    double high = 0.0;
    double roofline = 0.0;  ///< s, no run is faster
    std::string bound;      ///< "memory" or "compute"
    std::string limiter;
    std::vector<PointTerm> terms;  ///< the longest first
    Residency residency;
    double waves = 0.0;      ///< 0: not known
    double wave_fill = 1.0;  ///< share of the slots of all waves that hold a block
    /// Parts of a measured time: the roofline, causes, and what is left. They sum to it.
    std::vector<PointTerm> gap;
};

/// Throws InputError for a point without work, or of a type that the pipe does not have.
[[nodiscard]] PointAnswer answer_for(const KernelPoint& point, const model::Machine& machine,
                                     const Roofs& roofs);

}  // namespace ridge::kernel
