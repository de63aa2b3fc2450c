#include "programs/traces/hlo_inputs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "hardware/json.h"
#include "programs/traces/trace.h"

namespace ridge::programs {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 50U;

/// The name that PyTorch's profiler gives a type; unsigned integers have that of the signed. Empty: not known.
std::string_view type_word(std::int64_t type) {
    constexpr std::array<std::string_view, 21> words{"",
                                                     "bool",
                                                     "int8",
                                                     "int16",
                                                     "int",
                                                     "long int",
                                                     "int8",
                                                     "int16",
                                                     "int",
                                                     "long int",
                                                     "float16",
                                                     "float",
                                                     "double",
                                                     "",
                                                     "",
                                                     "complex<float>",
                                                     "bfloat16",
                                                     "",
                                                     "complex<double>",
                                                     "float8_e5m2",
                                                     "float8_e4m3fn"};
    const bool known = type >= 0 && std::cmp_less(type, words.size());
    return known ? words[static_cast<std::size_t>(type)] : std::string_view();
}

class Inputs {
  public:
    void add(std::string_view type, const std::vector<std::int64_t>& dims,
             const std::vector<std::int64_t>& strides = {}) {
        types_.push_back(std::string(type));
        dims_.push_back(list_of(dims));
        strides_.push_back(list_of(strides));
        values_.push_back(std::string());
    }
    [[nodiscard]] std::string text(std::string_view what) {
        types_.push_back(std::string());
        dims_.push_back(list_of({}));
        strides_.push_back(list_of({}));
        values_.push_back(std::string(what));
        return types_.text() + "|" + dims_.text() + "|" + strides_.text() + "|" + values_.text();
    }

  private:
    static Json list_of(const std::vector<std::int64_t>& numbers) {
        Json list = Json::array();
        for (const std::int64_t each : numbers) list.push_back(each);
        return list;
    }
    Json types_ = Json::array();
    Json dims_ = Json::array();
    Json strides_ = Json::array();
    Json values_ = Json::array();
};

/// One operand of a dot as a matrix: how long its batch, its sum and the rest of its dimensions are.
struct Matrix {
    std::int64_t batch = 1;
    std::int64_t sum = 1;
    std::int64_t rest = 1;
    bool along_sum = true;  ///< neighbours in memory are added up
    bool valid = true;
};

bool holds(const std::vector<std::int64_t>& list, std::int64_t value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

Matrix matrix_of(const HloShape& shape, const std::vector<std::int64_t>& sum,
                 const std::vector<std::int64_t>& batch) {
    Matrix matrix;
    const auto rank = static_cast<std::int64_t>(shape.dims.size());
    for (std::int64_t i = 0; i < rank; ++i) {
        std::int64_t& side = holds(sum, i)     ? matrix.sum
                             : holds(batch, i) ? matrix.batch
                                               : matrix.rest;
        const std::int64_t size = shape.dims[static_cast<std::size_t>(i)];
        if (size < 1 || side > most_elements / size) return {.valid = false};
        side *= size;
    }
    matrix.along_sum = holds(sum, shape.minor >= 0 ? shape.minor : rank - 1);
    return matrix;
}

/// [batch, rows, columns]; the batch only if there is one.
void add_matrix(Inputs& inputs, std::string_view type, std::int64_t batch, std::int64_t rows,
                std::int64_t columns, bool by_rows) {
    const std::int64_t size = rows > most_elements / columns ? most_elements : rows * columns;
    std::vector<std::int64_t> dims{rows, columns};
    std::vector<std::int64_t> strides{by_rows ? columns : 1, by_rows ? 1 : rows};
    if (batch > 1) {
        dims.insert(dims.begin(), batch);
        strides.insert(strides.begin(), size);
    }
    inputs.add(type, dims, strides);
}

std::string product_inputs(const HloDot& dot, bool library) {
    const Matrix a = matrix_of(dot.a, dot.a_sum, dot.a_batch);
    const Matrix b = matrix_of(dot.b, dot.b_sum, dot.b_batch);
    const bool fits = a.valid && b.valid && a.sum == b.sum && a.batch == b.batch;
    const std::string_view a_type = type_word(dot.a.type);
    const std::string_view b_type = type_word(dot.b.type);
    if (!fits || a_type.empty() || b_type.empty()) return {};
    Inputs inputs;
    add_matrix(inputs, a_type, a.batch, a.rest, a.sum, a.along_sum);
    add_matrix(inputs, b_type, a.batch, a.sum, b.rest, !b.along_sum);
    const bool rounded = a_type == "float" && !dot.exact;
    return inputs.text(std::string(library ? "hlo product library" : "hlo product fusion") +
                       (rounded ? " tf32" : ""));
}

std::string shapes_as_inputs(const HloInstruction& instruction) {
    Inputs inputs;
    for (const auto* shapes : {&instruction.operands, &instruction.results}) {
        for (const HloShape& shape : *shapes) {
            const std::string_view type = type_word(shape.type);
            if (type.empty()) return {};
            inputs.add(type, shape.dims);
        }
    }
    return inputs.text(instruction.whole ? "hlo traffic" : "hlo parts");
}

}  // namespace

std::string inputs_of(const HloInstruction& instruction) {
    std::string text;
    if (instruction.dot) {
        text = product_inputs(*instruction.dot, instruction.opcode == "custom-call");
    } else {
        text = shapes_as_inputs(instruction);
    }
    return text.size() < longest_text ? text : std::string();
}

}  // namespace ridge::programs
