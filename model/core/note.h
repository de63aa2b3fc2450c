// Remarks on a prediction that a reader should know. Each is a small value with its numbers.
//
//   prediction.note(note::SplitK{.parts = 4});
//   if (noted<note::Extrapolated>(prediction)) ...          // prediction.h
//
// `describe` (explain.h) puts them into words.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "hardware/quantity.h"
#include "model/core/implementation.h"
#include "model/core/software_choice.h"

namespace ridge::model {

namespace note {

/// The time is the roofline plus launch latency; no calibrated model was used.
struct RooflineOnly {};

/// The efficiencies come from the architecture family.
struct Uncalibrated {};

/// The question lies outside the validated range.
struct Extrapolated {};

/// The working set stays in L2.
struct L2Resident {
    Bytes data;
    Bytes capacity;
};

/// A leading dimension is not a multiple of 16 bytes.
struct AlignmentCliff {
    std::int64_t bytes = 0;
    double issue_share = 1.0;  ///< share of the issue rate, if that is an estimate
};

/// No tensor core takes the type; it runs on the vector pipe.
struct VectorPipe {};

/// Whole blocks are computed on the diagonal of a causal mask.
struct CausalBlocks {
    double executed = 1.0;  ///< over the exact work
};

/// The traffic includes atomic accumulation in L2.
struct Atomics {};

/// The keys are split over thread blocks.
struct SplitKeys {
    std::int64_t parts = 1;
};

/// Rows are read in whole sectors, not all of whose bytes are useful.
struct SparseGather {
    double useful = 1.0;  ///< share of the bytes read
};

/// PCIe limits the time, from and to the host's memory.
struct HostLink {};

/// Not all GPUs are linked, so they exchange data over PCIe.
struct NoLinks {};

/// k is split over thread blocks.
struct SplitK {
    std::int64_t parts = 1;
};

/// The power limit lowers the clock.
struct PowerLimited {
    double share = 1.0;  ///< share of the peak rate that is left
};

/// A separate kernel quantises A first.
struct QuantisedInput {
    Time time;
};

/// The graph is replayed over several weights in turn.
struct RotatedWeights {
    std::int64_t weights = 1;
};

/// A warp's request touches sectors of which it needs only part of the bytes.
struct WholeSectors {
    double sectors = 1.0;  ///< of one request
    double useful = 1.0;   ///< share of the sectors' bytes that the kernel asked for
};

/// DRAM moves more bytes than those sectors hold.
struct WholeBursts {
    double useful = 1.0;  ///< share of DRAM's bytes that the kernel asked for
};

/// A warp instruction is issued several times, or its banks are read several times.
struct Serialised {
    double passes = 1.0;
};

/// The footprint exceeds the device memory.
struct DoesNotFit {
    Bytes needed;
    Bytes capacity;
};

/// flash2 neither folds queries nor splits keys here, and leaves multiprocessors idle.
struct UnsplitKeys {
    std::int64_t blocks = 0;
    std::int64_t sm_count = 0;
};

/// The kernel's efficiency is an estimate, not a measurement.
struct EstimatedKernel {};

/// The time of the library's product among the generated kernels around it.
struct ProductAlone {
    Time time;
};

/// The time of a generated kernel over a product's result.
struct PointwiseAfter {
    Time time;
};

/// The time of a kernel that spreads a bias over the rows of the result before the product adds to
/// it.
struct BiasSpread {
    Time time;
};

/// The time of kernels that copy a product's operands to rows of whole vectors.
struct PaddedOperands {
    Time time;
};

/// The software that was asked for has no kernels of its own for the operation, and runs those of
/// other software that it uses.
struct OtherSoftware {
    SoftwareChoice asked;
    SoftwareChoice used;
};

/// How many warps a multiprocessor holds, of how many, and why not more.
struct ResidentWarps {
    double warps = 0.0;
    double most = 0.0;
    std::string_view limiter{};
};

/// The parameters were fitted to another version of the software.
struct OtherVersion {
    SoftwareChoice asked;
    SoftwareChoice fitted;
};

/// The kernel of an engine whose time it is.
struct EngineKernel {
    KernelChoice kernel;
};

/// The implementation that the software picks for this shape.
struct PickedImplementation {
    SoftwareChoice software;
    Implementation implementation = Implementation::automatic;
};

/// The host takes longer over an eager call than the GPU, which would need `kernels` in a graph.
struct HostBound {
    Time kernels;
};

}  // namespace note

using Note =
    std::variant<note::RooflineOnly, note::Uncalibrated, note::Extrapolated, note::L2Resident,
                 note::AlignmentCliff, note::VectorPipe, note::CausalBlocks, note::Atomics,
                 note::SplitKeys, note::SparseGather, note::HostLink, note::NoLinks, note::SplitK,
                 note::PowerLimited, note::QuantisedInput, note::RotatedWeights, note::WholeSectors,
                 note::WholeBursts, note::Serialised, note::DoesNotFit, note::UnsplitKeys,
                 note::EstimatedKernel, note::ProductAlone, note::PointwiseAfter, note::BiasSpread,
                 note::PaddedOperands, note::OtherSoftware, note::OtherVersion, note::EngineKernel,
                 note::PickedImplementation, note::HostBound, note::ResidentWarps>;

}  // namespace ridge::model
