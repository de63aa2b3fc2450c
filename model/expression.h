// Elementwise expressions: "gelu(x + bias)" parsed to a graph, with counts unfused and fused.
//
// Grammar (usual precedence; ^ binds tightest to the right and is a power):
//   expr   := term (('+' | '-') term)*        term := unary (('*' | '/') unary)*
//   unary  := '-' unary | power               power := primary ('^' unary)?
//   primary := number | name | name '(' expr (',' expr)* ')' | '(' expr ')'
// Names that are not functions are inputs. Inputs named c, alpha, beta or eps (or declared so) are
// scalars, bias, gamma and scale (or declared so) are vectors broadcast over rows; all others are
// tensors of the full shape. Equal subexpressions are one node.
//
//   const Expression e = parse_expression("sin(x)^2 + cos(x)^2");
//   e.unfused().kernels == 5, .reads == 6, .writes == 5;  e.fused().reads == 1, .writes == 1
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::model {

enum class Function : std::uint8_t {
    input,
    constant,
    add,
    subtract,
    multiply,
    divide,
    power,
    negate,
    absolute,
    minimum,
    maximum,
    relu,
    exponential,
    exponential2,
    logarithm,
    sine,
    cosine,
    tangent_hyperbolic,
    sigmoid,
    silu,
    gelu_erf,
    gelu_tanh,
    error_function,
    square_root,
    reciprocal_square_root,
    reciprocal,
    square
};

enum class InputShape : std::uint8_t { tensor, vector, scalar };

struct Node {
    Function function = Function::input;
    std::int32_t first = -1;   ///< index of the first argument, -1 when none
    std::int32_t second = -1;
    double constant = 0.0;     ///< value of a constant
    std::string name;          ///< of an input
    InputShape shape = InputShape::tensor;  ///< of the value: scalar < vector < tensor
};

/// Full-size passes over memory and arithmetic per element.
struct ExpressionCounts {
    std::int32_t kernels = 0;
    std::int32_t reads = 0;         ///< tensors read, in units of the element count
    std::int32_t writes = 0;
    std::int32_t vector_reads = 0;  ///< broadcast vectors read
    double flop = 0.0;              ///< vector-pipe FLOP per element
    double special = 0.0;           ///< special-function results per element
};

class Expression {
  public:
    Expression() = default;
    Expression(std::string text, std::vector<Node> nodes);

    [[nodiscard]] const std::string& text() const { return text_; }
    /// In evaluation order; the last node is the result.
    [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
    [[nodiscard]] bool empty() const { return nodes_.empty(); }

    /// One kernel per node that is neither input nor constant, each reading its tensors and
    /// writing one.
    [[nodiscard]] const ExpressionCounts& unfused() const { return unfused_; }
    /// One kernel: each input read once, the result written once.
    [[nodiscard]] const ExpressionCounts& fused() const { return fused_; }

  private:
    std::string text_;
    std::vector<Node> nodes_;
    ExpressionCounts unfused_;
    ExpressionCounts fused_;
};

/// Which names are not full tensors, beyond the defaults of the grammar above.
struct InputDeclarations {
    std::vector<std::string> vectors;
    std::vector<std::string> scalars;
    std::vector<std::string> tensors;  ///< undoes a default
};

/// Throws InputError with the column of the fault and, for an unknown function, the nearest name.
[[nodiscard]] Expression parse_expression(std::string_view text,
                                          const InputDeclarations& declarations = {});

/// The text of a node sequence in canonical form; parse_expression(to_string(e)) counts the same.
[[nodiscard]] std::string to_string(const Expression& expression);

/// FLOP and special-function results of one application of `function`; docs/model.md lists the
/// counts with their reasons.
struct FunctionCost {
    double flop = 0.0;
    double special = 0.0;
};
[[nodiscard]] FunctionCost cost_of(Function function);

/// Memory accesses (in tensors) of a chain of unary functions over forward and backward.
struct ChainAccesses {
    std::int32_t stored = 0;      ///< activations stored: forward 1 read + n writes, ...
    std::int32_t recomputed = 0;  ///< activations recomputed in the backward kernel
};
/// For `functions` unary functions in a row (theory: 8 and 5 for three sigmoids). InputError when
/// the expression is not such a chain.
[[nodiscard]] ChainAccesses chain_accesses(const Expression& expression);

}  // namespace ridge::model
