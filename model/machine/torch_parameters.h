// What a GPU contributes to the time of PyTorch's kernels; what their code costs is in
// `torch_stream_parameters.h`.
//
//   if (memory.torch) memory.torch->first_dram   // a kernel's start with its first loads
//
// The fields are `model.torch.*`. A GPU without them (Ampere and older: only calls in a stream of an
// older PyTorch were measured there) keeps the model of an eager framework (`model.eager`).
#pragma once

#include <optional>
#include <span>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/machine/parameter.h"
#include "model/machine/torch_stream_parameters.h"

namespace ridge::model {

struct TorchCosts {
    Time first_dram{};  ///< start of a kernel with its first loads, from DRAM
    Time first_l2{};    ///< the same from L2
    Time step_dram{};   ///< a further load that waits for the one before, from DRAM
    Time step_l2{};     ///< the same from L2
    Time combine{};     ///< a reduction across blocks: zeros for its semaphores, its last block
    Time partial{};     ///< one of that block's loads of partial results
    Time look_up{};     ///< a target and its logarithm, one after the other
    bool own = false;   ///< fitted to this GPU
    TorchStreamCode code{};
};

struct MemoryParameters;

/// `model.torch`.
[[nodiscard]] std::span<const Section<MemoryParameters>> torch_sections();

/// Costs and code of PyTorch's kernels, into a machine that has `memory`; none where the description lacks
/// one of the fields.
void resolve_torch(const hardware::Description& gpu, Machine& machine);

}  // namespace ridge::model
