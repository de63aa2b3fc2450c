// A part of a GPU, or a GPU under another power limit, as a description of its own:
// h100:1g.10gb (a MIG slice), h100@500W, h100:3g.40gb@300W.
//
//   if (const auto variant = parse_variant("h100:1g.10gb")) {
//       catalogue.add_text(variant_toml(catalogue.at(variant->base), *variant), "h100:1g.10gb");
//   }
//
// Method: the facts of the GPU, scaled. A slice has the multiprocessors that the vendor states for
// its profile (field `mig.sms`) and that share of the peaks; its memory is its part in eighths of
// the capacity, and L2 and DRAM bandwidth are the same part; it has no links to other GPUs, and its
// share of the power is that of its multiprocessors. What was measured on the whole GPU is left
// out: parameters carry over by the laws for GPUs that nobody measured, and answers say so.
// Limits: slices beside each other are assumed not to disturb one another.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware/description.h"
#include "hardware/quantity.h"

namespace ridge::hardware {

struct Variant {
    std::string name{};   ///< as written
    std::string base{};   ///< "h100"
    std::string slice{};  ///< "1g.10gb"; empty: the whole GPU
    std::optional<Power> limit{};
};

/// Empty if the name has neither ':' nor '@'. InputError if the slice or the limit is malformed.
[[nodiscard]] std::optional<Variant> parse_variant(std::string_view name);

/// The description as a file. InputError if the GPU has no such slice (with those that it has), no
/// power limit, or a limit above its own or below a tenth of it.
[[nodiscard]] std::string variant_toml(const Description& base, const Variant& variant);

}  // namespace ridge::hardware
