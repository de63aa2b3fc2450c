// Why a backend of PyTorch's scaled_dot_product_attention refuses a call, in PyTorch's words.
#pragma once

#include <optional>
#include <string>

#include "model/footprint/attention_call.h"

namespace ridge::model {

/// The reason, or nothing if the implementation takes the call. The checks follow the order in
/// which PyTorch makes them (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp).
[[nodiscard]] std::optional<std::string> attention_refusal(const AttentionCall& call);

}  // namespace ridge::model
