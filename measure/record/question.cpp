#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "measure/record/question.h"

namespace ridge::measure {
namespace {

using model::DataType;
using model::Field;

/// Builds "name field=value ..." from fields in the order in which they are added.
class Words {
  public:
    explicit Words(std::string_view name) : text_(name) {}

    void add(Field field, std::string_view value) {
        const bool spaced = value.find(' ') != std::string_view::npos;
        text_ += fmt::format(" {}={}{}{}", model::info_of(field).name, spaced ? "\"" : "", value,
                             spaced ? "\"" : "");
    }
    void add(Field field, std::int64_t value) { add(field, std::to_string(value)); }
    void add(Field field, DataType value) { add(field, name_of(value)); }
    void add_unless(Field field, std::int64_t value, std::int64_t usual) {
        if (value != usual) add(field, value);
    }

    [[nodiscard]] std::string text() const { return text_; }

  private:
    std::string text_;
};

DataType usual_output(DataType type) {
    switch (type) {
        case DataType::tf32:
        case DataType::int8:
            return DataType::fp32;
        case DataType::fp8:
            return DataType::bf16;
        default:
            return type;
    }
}

void add_direction(Words& words, model::Direction direction) {
    if (direction == model::Direction::backward) words.add(Field::direction, "backward");
}

constexpr std::array<std::string_view, 4> default_scalars{"c", "alpha", "beta", "eps"};
constexpr std::array<std::string_view, 3> default_vectors{"bias", "gamma", "scale"};

/// Names of inputs of one shape that the grammar would not take for it by default.
std::string declared(const model::Expression& expression, model::InputShape shape) {
    const auto usual = [shape](const std::string& name) {
        const auto holds = [&name](const auto& names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        return shape == model::InputShape::scalar ? holds(default_scalars) : holds(default_vectors);
    };
    std::string names;
    for (const model::Node& node : expression.nodes()) {
        if (node.function != model::Function::input || node.shape != shape || usual(node.name)) {
            continue;
        }
        names += (names.empty() ? "" : ",") + node.name;
    }
    return names;
}

struct Describe {
    std::string operator()(const model::Matmul& op) const {
        constexpr std::array<std::string_view, 5> epilogues{"none", "bias", "bias_relu",
                                                            "bias_gelu", "accumulate"};
        Words words("matmul");
        words.add(Field::dtype, op.type);
        words.add_unless(Field::batch, op.batch, 1);
        words.add(Field::m, op.m);
        words.add(Field::n, op.n);
        words.add(Field::k, op.k);
        const DataType accumulator = op.type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
        if (op.accumulate != accumulator) words.add(Field::accumulate, op.accumulate);
        if (op.output != usual_output(op.type)) words.add(Field::out_dtype, op.output);
        if (op.a_layout != model::Layout::row_major) words.add(Field::a_layout, "column");
        if (op.b_layout != model::Layout::row_major) words.add(Field::b_layout, "column");
        if (op.epilogue != model::Epilogue::none) {
            words.add(Field::epilogue, epilogues[static_cast<std::size_t>(op.epilogue)]);
        }
        return words.text();
    }
    std::string operator()(const model::Attention& op) const {
        Words words("attention");
        words.add(Field::dtype, op.type);
        words.add_unless(Field::batch, op.batch, 1);
        words.add(Field::heads, op.heads);
        words.add_unless(Field::kv_heads, op.kv_heads, op.heads);
        words.add(Field::seq_q, op.seq_q);
        words.add_unless(Field::seq_kv, op.seq_kv, op.seq_q);
        words.add(Field::head_dim, op.head_dim);
        if (op.causal) words.add(Field::causal, 1);
        words.add_unless(Field::window, op.window, 0);
        if (op.kv_write) words.add(Field::kv_write, 1);
        add_direction(words, op.direction);
        return words.text();
    }
    std::string operator()(const model::Elementwise& op) const {
        Words words("elementwise");
        words.add(Field::dtype, op.type);
        words.add(Field::elements, op.elements);
        words.add(Field::expr, to_string(op.expression));
        const std::string vectors = declared(op.expression, model::InputShape::vector);
        const std::string scalars = declared(op.expression, model::InputShape::scalar);
        if (!vectors.empty()) words.add(Field::vectors, vectors);
        if (!scalars.empty()) words.add(Field::scalars, scalars);
        add_direction(words, op.direction);
        return words.text();
    }
    std::string operator()(const model::RowWise& op) const {
        Words words(name_of(model::Operation(op)));
        words.add(Field::dtype, op.type);
        words.add(Field::rows, op.rows);
        words.add(Field::cols, op.cols);
        add_direction(words, op.direction);
        return words.text();
    }
    std::string operator()(const model::Transpose& op) const {
        Words words("transpose");
        words.add(Field::dtype, op.type);
        words.add(Field::rows, op.rows);
        words.add(Field::cols, op.cols);
        return words.text();
    }
    std::string operator()(const model::Copy& op) const {
        Words words("copy");
        words.add(Field::dtype, op.type);
        words.add(Field::elements, op.elements);
        return words.text();
    }
    std::string operator()(const model::Gather& op) const {
        Words words("gather");
        words.add(Field::dtype, op.type);
        words.add(Field::rows, op.rows);
        words.add(Field::cols, op.cols);
        words.add(Field::table_rows, op.table_rows);
        return words.text();
    }
    std::string operator()(const model::Access& op) const {
        Words words("access");
        words.add(Field::pattern, name_of(op.pattern));
        words.add(Field::dtype, op.type);
        words.add(Field::elements, op.elements);
        words.add(*model::find_field(degree_name(op.pattern)), op.degree);
        return words.text();
    }
    std::string operator()(const model::Collective& op) const {
        Words words(name_of(model::Operation(op)));
        words.add_unless(Field::gpus, op.gpus, 2);
        words.add(Field::bytes, op.bytes);
        return words.text();
    }
};

std::string tile_text(const model::Tile& tile) {
    return tile.k > 0 ? fmt::format("{}x{}x{}", tile.m, tile.n, tile.k)
                      : fmt::format("{}x{}", tile.m, tile.n);
}

}  // namespace

std::string canonical_text(const model::Operation& operation) {
    return std::visit(Describe{}, operation);
}

std::string canonical_text(const Question& question) {
    std::string text = canonical_text(question.operation);
    text += fmt::format(" impl={} l2={} launch={}", name_of(question.execution.implementation),
                        name_of(question.execution.l2), name_of(question.execution.launch));
    if (question.execution.tile) text += " tile=" + tile_text(*question.execution.tile);
    if (question.pattern != DataPattern::normal) {
        text += " data=" + std::string(name_of(question.pattern));
    }
    return text;
}

std::string key_of(const Question& question, const std::string& device_name) {
    return canonical_text(question) + " on " + device_name;
}

}  // namespace ridge::measure
