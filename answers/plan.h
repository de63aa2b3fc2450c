// A model on some GPUs: whether it fits, how fast it is, on how many GPUs, and what to change.
//
//   const Plan answer = plan(find_model("llama-3.1-70b"), {.gpus = {1, 2, 4, 8}}, {place});
//   answer.rows[1].fits, .layout.tensor_parallel, .memory.total(), .tokens_per_s, .pace.time
//   answer.changes[0].what          // "fp8 weights": the smallest change that makes a row fit
//   verdict_of(answer)              // one sentence
//
// Method: for each GPU and number of GPUs, all layouts that the model of programs/ can express are
// predicted, and the best that fits becomes the row. Serving: tensor and expert parallelism, stages
// of a pipeline and independent copies, over batch sizes; the best is the one with the most tokens/s whose time per
// token meets the target. Training: tensor, pipeline and context parallelism, ZeRO stage,
// checkpointing and micro-batch;
// the best has the most tokens/s. Where nothing fits, each change of a fixed list (from what costs
// nothing to what costs quality or length) is predicted in the same way.
// Limits: one NVLink domain; all requests alike (W6 of
// docs/models.md). `PlanQuestion::reserve` stands for memory that no formula knows (CUDA graphs,
// NCCL's buffers, fragmentation).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "answers/layout.h"
#include "hardware/quantity.h"
#include "model/core/grounds.h"
#include "model/machine/machine.h"
#include "programs/host.h"
#include "programs/model_step.h"
#include "programs/serving.h"

namespace ridge::answers {

enum class Purpose : std::uint8_t { serve, train, lora, qlora };

/// `adamw8bit` keeps both states in one byte per element, with a scale for every 256.
enum class Optimizer : std::uint8_t { adamw, adamw8bit };

/// The time per token that a served model should meet when nothing else is asked for: 20 tokens/s
/// for each reader.
[[nodiscard]] Time usual_token_time();

struct PlanQuestion {
    Purpose purpose = Purpose::serve;
    std::int64_t seq = 2048;    ///< tokens of a prompt, or of a training sequence
    std::int64_t answer = 256;  ///< serve: tokens of an answer
    /// Sequences on all GPUs together: served at the same time, or in one training step. Empty: the
    /// best is searched.
    std::optional<std::int64_t> batch{};
    std::int64_t most = 256;  ///< serve: the largest batch of one copy that is searched
    std::vector<std::int64_t> gpus{1, 2, 4, 8};
    LayoutChoice layouts{};
    model::DataType type = model::DataType::bf16;
    model::DataType cache_type = model::DataType::bf16;
    programs::Quantisation quantisation = programs::Quantisation::stored;
    /// Several of either: a row for each, instead of `batch` and `quantisation`.
    std::vector<std::int64_t> batches{};
    std::vector<programs::Quantisation> quantisations{};
    programs::Software software = programs::Software::serving;
    Optimizer optimizer = Optimizer::adamw;
    bool mixed = true;  ///< train: weights and states in fp32, products in bf16
    std::int64_t lora_rank = 16;
    programs::Targets targets{};
    std::int64_t reserve = 0;  ///< bytes of each GPU that stay free
    /// Told the number of layouts predicted so far; may be empty.
    std::function<void(std::int64_t)> progress{};
    /// Told the share of the rows' layouts that were searched; changes come after all. May be empty.
    std::function<void(double)> searched{};
    std::function<void()> after_layout{};  ///< called after each layout of a row
};

/// A GPU to plan for.
struct Place {
    const model::Machine* machine = nullptr;
    std::int64_t usable = 0;       ///< bytes that a process can allocate
    bool usable_measured = false;  ///< on this GPU, not estimated from its data sheet
    programs::Host host = programs::host_beside("");
    std::optional<double> price{};  ///< of one GPU and hour
    std::string price_source{};     ///< where it is from; empty: the question gave it
};

/// Bytes on each GPU; they add up to `total`.
struct MemoryNeed {
    std::int64_t weights = 0;
    std::int64_t cache = 0;
    std::int64_t gradients = 0;
    std::int64_t optimizer = 0;
    std::int64_t activations = 0;
    std::int64_t reserve = 0;
    [[nodiscard]] std::int64_t total() const {
        return weights + cache + gradients + optimizer + activations + reserve;
    }
};

/// A time with its 80 % band.
struct Spread {
    Time time;
    Time low;
    Time high;
    model::Grade evidence = model::Grade::datasheet;  ///< the weakest of its operations
};

struct PlanRow {
    std::string gpu{};    ///< "h100-sxm"
    std::string title{};  ///< "NVIDIA H100 SXM5 80GB"
    std::int64_t gpus = 1;
    std::string variant{};  ///< "fp8, batch 8": which of several; empty if one was asked for
    programs::Quantisation quantisation = programs::Quantisation::stored;
    bool fits = false;
    std::int64_t usable = 0;  ///< bytes of each GPU
    bool usable_measured = false;
    MemoryNeed memory{};  ///< of the layout; if nothing fits, of the one that needs least
    Layout layout{};
    std::int64_t batch = 0;        ///< sequences on all GPUs together
    std::optional<Spread> pace{};  ///< serve: time per token of a sequence; else of a step
    std::optional<Spread> first_token{};
    double tokens_per_s = 0.0;  ///< of all GPUs; generated, or trained on
    bool meets_targets = true;
    bool host_bound = false;
    /// Shares of the kernels' time that rest on each grade of evidence, by `model::Grade`; all zero
    /// without a time.
    std::array<double, 4> evidence_shares{};
    std::optional<double> price_per_hour{};
    std::string price_source{};
    std::string reason{};  ///< why there is no time although it fits

