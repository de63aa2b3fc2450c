// The encoder of a model that sees images: its time beside a step of the language model.
//
//   const auto encoder = encoder_of(find_model("qwen3-vl-8b-instruct"));    // empty: it sees none
//   encoder->time(deployment, machine, 1500, 1500)      // of one image that becomes 1500 tokens
//
// Method (W25 of docs/models.md): a transformer over patches, several of which become one token; patches of an
// image, or of the frames that the encoder takes together, see each other. GPUs that share the products of
// the language model share those of the encoder. It is launched kernel by kernel, without a CUDA graph.
// The numbers are symbols of the model's family: v_depth, v_hidden, v_inner, v_heads, v_per_token
// (patches), v_numbers (of a patch), v_out.
#pragma once

#include <cstdint>
#include <optional>

#include "hardware/quantity.h"
#include "model/machine/machine.h"
#include "programs/configs/architecture.h"
#include "programs/traffic/deployment.h"

namespace ridge::programs {

struct Encoder {
    std::int64_t depth = 0;
    std::int64_t hidden = 0;
    std::int64_t inner = 0;
    std::int64_t heads = 0;
    std::int64_t patches = 1;  ///< that become one token
    std::int64_t pixels = 0;   ///< numbers that a patch is made of
    std::int64_t out = 0;      ///< width of a token

    /// Of `tokens` tokens, of images or frames of `each` tokens.
    [[nodiscard]] Time time(const Deployment& deployment, const model::Machine& machine,
                            std::int64_t tokens, std::int64_t each) const;
};

[[nodiscard]] std::optional<Encoder> encoder_of(const Architecture& architecture);

}  // namespace ridge::programs
