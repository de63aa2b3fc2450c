// Turns a collective that PyTorch recorded (record_param_comms) into an operation of the model.
//
//   collective_work("allreduce|1024|1024|BFloat16|8");
//   // Collective{.kind = all_reduce, .gpus = 8, .bytes = 2048, ...}
//
// The text is kind|elements in|elements out|type|GPUs. The result is empty for a group of one GPU,
// for a kind that the model lacks, and for text that does not parse.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "programs/aten/operations.h"

namespace ridge::programs {

[[nodiscard]] std::optional<Understood> collective_work(std::string_view text);

/// "2.1 MB of bf16 over 8 GPUs"
[[nodiscard]] std::string collective_text(std::string_view text);

}  // namespace ridge::programs
