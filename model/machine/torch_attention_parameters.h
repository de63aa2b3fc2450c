// What the compiled code of the backends of PyTorch's scaled_dot_product_attention costs: clocks of a
// multiprocessor, the same on every GPU (equations T18, T20 and T21 of docs/model.md).
//
//   machine.torch_attention->flash.prologue   // clocks of a block before its first visit
//
// The fields are `model.torch.attention.*`, given by `hardware/kernels/pytorch-2.11.toml`, from which
// architectures inherit them. `ridge fit kernels` determines them from records.
#pragma once

#include <span>
#include <tuple>

#include "hardware/description.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// Kernels whose blocks visit blocks of the other side. Clocks of a visit are those of 64 x 64 scores.
struct BackendCode {
    double pipe = 0.0;      ///< clocks: a visit of 64 x 64 scores occupies the pipes
    double pipe_dim = 0.0;  ///< clocks: more for each 64 of the head's dimension
    double visit = 0.0;     ///< clocks: of a visit that nothing hides
    double visit_pipe =
        0.0;                ///< share of the pipes that a visit takes, alone on its multiprocessor
    double prologue = 0.0;  ///< clocks: of a block before its first visit
    double overlap = 1.0;   ///< how far blocks, pipes and DRAM overlap: exponent of their norm
    double block = 0.0;     ///< clocks: a block occupies the pipes, beside its visits
    double further = 0.0;   ///< clocks: of a further kernel
    double cold = 0.0;      ///< clocks: more where operands come from DRAM
    double single = 1.0;    ///< pipes in fp32, over 16 bits
    double wide = 1.0;      ///< pipes of head dimensions over 128
    double middle = 1.0;    ///< pipes of head dimensions over 64, up to 128
    double uneven =
        0.0;  ///< of the longest block, what the busiest multiprocessor has beside its share
    double mask = 0.0;  ///< visits that a visit with a mask takes more
    double shared =
        0.0;  ///< gradients that heads with common keys add up, in passes over four times their bytes
};

/// Kernels that split the keys of few queries, and one that joins the parts.
struct SplitCode {
    double prologue = 0.0;  ///< clocks: of a block
    double pipe =
        0.0;  ///< clocks: a visit of 64 x 64 scores and 64 of the head's dimension occupies the pipes
    double join = 0.0;     ///< clocks: of the kernel that joins the parts, with the start of both
    double cold = 0.0;     ///< clocks: more where operands come from DRAM
    double dram = 1.0;     ///< share of the DRAM bandwidth
    double overlap = 1.0;  ///< how far blocks, pipes and DRAM overlap: exponent of their norm
    double part = 0.0;     ///< clocks: of joining one part, after the others
    double parts = 0.0;    ///< passes over the parts in fp32, through the L2
    double dim = 0.0;      ///< of a visit, what each further 64 of the head's dimension takes
};

/// The backward kernels of the efficient backend, by the head's dimension: visits of a block come
/// one after the other.
struct SerialCode {
    double prologue = 0.0;  ///< clocks: of a block of keys
    double visit = 0.0;     ///< clocks: of a visit, alone on its multiprocessor
    double lock =
        0.0;  ///< clocks: of its queries' gradients; blocks of one head wait for it in turn
    double single = 1.0;  ///< in fp32, over 16 bits
};

/// What those have in common.
struct SerialCommonCode {
    double beside = 0.0;       ///< of a visit, for each further block of its multiprocessor
    double tail = 0.0;         ///< of the longest block, where a mask makes them uneven
    double overlap = 1.0;      ///< how far walk, lock and DRAM overlap: exponent of their norm
    double start = 0.0;        ///< clocks: of the kernel, beside an empty one
    double cold = 0.0;         ///< clocks: more where operands come from DRAM
    double product = 0.0;      ///< clocks: of each of three more kernels for the products of fp32
    double passes = 0.0;       ///< of those kernels over the queries' gradients
    double few_rows = 0.0;     ///< of a visit, whatever part of its 128 rows there is
    double one = 0.0;          ///< of a visit where all keys are in one block
    double masked_lock = 0.0;  ///< of a lock under a mask
    double sums =
        0.0;  ///< clocks: wide heads in 16 bits: sums of gradient times output, for every query block of a walk
    double sums_busy = 0.0;  ///< share of it that busy multiprocessors share out
};

/// What all backends have in common.
struct BackendsCode {
    double dram = 1.0;  ///< share of the DRAM bandwidth
};

struct TorchAttentionCode {
    BackendCode flash, flash_backward, cudnn, cudnn_backward, efficient;
    SplitCode flash_split, cudnn_split, cudnn_short;
    SerialCode narrow, half, middle, wide;
    SerialCommonCode serial;
    BackendsCode backends;
};

using TorchAttentionSections =
    std::tuple<std::span<const Section<BackendCode>>, std::span<const Section<SplitCode>>,
               std::span<const Section<SerialCode>>, std::span<const Section<SerialCommonCode>>,
               std::span<const Section<BackendsCode>>>;

/// `model.torch.attention`, of machines that have `torch_attention`.
[[nodiscard]] const TorchAttentionSections& torch_attention_sections();

/// Into a machine; none where the description lacks one of the fields.
void resolve_torch_attention(const hardware::Description& gpu, Machine& machine);

}  // namespace ridge::model
