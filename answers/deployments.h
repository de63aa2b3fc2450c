// Which deployment of a served model to choose: candidates, their steady states, the front.
//
//   const DeploymentSearch found = search_deployments(architecture, question, places);
//   found.best                     // the cheapest per token that meets the targets
//   found.front                    // nothing is both faster for a user and cheaper
//   why_not(found, *found.second)  // "33 ms per token instead of 27 ms: ..."
//
// Method: engines, GPUs, tensor, data (with experts distributed) and pipeline parallelism, types of the
// weights, drafts, places for adapters, memory of the host, tokens of a step, batches that double, and
// prompts on servers of their own. Each candidate has the steady state of W16 and W29 of docs/models.md.
// Step times are those of `ridge serve` (programs/traffic/step_times.h); candidates that differ in
// copies, tokens of a step and batch share them.
// Limits: means, not tails; queues are not in the time to the first token (`ridge serve` runs the
// chosen one); one node for a server; servers of their own for prompts share no prefixes and have no
// adapters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "answers/plan.h"
#include "programs/traffic/deployment.h"
#include "programs/traffic/steady.h"

namespace ridge::answers {

struct DeploymentQuestion {
    std::int64_t prompt = 2048;
    std::int64_t answer = 256;
    double rate = 0.0;  ///< requests/s to serve; 0: as many as the GPUs can
    programs::Targets targets{};
    std::vector<std::int64_t> gpus{1, 2, 4, 8};
    std::vector<std::string> engines{"vllm"};
    std::vector<programs::Quantisation> quantisations{programs::Quantisation::stored};
    /// Drafts, places for adapters and memory of the host; the other fields are set by the search.
    std::vector<programs::Deployment> variants{programs::Deployment{}};
    programs::Sharing sharing{};
    std::vector<std::int64_t> chunks{512, 2048, 8192};
    std::vector<std::int64_t> pipelines{1, 2};
    LayoutChoice layouts{};
    model::DataType type = model::DataType::bf16;
    model::DataType cache_type = model::DataType::bf16;
    std::int64_t most = 1024;  ///< largest batch of a server
    bool separate = true;      ///< also prompts on servers of their own
    std::int64_t reserve = 0;  ///< bytes of each GPU
};

struct DeploymentRow {
    std::string gpu{};
    std::string engine{};
    programs::Deployment deployment{};
    std::int64_t batch = 0;                        ///< sequences of a server that decodes
    std::optional<std::int64_t> prompt_servers{};  ///< of the replicas, if prompts have their own
    Time ttft{};
    Time tpot{};
    double yield = 1.0;         ///< tokens of a sequence and step
    double cached = 0.0;        ///< tokens of a prompt that are found, on the GPUs or the host
    Time step{};                ///< that decodes only
    Time step_host{};           ///< of it, what the kernels do not hide
    double prompts = 0.0;       ///< share of the time per token that prompts take
    double tokens_per_s = 0.0;  ///< of all GPUs, generated
    double requests_per_s = 0.0;
    std::optional<double> price_per_hour{};
    bool meets = false;
    model::Grade evidence = model::Grade::datasheet;

    [[nodiscard]] std::int64_t gpus() const { return deployment.gpus(); }
    /// Price of a million tokens, or GPU seconds if no price was given.
    [[nodiscard]] double cost() const;
};

struct DeploymentSearch {
    DeploymentQuestion question{};
    std::int64_t candidates = 0;
    std::int64_t steps = 0;              ///< parts of steps that were predicted
    std::vector<DeploymentRow> front{};  ///< by cost, the cheapest first
    std::optional<DeploymentRow> best{};
    std::optional<DeploymentRow> second{};  ///< the next that is another layout, engine or type
    std::optional<DeploymentRow>
        nearest{};          ///< if none meets the targets: the one that misses least
    std::string command{};  ///< that starts the best
};

[[nodiscard]] DeploymentSearch search_deployments(const programs::Architecture& architecture,
                                                  const DeploymentQuestion& question,
                                                  std::span<const Place> places);

/// "4 x h100-sxm, tp 4, fp8, vllm, 2048 tokens a step, 64 sequences"
[[nodiscard]] std::string text_of(const DeploymentRow& row);
/// What the second lacks, and what it comes from.
[[nodiscard]] std::string why_second(const DeploymentSearch& search);
/// A sentence or two.
[[nodiscard]] std::string verdict_of(const DeploymentSearch& search);

}  // namespace ridge::answers
