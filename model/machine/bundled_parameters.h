// What hardware counters and the compiler say of the compiled code of the bundled kernels, the same on every
// GPU: `model.bundled.*` of hardware/kernels/bundled.toml.
//
//   machine.bundled.product.single_stores   // sectors written for a sector of C stored by elements
//
// The costs in time that go with them are `model.bundled.code` (`memory_parameters.h`). Limits: without a
// description that has them, stores cost their bytes and registers never limit what is resident.
#pragma once

#include <span>
#include <tuple>

#include "hardware/quantity.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// Sectors of streams, rows and accesses: `model.bundled.sectors`.
struct BundledSectors {
    // Shares of what stores that meet inside a sector cost beyond their bytes.
    double apart = 1.0;     ///< of different warps, or at different times
    double unrolled = 1.0;  ///< of four stores of one warp in a row
    // Written per sector of the tiled transpose: vectors that do not meet their neighbour on the way.
    double tile = 1.0;
    double tile_uneven = 1.0;         ///< where rows of the result are not whole KiB apart
    double narrow_tile = 1.0;         ///< elements of two bytes
    double narrow_tile_uneven = 1.0;  ///< the same where rows are not whole KiB apart
    double tile_inside = 1.0;         ///< more where rows begin inside a sector
    double table = 1.0;               ///< share of the L1 that keeps rows of a gather's table
    double chase = 1.0;               ///< exponent with which a chase loses what the L1 holds
    Bytes skipped{};  ///< between words, at most: farther ones have a DRAM page each
};

/// Registers of a thread, where they limit what is resident: `model.bundled.registers`.
struct BundledRegisters {
    double sum = 0.0;          ///< rows of vectors summed by warps
    double held = 0.0;         ///< a row held, beside its elements
    double held_bias = 0.0;    ///< more with weights and a bias
    double exponential = 0.0;  ///< of vectors of two-byte elements
    double gather = 0.0;       ///< of vectors
};

/// Sectors, registers and loads of the products: `model.bundled.product`.
struct BundledProductCounts {
    double single_stores = 1.0;  ///< written for a sector of C stored by elements
    double joined_stores = 1.0;  ///< the same, naive, where rows are whole groups of 8
    double pair_stores = 1.0;    ///< the same for pieces of 4 bytes (mma)
    double spilled = 0.0;        ///< registers that a thread of register_tiled puts away
    double in_step = 0.0;        ///< operands read again because blocks of the tensor kernels drift
    double load_overlap = 1.0;   ///< of tags and banks in a load of naive: exponent of their norm
    double feed_overlap = 1.0;   ///< of the pipe and the copies of wgmma, the same
};

/// The same of attention: `model.bundled.attention`.
struct BundledAttentionCounts {
    double apart = 0.0;          ///< of O, written again by mma for stores of less than a sector
    double apart_wide = 0.0;     ///< the same for heads of 128
    double spilled = 0.0;        ///< registers that a causal wgmma thread puts away, heads of 64
    double block_spilled = 0.0;  ///< the same of mma for each block of keys, heads of 128
};

struct BundledCounts {
    BundledProductCounts product{};
    BundledAttentionCounts attention{};
};

using BundledCountSections = std::tuple<std::span<const Section<BundledProductCounts>>,
                                        std::span<const Section<BundledAttentionCounts>>>;

/// `model.bundled.product` and `model.bundled.attention`, of every machine.
[[nodiscard]] const BundledCountSections& bundled_count_sections();

}  // namespace ridge::model
