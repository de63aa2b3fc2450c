// Costs of the compiled code of the backends of PyTorch's scaled_dot_product_attention: clocks of a
// multiprocessor, the same on every GPU (equation T18 of docs/model.md).
//
//   machine.torch_attention->flash.prologue   // clocks of a block before its first visit
//
// The fields are `model.torch.attention.*` in `software/pytorch-2.11/software.toml`, from which
// architectures inherit them. `ridge fit kernels` determines them from records.
#pragma once

#include <span>
#include <tuple>

#include "hardware/description.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// Kernels whose blocks visit blocks of the other side. Clocks of a visit are those of 64 x 64
/// scores.
struct BackendCode {
    double pipe = 0.0;      ///< clocks for which a visit of 64 x 64 scores occupies the pipes
    double pipe_dim = 0.0;  ///< additional clocks of a visit for each 64 of the head's dimension
    double visit = 0.0;     ///< clocks of a visit that nothing hides
    double visit_pipe =
        0.0;                ///< share of its time on the pipes that a visit takes when alone on its
                            ///< multiprocessor
    double prologue = 0.0;  ///< clocks of a block before its first visit
    double overlap = 1.0;   ///< how far blocks, pipes and DRAM overlap: exponent of their norm
    double block = 0.0;     ///< clocks for which a block occupies the pipes, beside its visits
    double further = 0.0;   ///< clocks of each further kernel
    double cold = 0.0;      ///< additional clocks when operands come from DRAM
    double single = 1.0;    ///< time on the pipes in fp32, over that in 16 bits
    double wide = 1.0;      ///< factor on the time on the pipes for head dimensions over 128
    double middle = 1.0;    ///< factor on the time on the pipes for head dimensions over 64, up to
                            ///< 128
    double uneven =
        0.0;  ///< share of the longest block that the busiest multiprocessor has beyond its even
              ///< share
    double mask = 0.0;  ///< additional visits that a visit with a mask counts as
    double shared =
        0.0;  ///< passes over four times their bytes in which gradients of heads with common keys
              ///< are added up
};

/// Kernels that split the keys of few queries, and the kernel that joins the parts.
struct SplitCode {
    double prologue = 0.0;  ///< clocks of a block before its first visit
    double pipe =
        0.0;  ///< clocks for which a visit of 64 x 64 scores and 64 of the head's dimension
              ///< occupies the pipes
    double join = 0.0;     ///< clocks of the kernel that joins the parts, including the start of
                           ///< both kernels
    double cold = 0.0;     ///< additional clocks when operands come from DRAM
    double dram = 1.0;     ///< share of the DRAM bandwidth that these kernels reach
    double overlap = 1.0;  ///< how far blocks, pipes and DRAM overlap: exponent of their norm
    double part = 0.0;     ///< clocks of joining one part after the others
    double parts = 0.0;    ///< number of fp32 passes over the parts through the L2
    double dim = 0.0;      ///< time of a visit for each further 64 of the head's dimension, as a
                           ///< share of the visit
};

/// The backward kernels of the efficient backend, by the head's dimension. The visits of a block
/// run one after the other.
struct SerialCode {
    double prologue = 0.0;  ///< clocks of a block of keys before its first visit
    double visit = 0.0;     ///< clocks of a visit that is alone on its multiprocessor
    double lock =
        0.0;  ///< clocks for which a block holds the lock on its queries' gradients; blocks of one
              ///< head wait for it in turn
    double single = 1.0;  ///< time in fp32, over that in 16 bits
};

/// Values that these kernels have in common.
struct SerialCommonCode {
    double beside = 0.0;       ///< share of a visit added for each further block on its
                               ///< multiprocessor
    double tail = 0.0;         ///< share of the longest block that is added when a mask makes
                               ///< blocks uneven
    double start = 0.0;        ///< clocks of the kernel beyond an empty one
    double cold = 0.0;         ///< additional clocks when operands come from DRAM
    double product = 0.0;      ///< clocks of each of the three additional kernels for fp32 products
    double few_rows = 0.0;     ///< share of a visit that does not depend on how many of its 128
                               ///< rows are used
    double one = 0.0;          ///< time of a visit when all keys are in one block, over that of a
                               ///< usual visit
    double masked_lock = 0.0;  ///< time of a lock under a mask, over that without
    double sums =
        0.0;  ///< clocks of the sums of gradient times output, per query block of a walk (wide
              ///< heads in 16 bits)
    double sums_busy = 0.0;  ///< share of those sums when all multiprocessors are busy
};

struct TorchAttentionCode {
    BackendCode flash, flash_backward, cudnn, cudnn_backward, efficient;
    SplitCode flash_split, cudnn_split, cudnn_short;
    SerialCode narrow, half, middle, wide;
    SerialCommonCode serial;
};

using TorchAttentionSections =
    std::tuple<std::span<const Section<BackendCode>>, std::span<const Section<SplitCode>>,
               std::span<const Section<SerialCode>>, std::span<const Section<SerialCommonCode>>>;

/// The sections `model.torch.attention`, of machines that have `torch_attention`.
[[nodiscard]] const TorchAttentionSections& torch_attention_sections();

/// Reads the values into a machine; none if the description lacks one of the fields.
void resolve_torch_attention(const hardware::Description& gpu, Machine& machine);

}  // namespace ridge::model
