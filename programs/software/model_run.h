// A symbolic run of a model: its family's operations as one software executes them.
//
//   ModelRun run(architecture, request);
//   run.run();
//   run.recorder().kernels();      // launched kernels, equal ones counted together
//   run.recorder().memory();       // weights, then the step's allocations
//
// Method: the family's file and the software's rules (rules/NAME.toml) give flat instructions for each
// kind of layer (families/procedure.h), each of which is a call of the recorder. A step runs the
// procedures embed, masks, positions, layer for each layer, and finish. In inference, layers of one
// kind are identical: only the first and the last of each kind are run, the others are counted with
// the first, and their part of the cache is allocated (skip_cache).
// Limits: no padding mask (all sequences have the same length).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "programs/configs/architecture.h"
#include "programs/families/procedure.h"
#include "programs/software/recorder.h"
#include "programs/software/request.h"

namespace ridge::programs {

class ModelRun {
  public:
    ModelRun(const Architecture& architecture, const Request& request, bool memory = true);

    void run();
    [[nodiscard]] const Recorder& recorder() const { return run_; }
    /// Elements of the weights that this GPU holds.
    [[nodiscard]] std::int64_t weight_elements() const { return weight_elements_; }

  private:
    /// The weights of the model or of one layer, by rule.
    struct Weights {
        std::vector<Linear> by_rule;
        std::int64_t elements = 0;
        std::int64_t bytes = 0;
    };
    struct Cache {
        Buffer keys, values, state;
    };

    // Weights, states, cache (model_run_weights.cpp).
    void make_weights();
    void allocate_rest();
    [[nodiscard]] Weights make_layer(std::size_t kind);
    void make_weight(Weights& weights, std::size_t rule, std::size_t kind);
    [[nodiscard]] WeightShape joined_shape(std::size_t rule, std::size_t kind) const;
    void make_cache();
    void make_buckets();
    void make_states();

    // The step.
    [[nodiscard]] Code code(std::string_view name, std::size_t kind, int arguments) const;
    Buffer execute(const Code& code, Buffer argument);
    void step(std::string_view name);
    void run_layers(Buffer& x);
    void run_layer(Buffer& x, std::size_t layer, std::int64_t times);
    void update();
    void gather_layer(std::int64_t layer);
    void gather_rest();
    void gather_again(std::int64_t layer);
    void gather(std::int64_t stored, Buffer& buffer);
    [[nodiscard]] Buffer gathered_buffer(std::int64_t stored);
    [[nodiscard]] std::int64_t rest_elements() const;
    void send_gather(std::int64_t stored);
    void copy_out(std::int64_t stored);
    /// Whether weights are gathered for the forward pass, and whether they are freed after it.
    [[nodiscard]] bool gathers() const {
        return request_.training() && request_.zero >= 2 && request_.data_parallel >= 2;
    }
    [[nodiscard]] bool frees() const { return gathers() && request_.zero >= 3; }
    /// Elements of the weights of which this GPU stores `stored`.
    [[nodiscard]] std::int64_t whole(std::int64_t stored) const {
        return frees() ? stored * request_.data_parallel : stored;
    }

    // One instruction (model_run_calls.cpp).
    struct Call;
    void call(const Code& code, const Instruction& instruction);
    [[nodiscard]] Buffer rows_call(Call& call);
    [[nodiscard]] Buffer moving_call(Call& call);
    [[nodiscard]] Buffer product_call(Call& call);
    [[nodiscard]] Buffer elementwise_call(Call& call);
    [[nodiscard]] Buffer attention_call(Call& call);
    [[nodiscard]] Buffer recurrence_call(Call& call);
    [[nodiscard]] Buffer chosen_call(Call& call);
    void index_call(Call& call);
    void launch_call(Call& call);
    void split_call(const Code& code, Call& call);
    void check(const Call& call) const;
    [[nodiscard]] Buffer apply(Buffer x, const Linear& layer, std::string_view name);
    [[nodiscard]] Buffer take(const Operand& operand);
    void give(const Operand& operand, Buffer made);
    [[nodiscard]] const Linear& weight(std::int32_t rule) const;
    [[nodiscard]] Buffer& global(std::int32_t index);
    [[nodiscard]] model::DataType type_of(std::int16_t word) const;

    [[nodiscard]] model::DataType stored_type() const {
        return request_.mixed ? model::DataType::fp32 : request_.type;
    }
    [[nodiscard]] std::int64_t own_part(std::int64_t elements) const;

    const Architecture& architecture_;
    Request request_;
    Recorder run_;
    const Procedures& procedures_;
    std::vector<Module> modules_;                     ///< of the procedures' module names
    std::vector<std::vector<std::int64_t>> symbols_;  ///< of each kind, during this step
    std::vector<std::vector<std::int64_t>> rows_;     ///< of each weight, by kind
    std::vector<Code> codes_;                         ///< `layer`, by kind
    std::vector<Code> skips_;                         ///< `skip_cache`, by kind
    std::int32_t keys_ = -1;                          ///< the global @keys, which each layer has
    std::int32_t values_global_ = -1;
    std::size_t layer_ = 0;
    std::size_t weights_at_ = 0;  ///< index in `layers_` of the layer that runs
    Weights model_;
    std::vector<Weights> layers_;  ///< one per kind, or one per layer in training
    Buffer rest_;                  ///< weights of the layers that are not run, as one tensor
    std::vector<Cache> cache_;
    std::vector<Buffer> states_;
    std::vector<Buffer> held_;  ///< the old cache of a compiled step, which the caller still holds
    Buffer buckets_;            ///< of gradients, with several GPUs
    Buffer share_;              ///< of the weights, with ZeRO 2
    std::int64_t weight_elements_ = 0;
    Buffer gathered_, gathered_rest_;
    std::int64_t ahead_ = -1;  ///< layer whose gather has been sent in the backward pass
    std::vector<model::DataType> value_types_;
    std::vector<Buffer> globals_;
    std::vector<Buffer> values_;
};

}  // namespace ridge::programs
