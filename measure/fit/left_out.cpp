#include "measure/fit/left_out.h"

#include <fmt/format.h>

#include <string_view>

#include "model/core/fields.h"

namespace ridge::measure {
namespace {

/// FNV-1a.
bool is_in_fifth(std::string_view text) {
    std::uint64_t hash = 14695981039346656037U;
    for (const char letter : text) {
        hash ^= static_cast<unsigned char>(letter);
        hash *= 1099511628211U;
    }
    constexpr std::uint64_t parts = 5;
    constexpr unsigned upper = 32;  // the lower bits of FNV-1a are weak
    return (hash >> upper) % parts == 0;
}

/// The shape without types.
std::string shape_text(const model::Operation& operation) {
    std::string text(name_of(operation));
    const model::Parameters parameters = model::parameters_of(operation);
    for (const model::FieldInfo& each : model::field_table()) {
        if (each.kind != model::FieldKind::count || !parameters.has(each.field)) continue;
        text += fmt::format("|{}={}", each.name, parameters.count(each.field));
    }
    return text;
}

std::string pair_text(const model::Matmul& op) {
    return fmt::format("matmul|n={}|k={}", op.n, op.k);
}

}  // namespace

Side side_of(const model::Operation& operation) {
    const auto* const product = std::get_if<model::Matmul>(&operation);
    if (product != nullptr && is_in_fifth(pair_text(*product))) return Side::pair_left_out;
    return is_in_fifth(shape_text(operation)) ? Side::left_out : Side::fitted;
}

std::string fold_of_shape(const MeasuredRow& row) {
    const auto* const product = std::get_if<model::Matmul>(&row.operation);
    return product != nullptr ? pair_text(*product) : shape_text(row.operation);
}

}  // namespace ridge::measure
