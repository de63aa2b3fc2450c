#include "measure/fit/left_out.h"

#include <fmt/format.h>

#include <string_view>

#include "hardware/text_hash.h"
#include "model/core/fields.h"

namespace ridge::measure {
namespace {

bool is_in_fifth(std::string_view text) {
    constexpr std::uint64_t parts = 5;
    return upper_half(text_hash(text)) % parts == 0;
}

/// Heads and head dimension, which a model has and a batch does not.
std::string heads_text(const model::Attention& op) {
    return fmt::format("attention|heads={}|kv_heads={}|head_dim={}", op.heads, op.kv_heads,
                       op.head_dim);
}

/// The shape without types.
std::string shape_text(const model::Operation& operation) {
    if (const auto* const attention = std::get_if<model::Attention>(&operation)) {
        return fmt::format("{}|batch={}|seq_q={}|seq_kv={}", heads_text(*attention),
                           attention->batch, attention->seq_q, attention->seq_kv);
    }
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
    const auto* const attention = std::get_if<model::Attention>(&operation);
    if (attention != nullptr && is_in_fifth(heads_text(*attention))) return Side::pair_left_out;
    return is_in_fifth(shape_text(operation)) ? Side::left_out : Side::fitted;
}

std::string fold_of_shape(const MeasuredRow& row) {
    const auto* const product = std::get_if<model::Matmul>(&row.operation);
    if (product != nullptr) return pair_text(*product);
    const auto* const attention = std::get_if<model::Attention>(&row.operation);
    return attention != nullptr ? heads_text(*attention) : shape_text(row.operation);
}

}  // namespace ridge::measure
