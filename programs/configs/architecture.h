// A model as numbers: the values of its family's symbols, for each kind of layer.
//
//   const Architecture a = read_config(text, "config.json");     // config_reader.h
//   parameters_of(a);                                            // 8030261248 for Llama 3.1 8B
//   a.value("hidden");                                           // a symbol of the family
//   for (const Weight& weight : weights_of(a)) ... weight.elements() * weight.count ...
//
// Method: the family's file (families/family.h) defines the symbols and lists each weight tensor once
// with its shape; parameter count, weight bytes, gradients and optimizer states are sums over that
// list. Layers with the same values are one kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "programs/configs/stored_format.h"
#include "programs/families/family.h"

namespace ridge::programs {

struct Architecture {
    std::string name;
    std::string family;  ///< the config's model_type
    std::string source;  ///< source of a preset's numbers
    std::shared_ptr<const Family> rules;
    SymbolValues fields;
    std::vector<std::vector<std::int64_t>> kinds;  ///< symbols of the different layers
    std::vector<std::uint8_t> layer_kinds;         ///< for each layer, its index in `kinds`
    std::vector<std::pair<std::int32_t, std::int64_t>> pinned;  ///< set by `with`
    std::optional<StoredFormat> stored;                         ///< of the checkpoint's weights
    std::int64_t first_layer = 0;  ///< of a stage of a pipeline, in the model
    bool embeds = true;            ///< a stage with what stands before the layers
    bool ends = true;              ///< and with what stands behind them

    [[nodiscard]] std::int64_t layers() const {
        return static_cast<std::int64_t>(layer_kinds.size());
    }
    /// Layers of that kind.
    [[nodiscard]] std::int64_t layers_of(std::size_t kind) const;
    /// The value of a symbol in a kind of layers; 0 if the family has no such symbol.
    [[nodiscard]] std::int64_t value(std::string_view symbol, std::size_t kind = 0) const;
    /// The largest value of a symbol in all kinds of layers.
    [[nodiscard]] std::int64_t most(std::string_view symbol) const;
    /// The same model with a symbol set, and what follows from it.
    [[nodiscard]] Architecture with(std::string_view symbol, std::int64_t value) const;
    /// The same model with its first `count` layers.
    [[nodiscard]] Architecture shortened(std::size_t count) const;
    /// Stage `index` of a pipeline of `stages`: its layers, the first with the embedding, the last with norm
    /// and head (and the embedding, if it is the head too). Layers that leave a remainder go to the last stages.
    [[nodiscard]] Architecture stage(std::int64_t index, std::int64_t stages) const;
    /// Whether this part of the model holds the weight.
    [[nodiscard]] bool holds(const WeightRule& rule) const;
    /// The same model with its layers for further tokens (multi-token prediction), as its last layers.
    [[nodiscard]] Architecture drafting() const;
};

/// What a step sets (StepSymbol), by name.
struct StepValues {
    std::array<std::int64_t, step_symbol_names.size()> values{};

    std::int64_t& operator[](StepSymbol symbol) { return values[static_cast<std::size_t>(symbol)]; }
};
/// The symbols of each kind during a step.
[[nodiscard]] std::vector<std::vector<std::int64_t>> symbols_of(const Architecture& architecture,
                                                                const StepValues& step);

/// The shape of a weight of one kind of layer; nothing if its condition does not hold.
struct WeightShape {
    std::int64_t rows = 0;     ///< outputs
    std::int64_t columns = 1;  ///< inputs
    std::int64_t stacked = 1;  ///< experts in one tensor
    bool bias = false;         ///< with one number per output
    bool exists = false;
};
[[nodiscard]] WeightShape shape_of(const WeightRule& rule, const Architecture& architecture,
                                   const std::vector<std::vector<std::int64_t>>& symbols,
                                   std::size_t kind);

struct Weight {
    std::string_view name;
    WeightRole role = WeightRole::product;
    std::int64_t rows = 0;
    std::int64_t columns = 1;
    std::int64_t stacked = 1;
    std::int64_t count = 1;   ///< number of layers that have such a tensor
    std::uint8_t kind = 0;    ///< index of the layer kind, for weights of a layer
    std::size_t rule = 0;     ///< index in the family's weights
    std::int8_t element = 0;  ///< bytes of an element, if not those of the model's type
    bool table = false;       ///< of whole numbers, which are no parameters

    [[nodiscard]] std::int64_t elements() const { return rows * columns * stacked; }
};

/// Each weight tensor once, with the number of layers that have it.
[[nodiscard]] std::vector<Weight> weights_of(const Architecture& architecture);
[[nodiscard]] std::int64_t parameters_of(const Architecture& architecture);
/// Parameters that one token uses: of the experts only the active ones.
[[nodiscard]] std::int64_t active_parameters_of(const Architecture& architecture);

/// Throws InputError naming the field if a check of the family fails: a size that is not positive,
/// does not divide another, or is larger than in any model (so that products of sizes stay far from
/// overflow).
void validate(const Architecture& architecture);

}  // namespace ridge::programs
