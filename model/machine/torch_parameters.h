// The GPU's own part of the time of PyTorch's kernels. The costs of their code are in
// `torch_stream_parameters.h`.
//
//   if (memory.torch) memory.torch->first_dram   // a kernel's start with its first loads
//
// The fields are `model.torch.*`. A GPU without them uses the model of an eager framework
// (`model.eager`). These are Ampere and older GPUs, on which only calls in a stream of an older
// PyTorch were measured.
#pragma once

#include <optional>
#include <span>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/machine/evidence.h"
#include "model/machine/parameter.h"
#include "model/machine/torch_stream_parameters.h"

namespace ridge::model {

struct TorchCosts {
    Time first_dram{};  ///< start of a kernel including its first loads from DRAM
    Time first_l2{};    ///< the same from L2
    Time step_dram{};   ///< a further load from DRAM that waits for the previous one
    Time step_l2{};     ///< the same from L2
    Time combine{};     ///< fixed time of a reduction across blocks: zeroing its semaphores, its
                        ///< last block
    Time partial{};     ///< one load of partial results by that last block
    Time look_up{};     ///< look-up of a target and then of its logarithm
    Evidence evidence = Evidence::foreign;
    TorchStreamCode code{};
};

struct MemoryParameters;

/// The section `model.torch`.
[[nodiscard]] std::span<const Section<MemoryParameters>> torch_sections();

/// Reads costs and code of PyTorch's kernels into a machine that has `memory`; none if the
/// description lacks one of the fields.
void resolve_torch(const hardware::Description& gpu, Machine& machine);

}  // namespace ridge::model