    [[nodiscard]] double per_gpu() const { return tokens_per_s / static_cast<double>(gpus); }
    /// Price of a million tokens, if there is a price and a rate.
    [[nodiscard]] std::optional<double> per_million() const;
};

/// What a change takes away from the answer that was asked for.
enum class GivesUp : std::uint8_t { nothing, speed, money, accuracy, scope };

struct Change {
    std::string what{};
    GivesUp gives_up = GivesUp::nothing;
    PlanRow then{};
};

struct Plan {
    std::string model{};
    std::int64_t parameters = 0;
    std::int64_t active_parameters = 0;
    PlanQuestion question{};
    std::vector<PlanRow> rows{};
    std::int64_t layouts = 0;              ///< that were judged
    std::vector<Change> changes{};         ///< at most three, for `changed`; the smallest first
    std::optional<std::size_t> changed{};  ///< the first row that does not fit
};

/// One row for each GPU and number of GPUs. InputError for a question that nobody can answer: no
/// GPU, lengths beyond the model, a layout that no number of GPUs allows.
[[nodiscard]] Plan plan(const programs::Architecture& architecture, const PlanQuestion& question,
                        std::span<const Place> places);

/// The best layout of `gpus` GPUs; also what a change is judged by.
[[nodiscard]] PlanRow best_row(const programs::Architecture& architecture,
                               const PlanQuestion& question, const Place& place, std::int64_t gpus,
                               std::int64_t& layouts);

/// Whether any layout fits, which needs no times where a model is trained.
[[nodiscard]] bool any_fits(const programs::Architecture& architecture,
                            const PlanQuestion& question, const Place& place, std::int64_t gpus,
                            std::int64_t& layouts);

/// The row that a reader is told about: the fewest GPUs that fit and meet the targets, else the
/// fewest that fit; the cheapest GPU among equals. nullptr: nothing fits.
[[nodiscard]] const PlanRow* recommended(const Plan& plan);

[[nodiscard]] std::string_view name_of(Purpose purpose);
[[nodiscard]] std::string_view name_of(Optimizer optimizer);
[[nodiscard]] std::string_view name_of(GivesUp gives_up);

}  // namespace ridge::answers
