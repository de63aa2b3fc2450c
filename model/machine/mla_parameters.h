// Parameters of the time model of latent attention (docs/model.md N4 to N7), read from a GPU
// description.
//
//   if (machine.mla.decode) ... machine.mla.decode->tensor_fraction ...
//
// They are the fields `model.mla.*`: prefill and absorbed decoding, each over a cache of 16 bits
// and of 8 bits, which have separate kernels. GPUs without measurements take their architecture's
// values.
#pragma once

#include <optional>
#include <span>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/machine/evidence.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// Absorbed decoding: every tile of heads walks the latents of its sequence.
struct MlaDecodeParameters {
    Time start{};                  ///< of the call
    double query_passes = 1.0;     ///< passes over queries and outputs at DRAM bandwidth
    double tensor_fraction = 1.0;  ///< share of the dense peak in a tile of heads
    double narrow_fraction = 0.0;  ///< the same in a tile of 16 heads; 0: there is none
    double repeats = 0.0;          ///< share of the latents that each further tile of heads reads
                                   ///< again
    Time tile{};                   ///< prologue and epilogue of a thread block
    double dram_fraction = 1.0;    ///< share of the DRAM bandwidth that the latents reach
    Time dram_start{};             ///< exposed start of their stream
    Time combine{};                ///< fixed time to combine split keys
    Time combine_split{};          ///< the same, per split
    Evidence evidence = Evidence::foreign;
};

/// Causal prefill over expanded keys and values.
struct MlaPrefillParameters {
    Time start{};                    ///< of the call
    double rotate_passes = 1.0;      ///< passes of the kernel that rotates and writes the cache
    double tensor_fraction = 1.0;    ///< share of the dense peak in a block of scores
    Time tile{};                     ///< prologue and epilogue of a tile of queries
    double lone_block_factor = 1.0;  ///< time of a block whose tile has its multiprocessor alone,
                                     ///< over shared
    double tail = 1.0;               ///< share of the longest tile that adds to the average
    Evidence evidence = Evidence::foreign;
};

struct MlaParameters {
    std::optional<MlaDecodeParameters> decode;
    std::optional<MlaDecodeParameters> decode_8bit;
    std::optional<MlaPrefillParameters> prefill;
    std::optional<MlaPrefillParameters> prefill_8bit;
};

/// decode and decode_8bit.
[[nodiscard]] std::span<const Section<MlaDecodeParameters>> mla_decode_sections();
/// prefill and prefill_8bit.
[[nodiscard]] std::span<const Section<MlaPrefillParameters>> mla_prefill_sections();

[[nodiscard]] MlaParameters read_mla_parameters(const hardware::Description& gpu);

}  // namespace ridge::model
