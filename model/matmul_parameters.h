// Parameters of the matrix-product model (docs/model.md M7 to M21), read from a GPU description.
//
//   const MatmulCalibration calibration = read_matmul_calibration(description);
//   if (const auto* p = calibration.find(MatmulPipe::tensor)) ... p->k_step ...
//
// A GPU that was fitted has its own values under `model.matmul`; others inherit those of their
// architecture family, and `evidence` says which of the two it is. The 8-bit set takes from the
// 16-bit set whatever it does not have itself, because both run the same kernels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "hardware/description.h"
#include "hardware/quantity.h"

namespace ridge::model {

/// Kernels that share parameters: 16-bit and wider tensor products, 8-bit ones, FMA products.
enum class MatmulPipe : std::uint8_t { tensor, eight_bit, vector };
inline constexpr std::size_t matmul_pipe_count = 3;

/// Whether parameters were fitted to this GPU or come from its architecture family.
enum class Evidence : std::uint8_t { family, own };

struct MatmulParameters {
    Time launch;                  ///< gap in a replayed graph, launch, first block, drain
    Time fill;                    ///< prologue of one block
    Time cold_fill;               ///< more of it when all operands come from DRAM
    Time k_step;                  ///< latency of 128 bytes of k, over the stages in flight
    double issue_fraction = 1.0;  ///< of the peak, main loop of a 128 x 256 tile
    double feed_elements = 0.0;   ///< operand feed of small tiles
    double burst_fraction = 1.0;  ///< of the peak under the power limit, short products
    double sustained_fraction = 1.0;
    Time droop;  ///< product at peak rate after which half of the fall is done
    double dram_fraction = 1.0;
    BytesPerCycle l2_per_sm;
    double multicast = 1.0;  ///< blocks of a cluster that share one operand load
    double resident_fraction = 0.66;
    double resident_sharpness = 8.0;
    BytesPerCycle store_per_sm;
    Time second_kernel;         ///< adds the partial sums of a split k
    double quantisation = 0.0;  ///< 1: whole waves; 0: a library that hides the tail
    Bandwidth gemv_per_sm;      ///< zero: no matrix-vector kernel
    std::array<double, 4> aligned{1.0, 1.0, 1.0, 1.0};  ///< rows at 16, 8, 4, 2 bytes
    Time quantise;  ///< zero: the operands have their type already
    Bandwidth quantise_warm;
    Bandwidth quantise_cold;
    Evidence evidence = Evidence::family;
};

/// Share of the pipe's peak that the main loop of each bundled kernel issues.
struct BundledFractions {
    double naive = 0.0;
    double coalesced = 0.0;
    double tiled = 0.0;
    double register_tiled = 0.0;
    double mma = 0.0;
    double wgmma = 0.0;
};

struct MatmulCalibration {
    std::array<std::optional<MatmulParameters>, matmul_pipe_count> pipes;
    BundledFractions bundled;
    std::optional<Time> stream_launch;  ///< a call from an eager framework, between two events

    [[nodiscard]] const MatmulParameters* find(MatmulPipe pipe) const {
        const auto& found = pipes[static_cast<std::size_t>(pipe)];
        return found ? &*found : nullptr;
    }
};

/// What the description and its family say; empty sets where they say nothing. Where the power
/// fractions are the family's, they are capped by the best rate that a library was seen to reach
/// on this GPU (`measured.gemm`).
[[nodiscard]] MatmulCalibration read_matmul_calibration(const hardware::Description& description);

}  // namespace ridge::model
