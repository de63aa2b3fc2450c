// The types in which weights are stored.
#pragma once

#include <cstdint>

namespace ridge::programs {

/// `stored` is what the checkpoint's config says; the others replace it.
enum class Quantisation : std::uint8_t { stored, none, fp8, fp8_block, int8, int4, nvfp4, mxfp4 };

/// Numbers of 0 stand for what is usual for the quantisation: fp8 and int8 have a scale of the
/// model's type per output, int4 one per 128 inputs, nvfp4 a byte per 16 inputs and 4 for the tensor,
/// mxfp4 a byte per 32 inputs, fp8_block 4 bytes per 128 x 128.
struct WeightFormat {
    std::int64_t bytes = 2;  ///< of one element in the model's type
    Quantisation quantisation = Quantisation::none;
    std::int64_t group = 0;         ///< inputs that share a scale; -1: all
    std::int64_t group_rows = 0;    ///< outputs that share it; -1: all
    std::int64_t scale_bytes = -1;  ///< -1: usual
    std::int64_t tensor_bytes = -1;
    std::int64_t input_bytes = 0;  ///< of a number per input (the order of GPTQ)
    bool zeros = false;            ///< with a zero point per group, as wide as a weight

    friend bool operator==(const WeightFormat&, const WeightFormat&) = default;
};

}  // namespace ridge::programs
