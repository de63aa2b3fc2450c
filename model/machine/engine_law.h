// Laws of engine kernels: the few mechanisms that their times follow, as data files name them.
//
//   const LawInfo& law = law_table()[law_index("tiled_product")];
//   law.attributes       // what a line of a dispatch may say: rows, columns, depth, step ...
//   law.parameters       // what a fit finds: start, step_1 ... with units, ranges and meanings
//
// A law is declared once: its name, the attributes of a dispatch, and a set of parameters with its table
// (`parameter.h`). Schema, reader, fit and docs/gpu-files.md follow from that. Its time is a function in
// `model/engine/`. To add a law: a header and source like `tiled_product_parameters.*`, a line in
// `all_laws()` (engine_law.cpp), and a line in `model/engine/laws.cpp`. Nothing else knows the laws.
//
// Limits: at most 24 attributes and 40 parameters for one law.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/error.h"
#include "hardware/schema.h"
#include "model/machine/parameter.h"

namespace ridge::model {

/// What a line of a dispatch may say, and its value where no line says it.
struct LawAttribute {
    std::string_view name;
    std::int64_t usual = 0;
    std::string_view meaning;
};
inline constexpr std::size_t most_attributes = 24;
using LawAttributes = std::array<std::int64_t, most_attributes>;

/// One parameter of a law, and its value where no file states it.
struct LawParameter {
    std::string_view name;
    hardware::Range range;
    std::string_view meaning;
    Origin origin = Origin::none;
    hardware::ValueKind kind = hardware::ValueKind::number;
    Dimension dimension{};
    double usual = 0.0;  ///< in base units
};
inline constexpr std::size_t most_law_parameters = 40;
/// Values in base units, in the order of the law's parameters.
using LawValues = std::array<double, most_law_parameters>;

struct LawInfo {
    std::string_view name;
    std::string_view title;
    std::span<const LawAttribute> attributes;
    std::vector<LawParameter> parameters;
    std::span<const std::string_view>
        features{};  ///< of its kernels' corrections; empty: they have none
};

/// Every law; a kernel keeps the place of its own.
[[nodiscard]] std::span<const LawInfo> law_table();

/// InputError with the nearest name.
[[nodiscard]] std::size_t law_index(std::string_view name);

/// A law's set of parameters, from their values.
template <class Set>
[[nodiscard]] Set set_of_values(std::span<const Parameter<Set>> table, const LawValues& values) {
    Set set;
    for (std::size_t i = 0; i < table.size(); ++i) table[i].write(set, values[i]);
    return set;
}

/// A field of the sections of kernels, model.engine.LAW.SOFTWARE.KERNEL (the software's name without its
/// version).
inline constexpr std::string_view engine_section = "model.engine";

/// Parameters that every law has: the half-widths of a kernel's 80 % band, in ln.
inline constexpr std::string_view band_below_name = "band_below";
inline constexpr std::string_view band_above_name = "band_above";

/// The fields of kernels of any name, for the schema.
[[nodiscard]] std::vector<hardware::Field> engine_fields();

}  // namespace ridge::model
