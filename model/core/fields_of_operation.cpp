// From an operation back to its fields and its text (fields.h).
#include <algorithm>
#include <array>

#include "model/core/fields.h"

namespace ridge::model {
namespace {

constexpr std::array<std::string_view, 4> default_scalars{"c", "alpha", "beta", "eps"};
constexpr std::array<std::string_view, 3> default_vectors{"bias", "gamma", "scale"};

/// Names of the inputs of one shape to which the grammar would not give this shape by default.
std::string declared(const Expression& expression, InputShape shape) {
    const auto usual = [shape](const std::string& name) {
        const auto holds = [&name](const auto& names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        return shape == InputShape::scalar ? holds(default_scalars) : holds(default_vectors);
    };
    std::string names;
    for (const Node& node : expression.nodes()) {
        if (node.function != Function::input || node.shape != shape || usual(node.name)) continue;
        names += (names.empty() ? "" : ",") + node.name;
    }
    return names;
}

/// Collects the fields of one operation, leaving out those at their default.
class FieldsOf {
  public:
    void operator()(const Matmul& op) {
        type(op.type);
        unless(Field::batch, op.batch, 1);
        count(Field::m, op.m);
        count(Field::n, op.n);
        count(Field::k, op.k);
        word_unless(Field::accumulate, op.accumulate, default_accumulator(op.type));
        word_unless(Field::out_dtype, op.output, default_output(op.type));
        word_unless(Field::a_layout, op.a_layout, Layout::row_major);
        word_unless(Field::b_layout, op.b_layout, Layout::row_major);
        word_unless(Field::epilogue, op.epilogue, Epilogue::none);
    }
    void operator()(const Attention& op) {
        type(op.type);
        unless(Field::batch, op.batch, 1);
        count(Field::heads, op.heads);
        unless(Field::kv_heads, op.kv_heads, op.heads);
        count(Field::seq_q, op.seq_q);
        unless(Field::seq_kv, op.seq_kv, op.seq_q);
        count(Field::head_dim, op.head_dim);
        unless(Field::causal, op.causal ? 1 : 0, 0);
        unless(Field::window, op.window, 0);
        unless(Field::kv_write, op.kv_write ? 1 : 0, 0);
        unless(Field::paged, op.paged ? 1 : 0, op.kv_write ? 1 : 0);
        word_unless(Field::kv_dtype, cache_type_of(op), op.type);
        word_unless(Field::direction, op.direction, Direction::forward);
    }
    void operator()(const Mla& op) {
        const Mla usual;
        count(Field::phase, static_cast<std::int64_t>(op.phase));
        type(op.type);
        word_unless(Field::kv_dtype, cache_type_of(op), op.type);
        unless(Field::batch, op.batch, 1);
        count(Field::heads, op.heads);
        count(Field::seq_q, op.seq_q);
        unless(Field::seq_kv, op.seq_kv, op.seq_q);
        unless(Field::latent_dim, op.latent_dim, usual.latent_dim);
        unless(Field::rope_dim, op.rope_dim, usual.rope_dim);
        unless(Field::head_dim, op.head_dim, usual.head_dim);
    }
    void operator()(const SparseAttention& op) {
        const SparseAttention usual;
        const bool indexes = op.part == SparsePart::index;
        type(op.type);
        if (!indexes) word_unless(Field::kv_dtype, cache_type_of(op), op.type);
        unless(Field::batch, op.batch, 1);
        count(Field::heads, op.heads);
        count(Field::seq_q, op.seq_q);
        unless(Field::seq_kv, op.seq_kv, op.seq_q);
        if (indexes) {
            unless(Field::head_dim, op.head_dim, usual.head_dim);
            return;
        }
        count(Field::topk, op.topk);
        unless(Field::latent_dim, op.latent_dim, usual.latent_dim);
        unless(Field::rope_dim, op.rope_dim, usual.rope_dim);
    }
    void operator()(const MixedAttention& op) {
        const MixedAttention usual;
        type(op.type);
        word_unless(Field::kv_dtype, cache_type_of(op), op.type);
        count(Field::heads, op.heads);
        unless(Field::kv_heads, op.kv_heads, op.heads);
        count(Field::seq_q, op.seq_q);
        unless(Field::seq_kv, op.seq_kv, op.seq_q);
        count(Field::decodes, op.decodes);
        count(Field::decode_kv, op.decode_kv);
        unless(Field::head_dim, op.head_dim, usual.head_dim);
    }
    void operator()(const Moe& op) {
        type(op.type);
        count(Field::tokens, op.tokens);
        count(Field::hidden, op.hidden);
        count(Field::intermediate, op.intermediate);
        count(Field::topk, op.topk);
        count(Field::experts, op.experts);
        unless(Field::tp, op.tp, 1);
        unless(Field::ep, op.ep, 1);
        unless(Field::distribution, op.load.exponent_thousandths, 0);
        word_unless(Field::weight_dtype, weight_type_of(op), op.type);
        if (!op.gated || !is_usually_gated(op)) count(Field::gated, op.gated ? 1 : 0);
    }
    void operator()(const Recurrence& op) {
        const Recurrence usual;
        const bool mamba = op.kind == RecurrenceKind::mamba2;
        count(Field::part, static_cast<std::int64_t>(op.part));
        count(Field::phase, static_cast<std::int64_t>(op.phase) + recurrence_phases);
        type(op.type);
        unless(Field::batch, op.batch, usual.batch);
        count(Field::seq, op.seq);
        unless(Field::conv, op.conv, usual.conv);
        count(mamba ? Field::heads : Field::k_heads, mamba ? op.v_heads : op.k_heads);
        if (mamba) {
            unless(Field::groups, op.k_heads, 1);
            unless(Field::state, op.head_k_dim, usual.head_k_dim);
            unless(Field::head_dim, op.head_v_dim, mamba_head);
            unless(Field::chunk, op.chunk, mamba_chunk);
            return;
        }
        unless(Field::head_k_dim, op.head_k_dim, usual.head_k_dim);
        unless(Field::v_heads, op.v_heads, op.k_heads);
        unless(Field::head_v_dim, op.head_v_dim, usual.head_v_dim);
        unless(Field::chunk, op.chunk, usual.chunk);
    }
    void operator()(const TokenWise& op) {
        type(op.type);
        const bool convolves = op.kind == TokenKind::conv1d;
        count(convolves ? Field::seq : Field::rows, op.rows);
        count(Field::cols, op.cols);
        if (op.kind == TokenKind::topk) count(Field::topk, op.width);
        if (op.kind == TokenKind::quantize) word_unless(Field::out_dtype, op.output, DataType::fp8);
        if (!convolves) return;
        unless(Field::conv, op.width, Recurrence{}.conv);
        unless(Field::batch, op.batch, 1);
    }
    void operator()(const Elementwise& op) {
        type(op.type);
        count(Field::elements, op.elements);
        parameters_.set(Field::expr, to_string(op.expression));
        text_if(Field::vectors, declared(op.expression, InputShape::vector));
        text_if(Field::scalars, declared(op.expression, InputShape::scalar));
        word_unless(Field::out_dtype, op.result(), op.type);
        word_unless(Field::direction, op.direction, Direction::forward);
    }
    void operator()(const RowWise& op) {
        matrix(op);
        word_unless(Field::axis, op.axis, Axis::rows);
        word_unless(Field::direction, op.direction, Direction::forward);
    }
    void operator()(const Transpose& op) {
        matrix(op);
        unless(Field::batch, op.batch, 1);
        unless(Field::inner, op.inner, 1);
    }
    void operator()(const Copy& op) {
        type(op.type);
        count(Field::elements, op.elements);
        unless(Field::stride, op.stride, 1);
    }
    void operator()(const Cat& op) {
        matrix(op);
        count(Field::inputs, op.inputs);
        word_unless(Field::axis, op.axis, Axis::columns);
        unless(Field::inner, op.inner, 0);
    }
    void operator()(const AdamW& op) {
        type(op.type);
        count(Field::elements, op.elements);
        unless(Field::inputs, op.tensors, 1);
    }
    void operator()(const Gather& op) {
        matrix(op);
        count(Field::table_rows, op.table_rows);
    }
    void operator()(const Access& op) {
        parameters_.set(Field::pattern, name_of(op.pattern));
        type(op.type);
        count(Field::elements, op.elements);
        if (const auto degree = find_field(degree_name(op.pattern))) count(*degree, op.degree);
    }
    void operator()(const Collective& op) {
        word_unless(Field::dtype, op.type, DataType::bf16);
        unless(Field::gpus, op.gpus, 2);
        count(Field::bytes, op.bytes);
        word_unless(Field::nvls, op.nvls, SwitchAddition::automatic);
    }
    void operator()(const OwnKernel& op) {
        const OwnKernel usual;
        type(op.type);
        unless(Field::flop, op.flop, 0);
        word_unless(Field::pipe, op.pipe, usual.pipe);
        unless(Field::bytes, op.bytes, 0);
        unless(Field::l2_bytes, op.l2_bytes, 0);
        unless(Field::grid, op.grid, 0);
        unless(Field::block, op.block, usual.block);
        unless(Field::registers, op.registers, 0);
        unless(Field::shared, op.shared, 0);
    }

    [[nodiscard]] Parameters parameters() && { return std::move(parameters_); }

  private:
    void type(DataType value) { parameters_.set(Field::dtype, name_of(value)); }
    void count(Field field, std::int64_t value) { parameters_.set_count(field, value); }
    void unless(Field field, std::int64_t value, std::int64_t usual) {
        if (value != usual) count(field, value);
    }
    template <class Enum>
    void word_unless(Field field, Enum value, Enum usual) {
        if (value != usual) count(field, static_cast<std::int64_t>(value));
    }
    void text_if(Field field, const std::string& text) {
        if (!text.empty()) parameters_.set(field, text);
    }
    template <class Op>
    void matrix(const Op& op) {
        type(op.type);
        count(Field::rows, op.rows);
        count(Field::cols, op.cols);
    }

    Parameters parameters_;
};

}  // namespace

DataType default_accumulator(DataType type) {
    return type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
}

DataType default_output(DataType type) {
    switch (type) {
        case DataType::tf32:
            return DataType::fp32;
        case DataType::fp8:
        case DataType::fp8_block:
        case DataType::nvfp4:
        case DataType::mxfp4:
        case DataType::mxfp8:
        case DataType::int4:
            return DataType::bf16;
        case DataType::int8:
            return DataType::fp32;
        default:
            return type;
    }
}

Parameters parameters_of(const Operation& operation) {
    FieldsOf fields;
    std::visit(fields, operation);
    return std::move(fields).parameters();
}

std::string text_of(OperationKind kind, const Parameters& parameters) {
    std::string text(info_of(kind).name);
    for (const FieldInfo& info : field_table()) {
        if (!parameters.has(info.field) || !applies(kind, info.field)) continue;
        const std::string value = parameters.text(info.field);
        const char* const quote = value.find(' ') == std::string::npos ? "" : "\"";
        text += " " + std::string(info.name) + "=" + quote + value + quote;
    }
    return text;
}

}  // namespace ridge::model
