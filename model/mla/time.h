// The time of latent attention from what its kernels do.
//
//   decode   start + queries + norm5(tiles of heads over the latents, DRAM) + combine   (eq. N5)
//   prefill  start + rotation and cache + causal tiles of queries                       (eq. N6)
//
//   mla_decode_time(op, *machine.mla.decode, execution, machine).total
//
// Limits: fitted on up to 128 heads with latents of 512 and rotated keys of 64, equal lengths
// within a batch and paged caches. Other calls use the same costs with their own counts.
#pragma once

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/machine/machine.h"

namespace ridge::model {

struct MlaTime {
    Time total;
    Time launch;   ///< fixed times of the kernels and the gaps that the launch mode adds
    Time tensor;   ///< matmuls, average per multiprocessor
    Time tiles;    ///< prologues, epilogues, the tail after the average, combining
    Time queries;  ///< queries, outputs, rotation and cache at DRAM bandwidth
    Time dram;     ///< latents that miss the L2
    Bytes dram_bytes;
    Flop executed_tensor;
    double waves = 0.0;
    Tile tile;  ///< heads or queries by keys
    std::int64_t tiles_count = 0;
    std::int32_t split = 1;
};

/// Heads that a thread block of absorbed decoding takes: 64 on Hopper (FlashMLA); on Blackwell 128,
/// or 16 if there are fewer than 64.
[[nodiscard]] std::int64_t decode_tile_heads(const Mla& op, const Machine& machine);

/// The machine must have multiprocessors and a tensor rate.
[[nodiscard]] MlaTime mla_decode_time(const Mla& op, const MlaDecodeParameters& fitted,
                                      const Execution& execution, const Machine& machine);
[[nodiscard]] MlaTime mla_prefill_time(const Mla& op, const MlaPrefillParameters& fitted,
                                       const Execution& execution, const Machine& machine);

/// The type in which the kernels multiply: decoding over an 8-bit cache uses the latents as they
/// are.
[[nodiscard]] DataType multiplied_type(const Mla& op);

}  // namespace ridge::model
