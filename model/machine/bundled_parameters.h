// Properties of the bundled kernels' compiled code, from hardware counters and the compiler. They
// are the same on every GPU: `model.bundled.*` of software/ridge-0.1/software.toml.
//
//   machine.bundled.product.single_stores   // sectors written for a sector of C stored by elements
//
// The costs in time are in `model.bundled.code` (`memory_parameters.h`). Limits: if a description
// does not have these fields, stores cost their bytes and registers never limit what is resident.
#pragma once

#include <span>
#include <tuple>

#include "hardware/quantity.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// Sectors of streams, rows and accesses: `model.bundled.sectors`.
struct BundledSectors {
    // Shares of a common sector that stores which meet in it write twice.
    double apart = 1.0;     ///< stores of different warps, or at different times
    double unrolled = 1.0;  ///< four consecutive stores of one warp
    // Sectors written per sector of the tiled transpose: vectors that do not meet their neighbour
    // on the way.
    double tile = 1.0;
    double tile_uneven = 1.0;         ///< when rows of the result are not whole KiB apart
    double narrow_tile = 1.0;         ///< elements of two bytes
    double narrow_tile_uneven = 1.0;  ///< the same when rows are not whole KiB apart
    double tile_inside = 1.0;         ///< additional factor when rows begin inside a sector
    double table = 1.0;               ///< share of the L1 that keeps rows of a gather's table
    double chase = 1.0;               ///< steepness with which a chase loses its hits in the L1
    Bytes skipped{};                  ///< longest distance between words over which DRAM skips
};

/// Registers of a thread, which limit the resident blocks: `model.bundled.registers`.
struct BundledRegisters {
    double sum = 0.0;          ///< rows of vectors summed by warps
    double held = 0.0;         ///< a row held, beside its elements
    double held_bias = 0.0;    ///< additional registers with weights and a bias
    double exponential = 0.0;  ///< exponentials of vectors of two-byte elements
    double gather = 0.0;       ///< gather of vectors
};

/// Sectors, registers and loads of the products: `model.bundled.product`.
struct BundledProductCounts {
    double single_stores = 1.0;  ///< sectors written per sector of C stored by elements
    double joined_stores = 1.0;  ///< the same for naive when rows are whole groups of 8
    double pair_stores = 1.0;    ///< the same for stores of 4 bytes (mma)
    double spilled = 0.0;        ///< registers that a thread of register_tiled spills
    double in_step = 0.0;        ///< factor on the operands read again because blocks of the tensor
                                 ///< kernels drift
    double load_overlap = 1.0;   ///< tags and banks in a load of naive: exponent of their norm
    double feed_overlap = 1.0;   ///< the pipe and the copies of wgmma: exponent of their norm
};

/// The same for attention: `model.bundled.attention`.
struct BundledAttentionCounts {
    double apart = 0.0;          ///< share of O that mma writes twice, in stores of less than a
                                 ///< sector
    double apart_wide = 0.0;     ///< the same for a head_dim of 128
    double spilled = 0.0;        ///< registers that a causal wgmma thread spills, head_dim 64
    double block_spilled = 0.0;  ///< the same for mma per block of keys, head_dim 128
};

struct BundledCounts {
    BundledProductCounts product{};
    BundledAttentionCounts attention{};
};

using BundledCountSections = std::tuple<std::span<const Section<BundledProductCounts>>,
                                        std::span<const Section<BundledAttentionCounts>>>;

/// The sections `model.bundled.product` and `model.bundled.attention`, which every machine has.
[[nodiscard]] const BundledCountSections& bundled_count_sections();

}  // namespace ridge::model
