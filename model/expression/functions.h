// The one table of elementwise functions: their names, meanings and costs.
//
//   info_of(Function::gelu_tanh).work.operations == 9;   // as the field counts it
//   info_of(Function::gelu_tanh).work.flop == 23;        // as the compiler emits it for sm_90
//   find_function("gelu")->info->function == Function::gelu_tanh;
//
// Costs are those of table E3 of docs/model.md, which says how they were counted. The parser, the
// counts of expressions, the chains of bundled kernels and `ridge ops elementwise` read this table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/expression/expression.h"

namespace ridge::model {

/// What the gradient of a function reads beside the upstream gradient.
enum class Saved : std::uint8_t {
    nothing,
    arguments,
    others,  ///< the other argument, for a product
    result,
    no_gradient  ///< for a comparison, whose result jumps
};

struct FunctionInfo {
    Function function;
    std::string_view name;  ///< in canonical texts; operators by their sign
    std::string_view help;
    std::int32_t arguments;  ///< 0 for inputs and constants
    FunctionCost work;       ///< FP32, as the compiler emits it at default accuracy
    FunctionCost gradient;
    Saved saved = Saved::nothing;
    std::optional<FunctionCost> bundled{};  ///< of the bundled code, if it differs
    std::optional<FunctionCost> fp64{};     ///< in double precision, if it differs
};

[[nodiscard]] std::span<const FunctionInfo> function_table();
[[nodiscard]] const FunctionInfo& info_of(Function function);

/// A name that may be called in an expression: one of the table or an alias.
struct CallableName {
    std::string_view name;
    const FunctionInfo* info;
};
[[nodiscard]] std::span<const CallableName> callable_names();
/// Empty if there is no such function.
[[nodiscard]] std::optional<CallableName> find_function(std::string_view name);

/// The value of a function of x, y and z; functions with fewer arguments ignore the last ones. For
/// an input or a constant, it is x.
[[nodiscard]] double value_of(Function function, double x, double y, double z);

/// Whether a node has no arguments: an input or a constant.
[[nodiscard]] inline bool is_leaf(const Node& node) {
    return node.function == Function::input || node.function == Function::constant;
}

/// Whether the function is a comparison, whose result is 0 or 1.
[[nodiscard]] bool compares(Function function);

}  // namespace ridge::model
