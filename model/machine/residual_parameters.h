// The residual correction of a GPU, as its description holds it: for each class of operations a sum
// of small trees, fitted to ln(measured / predicted). (docs/model.md K1 to K3)
//
//   [model.residual.decode]
//   implementation = { value = "flash3", source = "FIT" }
//   spread = { value = 0.67, source = "FIT" }
//   range = { value = "batch 0 11, keys 1 17", source = "FIT" }
//   splits = { value = "batch 25000 2000, keys 95000 4000", source = "FIT" }
//   trees = { value = "0 2 1 0 31 -4 0 12 5 ..., 2 2 0 1 ...", source = "FIT" }
//
//   const ResidualFit* const fit = machine.residuals->find(ResidualClass::decode);
//
// The names are features of the shape (`residual_features`) and `range` is the box of the data in them.
// `splits` names for each feature its thresholds, each with the width of its ramp; they are numbered
// from 0 as they stand. A tree is the numbers of its four splits and 16 values. All in ten-thousandths.
// `residual_forest.h` evaluates them.
//
// Limits: those of `residual_forest.h`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/description.h"
#include "hardware/schema.h"
#include "model/core/implementation.h"
#include "model/machine/residual_forest.h"

namespace ridge::model {

/// Operations that share one correction.
enum class ResidualClass : std::uint8_t {
    product_16,      ///< library products of 16 bits
    product_8,       ///< of fp8
    product_4,       ///< of nvfp4
    prefill,         ///< causal attention over all tokens
    decode,          ///< one query
    prefill_cache8,  ///< over an 8-bit cache
    decode_cache8,
    latent_prefill,
    latent_decode,
    experts
};
inline constexpr std::size_t residual_class_count = 10;
[[nodiscard]] std::string_view name_of(ResidualClass residual_class);

/// The names of a class's features, in the order in which `model/residual/features.h` gives them.
[[nodiscard]] std::span<const std::string_view> residual_features(ResidualClass residual_class);

/// The box of the data in one feature.
struct ResidualRange {
    double least = 0.0;
    double most = 0.0;
};

/// The correction of one class.
struct ResidualFit {
    Implementation implementation = Implementation::automatic;
    double spread = 1.0;  ///< of what it leaves over the spread of the analytic model's residuals
    std::array<ResidualRange, most_residual_features> range{};
    ResidualForest forest;
};

/// All corrections of a GPU.
struct Residuals {
    std::array<std::optional<ResidualFit>, residual_class_count> classes;

    [[nodiscard]] const ResidualFit* find(ResidualClass residual_class) const {
        const auto& found = classes[static_cast<std::size_t>(residual_class)];
        return found ? &*found : nullptr;
    }
};

/// The fields of a description that hold corrections.
[[nodiscard]] std::vector<hardware::Field> residual_schema();

/// The corrections of a description; empty where it has none. InputError names the field that cannot
/// be understood.
[[nodiscard]] std::shared_ptr<const Residuals> read_residuals(const hardware::Description& gpu);

/// The values of the fields `range`, `splits` and `trees`, as a description writes them.
[[nodiscard]] std::string range_text(ResidualClass residual_class, const ResidualFit& fit);
[[nodiscard]] std::string splits_text(ResidualClass residual_class, const ResidualForest& forest);
[[nodiscard]] std::string trees_text(const ResidualForest& forest);

}  // namespace ridge::model
