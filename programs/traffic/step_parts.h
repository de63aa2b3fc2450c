// The parts of a mixed step's time: what a scheduler put together, priced by the model's operations.
//
//   const StepParts parts(architecture, deployment, machine, engine);
//   parts.layers(600, 0.9);           // everything but attention, 600 tokens, 90 % of them of prompts
//   parts.head(64);                   // logits and sampling of 64 sequences
//   parts.decode(64, 1800);           // attention and states of 64 sequences, 1800 tokens in each cache
//   parts.prompt(512, 1024);          // of 512 new tokens after 1024 in the cache
//   parts.encode(1500, 1500);         // images that become 1500 tokens
//
// Method (W13 of docs/models.md): products, norms, experts and collectives run once over all tokens of
// the step; attention and recurrences run over the decoding sequences and over each prompt's chunk.
// Where prompts take other products than decoding (latent attention), the two are weighted by their
// tokens. Of the experts, those count that at least one of the tokens goes to, if each goes to
// `active` of them at random.
// Attention over a mixed batch is one call where the engine has a kernel for it whose times are known
// (`mixed_attention`), else the sum of its parts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/machine/machine.h"
#include "programs/graph/program.h"
#include "programs/model_step.h"
#include "programs/traffic/deployment.h"
#include "programs/traffic/encoder.h"
#include "programs/traffic/engine.h"

namespace ridge::programs {

class StepParts {
  public:
    /// InputError if the deployment does not fit the model, or an operation is not modelled on the
    /// GPU at all.
    StepParts(const Architecture& architecture, const Deployment& deployment,
              const model::Machine& machine, const Engine& engine);

    /// Tokens of all `data` ranks together; `prompts` is the share of them that are of prompts.
    [[nodiscard]] Time layers(std::int64_t tokens, double prompts) const;
    [[nodiscard]] Time head(std::int64_t sequences) const;
    /// Each sequence has `tokens` new tokens: one, and drafted ones.
    [[nodiscard]] Time decode(std::int64_t sequences, std::int64_t context) const;
    [[nodiscard]] Time prompt(std::int64_t chunk, std::int64_t cached) const;
    /// Attention of both in one call; empty if the engine has none, or no times of it are known.
    [[nodiscard]] std::optional<Time> mixed(std::int64_t sequences, std::int64_t context,
                                            std::int64_t chunk, std::int64_t cached) const;
    /// Of images or frames of `each` tokens, `tokens` in all; zero without an encoder.
    [[nodiscard]] Time encode(std::int64_t tokens, std::int64_t each) const;
    /// Of the adapters' own products.
    [[nodiscard]] Time adapters(std::int64_t tokens, std::int64_t used) const;
    /// Copying an adapter, or the cache of a token, from the host.
    [[nodiscard]] Time fetch_adapter() const;
    [[nodiscard]] Time fetch_token() const;
    [[nodiscard]] bool sees() const { return encoder_.has_value(); }
    /// Time of making the drafts of a step of so many sequences.
    [[nodiscard]] Time draft(std::int64_t sequences, std::int64_t context) const;

    /// Sending the activations of so many tokens to the next pipeline stage.
    [[nodiscard]] Time hop(std::int64_t tokens) const;

    /// Whether prompts take other kernels than decoding.
    [[nodiscard]] bool phases_differ() const { return phases_differ_; }
    /// The weakest on which a decode step rests.
    [[nodiscard]] model::Grade evidence() const { return evidence_; }
    /// What has no predicted time on this GPU, if anything.
    [[nodiscard]] const std::string& left_out() const { return left_out_; }
    [[nodiscard]] const Deployment& deployment() const { return deployment_; }
    [[nodiscard]] const Architecture& architecture() const { return architecture_; }
    /// Of the model that drafts; null: none does.
    [[nodiscard]] const std::shared_ptr<const StepParts>& drafter() const { return drafter_; }

  private:
    enum class Part : std::uint8_t { layers, head, attention, state };
    [[nodiscard]] Time time(const Request& request, Part part, std::int64_t new_tokens) const;
    [[nodiscard]] Time layers_of(std::int64_t tokens, Phase phase) const;
    [[nodiscard]] Time attention_of(std::int64_t sequences, std::int64_t context,
                                    std::int64_t new_tokens) const;
    [[nodiscard]] Time from_host(std::int64_t bytes) const;
    void prepare(Entry& entry, std::int64_t new_tokens) const;
    void distribute(Entry& entry) const;
    void choose_kernel(Entry& entry) const;
    void find_left_out();
    [[nodiscard]] Time sampling(std::int64_t rows) const;
    void find_mixed_calls(const Program& program);

    /// Attention of layers that are alike, without its sizes.
    struct MixedCall {
        model::MixedAttention operation;
        model::Execution execution;
        double count = 1.0;
    };

    Architecture architecture_;
    Deployment deployment_;
    const model::Machine& machine_;
    Engine engine_;
    std::int64_t vocabulary_ = 0;
    bool has_states_ = false;
    bool phases_differ_ = false;
    bool block_scaled_ = false;             ///< fp8 experts with scales of blocks
    std::vector<MixedCall> mixed_calls_{};  ///< empty: no kernel takes both
    std::optional<Encoder> encoder_{};
    std::shared_ptr<const StepParts> drafter_{};
    std::string left_out_;
    model::Grade evidence_ = model::Grade::datasheet;
};

/// Experts that at least one of `tokens` goes to, each to `active` of `experts`. (W12)
[[nodiscard]] double experts_touched(std::int64_t tokens, std::int64_t active,
                                     std::int64_t experts);

}  // namespace ridge::programs
