// Parameters of the matrix-product model (docs/model.md M7 to M23), read from a GPU description.
//
//   const MatmulCalibration calibration = read_matmul_calibration(description);
//   if (const auto* p = calibration.find(MatmulPipe::tensor)) ... p->k_step ...
//
// A GPU that was fitted has its own values under `model.matmul`. Others inherit those of their
// architecture, and `evidence` says where those come from. The 8-bit, tf32 and misaligned sets take
// what they do not state from the 16-bit set.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/machine/evidence.h"
#include "model/machine/parameter.h"
#include "model/machine/scaling.h"

namespace ridge::model {

/// Kernels that share parameters: 16-bit tensor products, 8-bit ones, FMA products, tf32, nvfp4,
/// and the kernels to which the library falls back for 16-bit operands whose rows are not multiples
/// of 16 bytes. These copy 4 bytes at a time (rows at 8 or 4 bytes) or 2 (rows at 2 bytes).
enum class MatmulPipe : std::uint8_t {
    tensor,
    eight_bit,
    vector,
    tf32,
    align_4,
    align_2,
    four_bit
};
inline constexpr std::size_t matmul_pipe_count = 7;

struct MatmulParameters {
    Time launch;                  ///< gap in a replayed graph, launch, first block, drain
    Time cold_fill;               ///< additional prologue when all operands come from DRAM
    Time k_step;                  ///< latency of 128 bytes of k, divided by the stages in flight
    double issue_fraction = 1.0;  ///< share of the peak in the main loop of a 128 x 256 tile
    double feed_elements = 0.0;   ///< operand feed of small tiles
    double burst_fraction = 1.0;  ///< share of the peak under the power limit, short products
    double sustained_fraction = 1.0;
    Time droop;  ///< length of a product, at peak rate, at which the clock has fallen half way
    double dram_fraction = 1.0;
    BytesPerCycle l2_per_sm;
    double multicast = 1.0;  ///< blocks of a cluster that share one operand load
    double straddle = 0.0;   ///< additional lines for a line of a row that starts between lines
    BytesPerCycle store_per_sm;
    Time second_kernel;         ///< adds the partial sums of a split k
    double quantisation = 0.0;  ///< 1: whole waves; 0: a library that hides the tail
    Bandwidth gemv_per_sm;      ///< zero: no matrix-vector kernel
    std::array<double, 4> aligned{1.0, 1.0, 1.0, 1.0};  ///< rows at 16, 8, 4, 2 bytes
    Time quantise;  ///< zero: the operands already have their type
    Bandwidth quantise_warm;
    Bandwidth quantise_cold;
    double energy = 0.0;  ///< pJ per FLOP at full load; zero: unknown
    Evidence evidence = Evidence::foreign;
    // Quantities to which the units of the fields refer.
    Frequency clock;
    double sms = 0.0;
    Bandwidth dram;

    /// Cycles of all multiprocessors per second.
    [[nodiscard]] Frequency sm_clocks() const { return clock * sms; }
};

/// One bundled kernel (M21). A step is one slice of the kernel's depth along k.
struct BundledMatmul {
    Time launch;                  ///< start and end of the kernel; zero: those of an empty one
    Time start;                   ///< time until all multiprocessors have their first operands
    Time fill;                    ///< of one round of blocks: prologue and epilogue
    Time cold_fill;               ///< additional time of the first when all operands come from DRAM
    Time step;                    ///< latency of a step of a block alone, with operands in L2
    Time step_miss;               ///< additional time of a step when the operands come from DRAM
    Time step_unaligned;          ///< additional time of a step when only one operand is read by
                                  ///< elements
    Time fill_unaligned;          ///< additional time of `fill` when C is stored by elements
    double issue_fraction = 1.0;  ///< share of the limiting pipe on a full multiprocessor
    BytesPerCycle store_per_sm;   ///< epilogue; zero: hidden or negligible
    BytesPerCycle feed_per_sm;    ///< operands from L2 by the copy engine; zero: never binds
    Evidence evidence = Evidence::foreign;
    Frequency clock{};  ///< clock to which the fields in clocks refer
};

struct BundledMatmuls {
    std::optional<BundledMatmul> naive;  ///< also coalesced: only their loads differ
    std::optional<BundledMatmul> tiled, register_tiled, mma, wgmma;
};

struct MatmulCalibration {
    std::array<std::optional<MatmulParameters>, matmul_pipe_count> pipes;
    BundledMatmuls bundled;
    Time stream_launch;  ///< a call from an eager framework, between two events; zero: unknown

    [[nodiscard]] const MatmulParameters* find(MatmulPipe pipe) const {
        const auto& found = pipes[static_cast<std::size_t>(pipe)];
        return found ? &*found : nullptr;
    }
};

/// tensor, fp8, fma, tf32, align_4, align_2 and fp4, in the order of MatmulPipe.
[[nodiscard]] std::span<const Section<MatmulParameters>> matmul_sections();
/// naive, tiled, register_tiled, mma and wgmma.
[[nodiscard]] std::span<const Section<BundledMatmul>> bundled_matmul_sections();
/// The section of the time that the host of a call adds.
[[nodiscard]] std::span<const Section<MatmulCalibration>> matmul_call_sections();

/// The values of the description and its family; empty sets if they state none. Power fractions
/// that come from the family are capped by the best rate that a library was seen to reach on this
/// GPU (`measured.gemm`).
[[nodiscard]] MatmulCalibration read_matmul_calibration(const hardware::Description& description,
                                                        const Consists& gpu);

}  // namespace ridge::model
