// The residual correction of a GPU, as its description holds it: for each class of operations a short
// polynomial that a fit found in ln(measured / predicted). (docs/model.md K1 to K3)
//
//   [model.residual.decode]
//   implementation = { value = "flash3", source = "FIT" }
//   spread = { value = 0.67, source = "FIT" }
//   range = { value = "batch 0 11, keys 1 17", source = "FIT" }
//   terms = { value = "-0.0121, 0.0342 keys, 0.0087 batch^2 keys", source = "FIT" }
//
//   const ResidualFit* const fit = machine.residuals->find(ResidualClass::decode);
//
// The names are features of the shape (`residual_features`), `range` is the box of the data in them
// and `x^2` is the Legendre polynomial of degree 2 over that box. `model/residual/` evaluates it.
//
// Limits: a term has at most two features; a class has at most 40 terms.
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
#include "model/core/static_vector.h"

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

inline constexpr std::size_t most_residual_features = 11;
inline constexpr std::size_t most_residual_terms = 40;
inline constexpr std::uint8_t most_residual_degree = 4;

/// The names of a class's features, in the order in which `model/residual/features.h` gives them.
[[nodiscard]] std::span<const std::string_view> residual_features(ResidualClass residual_class);

/// coefficient x P_degree(first) x P_degree(second); degree 0 stands for no feature.
struct ResidualTerm {
    double coefficient = 0.0;
    std::uint8_t first = 0;
    std::uint8_t first_degree = 0;
    std::uint8_t second = 0;
    std::uint8_t second_degree = 0;
};

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
    StaticVector<ResidualTerm, most_residual_terms> terms;
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

/// The values of the fields `range` and `terms`, as a description writes them.
[[nodiscard]] std::string range_text(ResidualClass residual_class, const ResidualFit& fit);
[[nodiscard]] std::string terms_text(ResidualClass residual_class, const ResidualFit& fit);

}  // namespace ridge::model
