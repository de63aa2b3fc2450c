// Remarks on a prediction that a reader should know, each a small value with the numbers it is about.
//
//   prediction.note(note::SplitK{.parts = 4});
//   if (noted<note::Extrapolated>(prediction)) ...          // prediction.h
//
// `describe` (explain.h) words them.
#pragma once

#include <cstdint>
#include <variant>

#include "hardware/quantity.h"

namespace ridge::model {

namespace note {

/// The time is the roofline plus launch latency; nothing calibrated was used.
struct RooflineOnly {};

/// Efficiencies come from the architecture family.
struct Uncalibrated {};

/// Outside the validated range.
struct Extrapolated {};

/// The working set stays in L2.
struct L2Resident {
    Bytes data;
    Bytes capacity;
};

/// A leading dimension is not a multiple of 16 bytes.
struct AlignmentCliff {
    std::int64_t bytes = 0;
    double issue_share = 1.0;  ///< of the issue rate, where that is an estimate
};

/// No tensor core for the type: runs on the vector pipe.
struct VectorPipe {};

/// Whole blocks are computed on the diagonal of a causal mask.
struct CausalBlocks {
    double executed = 1.0;  ///< of the exact work
};

/// The traffic includes atomic accumulation in L2.
struct Atomics {};

/// Keys are split over thread blocks.
struct SplitKeys {
    std::int64_t parts = 1;
};

/// Rows are read in whole sectors.
struct SparseGather {
    double useful = 1.0;  ///< share of the bytes read
};

/// Limited by PCIe, from and to the host's memory.
struct HostLink {};

/// Not all GPUs are linked: they exchange data over PCIe.
struct NoLinks {};

/// k is split over thread blocks.
struct SplitK {
    std::int64_t parts = 1;
};

/// The clock falls under the power limit.
struct PowerLimited {
    double share = 1.0;  ///< of the peak rate that is left
};

/// A is quantised first, by a kernel of its own.
struct QuantisedInput {
    Time time;
};

/// A graph is replayed over several weights in turn.
struct RotatedWeights {
    std::int64_t weights = 1;
};

/// A warp's request touches sectors of which it needs only some bytes.
struct WholeSectors {
    double sectors = 1.0;  ///< of one request
    double useful = 1.0;   ///< share of their bytes asked for
};

/// DRAM moves more than those sectors.
struct WholeBursts {
    double useful = 1.0;  ///< share of its bytes asked for
};

/// A warp instruction is issued, or its banks are read, several times.
struct Serialised {
    double passes = 1.0;
};

/// The footprint exceeds the device memory.
struct DoesNotFit {
    Bytes needed;
    Bytes capacity;
};

/// flash2 neither folds nor splits, and leaves multiprocessors idle.
struct UnsplitKeys {
    std::int64_t blocks = 0;
    std::int64_t sm_count = 0;
};

/// The kernel's efficiency is an estimate, not a measurement.
struct EstimatedKernel {};

/// Of a product and generated kernels around it: the library's product.
struct ProductAlone {
    Time time;
};

/// A generated kernel over a product's result.
struct PointwiseAfter {
    Time time;
};

/// A kernel that spreads a bias over the rows of a result, before the product adds to it.
struct BiasSpread {
    Time time;
};

/// Kernels that copy a product's operands to rows of whole vectors.
struct PaddedOperands {
    Time time;
};

}  // namespace note

using Note =
    std::variant<note::RooflineOnly, note::Uncalibrated, note::Extrapolated, note::L2Resident,
                 note::AlignmentCliff, note::VectorPipe, note::CausalBlocks, note::Atomics,
                 note::SplitKeys, note::SparseGather, note::HostLink, note::NoLinks, note::SplitK,
                 note::PowerLimited, note::QuantisedInput, note::RotatedWeights, note::WholeSectors,
                 note::WholeBursts, note::Serialised, note::DoesNotFit, note::UnsplitKeys,
                 note::EstimatedKernel, note::ProductAlone, note::PointwiseAfter, note::BiasSpread,
                 note::PaddedOperands>;

}  // namespace ridge::model
