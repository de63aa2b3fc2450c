// Elementwise expressions: "gelu(x + bias)" is parsed to a graph, with unfused and fused counts.
//
// Grammar (usual precedence; ^ or ** binds tightest to the right and is a power):
//   expr   := sum (('<' | '<=' | '>' | '>=' | '==' | '!=') sum)?
//   sum    := term (('+' | '-') term)*        term := unary (('*' | '/') unary)*
//   unary  := '-' unary | power               power := primary (('^' | '**') unary)?
//   primary := number | name | name '(' expr (',' expr)* ')' | '(' expr ')'
// masked_fill(x, mask) reads a mask of one byte per element, dropout(x) writes one. Names that are
// not functions are inputs; `pi` is the number. Inputs named c, alpha, beta or eps (or declared so)
// are scalars; bias, gamma and scale (or declared so) are vectors broadcast over rows; all others
// are tensors of the full shape. Equal subexpressions are one node, constants are folded, and
// powers with a cheaper form take it (x^2 is square(x), x^0.5 is sqrt(x)). A comparison gives 0 or
// 1, an element like all others; where(c, a, b) is a where c is not 0, else b. functions.h lists
// the functions.
//
//   const Expression e = parse_expression("sin(x)^2 + cos(x)^2");
//   e.unfused().kernels == 5, .reads == 6, .writes == 5;  e.fused().reads == 1, .writes == 1
//
// Limits: a text of at most 4096 characters, nested at most 200 deep; all tensors have one shape
// and type. Counts follow eq. E1 to E6 of docs/model.md.
#pragma once

#include <array>
#include <cstddef>
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
    square,
    masked_fill,  ///< first where second, a mask of one byte per element, is not set
    dropout,      ///< also writes the mask that it drew, one byte per element
    softplus,
    less,
    less_equal,
    equal,
    not_equal,
    where,
    clamp
};

enum class InputShape : std::uint8_t { scalar, vector, tensor };

struct Node {
    Function function = Function::input;
    std::int32_t first = -1;  ///< index of the first argument; -1 if none
    std::int32_t second = -1;
    std::int32_t third = -1;
    double constant = 0.0;                  ///< value of a constant
    std::string name{};                     ///< of an input
    InputShape shape = InputShape::tensor;  ///< of the value: scalar < vector < tensor
};

/// Full-size passes over memory and arithmetic per element.
struct ExpressionCounts {
    std::int32_t kernels = 0;
    std::int32_t reads = 0;  ///< tensors read, in units of the element count
    std::int32_t writes = 0;
    std::int32_t vector_reads = 0;  ///< broadcast vectors read
    std::int32_t vector_writes = 0;
    std::int32_t mask_reads = 0;   ///< tensors of one byte per element, not among `reads`
    std::int32_t mask_writes = 0;  ///< the same for `writes`
    double flop = 0.0;             ///< vector-pipe FLOP per element
    double special = 0.0;          ///< special-function results per element
    double operations = 0.0;       ///< algorithmic FLOP per element

    [[nodiscard]] std::int32_t passes() const { return reads + writes; }
};

/// FLOP and special-function results of one application of a function, and its algorithmic FLOP.
struct FunctionCost {
    double flop = 0.0;
    double special = 0.0;
    double operations = 0.0;  ///< by its definition: + - * / and one each for exp, log, tanh, sqrt
                              ///< ...
};

/// One kernel of the unfused expression. The distance of a read is the number of different tensors
/// touched since its argument was last used, including the argument and this kernel's own tensors.
struct KernelStep {
    Function function = Function::input;
    std::size_t reads = 0;  ///< distinct tensors, at most three
    std::array<double, 3> distance{};
    std::array<bool, 3> made{};  ///< last used within this run, not the previous one
    bool vector = false;         ///< reads a broadcast vector
    bool vector_result = false;  ///< works only on vectors
    FunctionCost cost{};         ///< of the bundled code, per element
    FunctionCost double_cost{};  ///< the same in double precision
};

