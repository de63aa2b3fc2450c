// How a model is spread over GPUs, and which ways are allowed.
//
//   layouts_of(architecture, 8, Use::training, {})   // every layout of eight GPUs
//   text_of(Layout{.tensor_parallel = 2, .copies = 4})  // "tp 2, dp 4"
//
// Limits: one NVLink domain. Stages of a pipeline and shares of a sequence are modelled by
// answers/pipeline.h, the rest by programs/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs/configs/architecture.h"
#include "programs/software/request.h"

namespace ridge::answers {

struct Layout {
    std::int64_t tensor_parallel = 1;
    std::int64_t expert_parallel = 1;
    std::int64_t pipeline = 1;          ///< stages
    std::int64_t context_parallel = 1;  ///< training: GPUs that share each sequence
    std::int64_t copies = 1;            ///< data parallelism
    std::int64_t zero = 0;              ///< ZeRO stage over the copies
    programs::Checkpoint checkpoint = programs::Checkpoint::none;
    std::int64_t micro_batch = 1;   ///< sequences of one copy at a time
    std::int64_t accumulation = 1;  ///< training: micro-batches of a step

    [[nodiscard]] std::int64_t gpus() const {
        return tensor_parallel * expert_parallel * pipeline * context_parallel * copies;
    }
    friend bool operator==(const Layout&, const Layout&) = default;
};

/// The values that each part of a layout may have; an empty list allows all.
struct LayoutChoice {
    std::vector<std::int64_t> tensor_parallel{};
    std::vector<std::int64_t> expert_parallel{};
    std::vector<std::int64_t> pipeline{};
    std::vector<std::int64_t> context_parallel{};
    std::vector<std::int64_t> copies{};
    std::vector<std::int64_t> zero{};
    std::vector<programs::Checkpoint> checkpoint{};
};

/// Tokens of a sequence below which sharing it is not tried unasked: a GPU is busy with fewer.
inline constexpr std::int64_t least_share = 4096;

enum class Use : std::uint8_t { serving, training, adapters };

/// The layouts of exactly `gpus` GPUs, without batch sizes: degrees that divide heads and experts.
/// Adapters are trained by copies of the whole model. Sequences of `seq` tokens are shared where
/// each GPU keeps at least `least_share` of them, or where the choice asks for it.
[[nodiscard]] std::vector<Layout> layouts_of(const programs::Architecture& architecture,
                                             std::int64_t gpus, Use use, const LayoutChoice& choice,
                                             std::int64_t seq = 0);

/// "tp 2, dp 4, ZeRO 3, full checkpoints, micro-batch 4"; "one GPU" for the simplest.
[[nodiscard]] std::string text_of(const Layout& layout);

[[nodiscard]] std::string_view name_of(programs::Checkpoint checkpoint);

}  // namespace ridge::answers
