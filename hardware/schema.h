// The one table of the fields that a description may have.
//
//   const Field* field = find_field("dram.bandwidth");   // kind quantity, dimension byte/second
//   nearest_field("dram.bandwith")                       // "dram.bandwidth"
//
// A row gives the path, the kind of value, the dimension of a quantity, whether every GPU must have
// the field, and what it means; loader, accessors, listing, JSON and documentation all follow the
// table, so adding a row is the only step to add a field.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hardware/quantity.h"

namespace ridge::hardware {

enum class ValueKind { quantity, count, number, text };

enum class Presence { optional, required_for_gpu };

struct Field {
    std::string_view path;
    ValueKind kind = ValueKind::quantity;
    Dimension dimension;
    Presence presence = Presence::optional;
    std::string_view meaning;
};

/// All fields, in the order in which they are shown.
[[nodiscard]] std::span<const Field> schema();

/// The field of this path, or nullptr.
[[nodiscard]] const Field* find_field(std::string_view path);

/// Whether `path` is a section: "dram" and "rate.fma" are, "dram.bandwidth" is not.
[[nodiscard]] bool is_section(std::string_view path);

/// The known field whose path is nearest, or "".
[[nodiscard]] std::string nearest_field(std::string_view path);

/// The base unit of a field as it is written behind names in JSON: "bytes_per_s", "" for counts.
[[nodiscard]] std::string_view unit_suffix(const Field& field);

}  // namespace ridge::hardware