/// The unfused expression as the bundled kernels run it. (eq. B23)
struct KernelChain {
    std::vector<KernelStep> steps{};
    double tensors = 0.0;  ///< different tensors that a run touches
    FunctionCost cost{};   ///< of all steps on tensors together, which is that of the fused kernel
    FunctionCost double_cost{};
};

class Expression {
  public:
    Expression() = default;
    /// Derives shapes and counts. Throws an InputError if no input is a tensor. Arguments must come
    /// before the nodes that use them, and every node but the last must be used.
    Expression(std::string text, std::vector<Node> nodes);

    [[nodiscard]] const std::string& text() const { return text_; }
    /// The nodes in evaluation order; the last node is the result.
    [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
    [[nodiscard]] bool empty() const { return nodes_.empty(); }

    /// Counts for one kernel per node that is neither input nor constant, which reads its tensors
    /// and writes one. Scalars are kernel arguments. A bare input is a copy. (eq. E1)
    [[nodiscard]] const ExpressionCounts& unfused() const { return unfused_; }
    /// Counts for one kernel that reads each input once and writes the result once. (eq. E2)
    [[nodiscard]] const ExpressionCounts& fused() const { return fused_; }
    /// What each kernel of the unfused form touches and computes.
    [[nodiscard]] const KernelChain& chain() const { return chain_; }

  private:
    std::string text_;
    std::vector<Node> nodes_;
    ExpressionCounts unfused_;
    ExpressionCounts fused_;
    KernelChain chain_;
};

/// Derives the chain of a parsed expression; `Expression::chain` keeps it.
[[nodiscard]] KernelChain kernel_chain(const Expression& expression);

/// Names that are not full tensors, beyond the defaults of the grammar above.
struct InputDeclarations {
    std::vector<std::string> vectors{};
    std::vector<std::string> scalars{};
    std::vector<std::string> tensors{};  ///< undoes a default
};

inline constexpr std::size_t longest_expression = 4096;  ///< characters
inline constexpr std::int32_t deepest_expression = 200;  ///< nested parentheses, calls and signs

/// Throws an InputError with the column of the fault and, for an unknown function, the nearest
/// name; also if a declared name does not occur or is declared twice.
[[nodiscard]] Expression parse_expression(std::string_view text,
                                          const InputDeclarations& declarations = {});

/// The text of a node sequence in canonical form. parse_expression(to_string(e)) counts the same
/// under the same declarations. Its length is linear in the source text of a parsed expression.
[[nodiscard]] std::string to_string(const Expression& expression);

/// The canonical name of a function as `to_string` writes it; operators by their sign.
[[nodiscard]] std::string_view name_of(Function function);

/// Cost of `function` at default accuracy; docs/model.md lists the counts with their reasons (table
/// E3). An FMA is 2 FLOP; compare, select and sign changes inside a function count 0.
[[nodiscard]] FunctionCost cost_of(Function function);

/// The same for a node in context: division by a scalar is one multiplication, and a power with the
/// exponent 3 or -2 is written out, as eager frameworks do.
[[nodiscard]] FunctionCost cost_of(const Expression& expression, std::size_t node);

/// Whether the expression has a gradient at all: x < y has none.
[[nodiscard]] bool has_gradient(const Expression& expression);

/// Counts for the gradients of every tensor and vector input from the upstream gradient. If every
/// gradient is the upstream one, this is a copy. The expression must have a gradient. (eq. E5, E6)
enum class Fusion : std::uint8_t { unfused, fused };
[[nodiscard]] ExpressionCounts backward_counts(const Expression& expression, Fusion fusion);

/// Memory accesses (in tensors) of a chain of unary functions over forward and backward. (eq. E4)
struct ChainAccesses {
    std::int32_t functions = 0;
    std::int32_t stored = 0;      ///< with every activation stored
    std::int32_t recomputed = 0;  ///< with activations recomputed in the backward kernel
};
/// For n unary functions in a row: 2n + 2 stored and 5 recomputed (8 and 5 for three sigmoids).
/// Functions of a tensor and scalars count as unary. Throws an InputError if the expression is not
/// such a chain.
[[nodiscard]] ChainAccesses chain_accesses(const Expression& expression);

}  // namespace ridge::model
