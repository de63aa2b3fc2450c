#include "model/expression/functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace ridge::model {
namespace {

using F = Function;
using Cost = FunctionCost;

constexpr Cost one{1, 0, 1};
constexpr Cost none{};

// A row: FP32 instructions at default accuracy and the operations of the definition {FLOP, special
// results, operations}; the same for one gradient; what the gradient reads; {FLOP, special results}
// of the bundled code, then in double precision. (table E3)
constexpr std::array table{
    FunctionInfo{F::input, "input", "", 0, none, none},
    FunctionInfo{F::constant, "constant", "", 0, none, none},
    FunctionInfo{F::add, "+", "x + y", 2, one, none},
    FunctionInfo{F::subtract, "-", "x - y", 2, one, none},
    FunctionInfo{F::multiply, "*", "x * y", 2, one, one, Saved::others},
    FunctionInfo{
        F::divide, "/", "x / y", 2, {10, 1, 1}, {11, 1, 2}, Saved::arguments, {}, Cost{16, 1}},
    FunctionInfo{F::power,
                 "^",
                 "x ^ y, also x ** y and pow(x, y)",
                 2,
                 {63, 1, 1},
                 {65, 1, 3},
                 Saved::arguments,
                 {},
                 Cost{150, 1}},
    FunctionInfo{F::negate, "neg", "-x", 1, one, one},
    FunctionInfo{F::absolute, "abs", "|x|", 1, one, one, Saved::arguments},
    FunctionInfo{F::minimum, "min", "the smaller of x and y", 2, one, one, Saved::arguments},
    FunctionInfo{F::maximum, "max", "the larger of x and y", 2, one, one, Saved::arguments},
    FunctionInfo{F::relu, "relu", "max(x, 0)", 1, one, one, Saved::result},
    FunctionInfo{
        F::exponential, "exp", "e^x", 1, {10, 1, 1}, one, Saved::result, Cost{1, 1}, Cost{30, 0}},
    FunctionInfo{
        F::exponential2, "exp2", "2^x", 1, {2, 1, 1}, {2, 0, 2}, Saved::result, {}, Cost{28, 0}},
    FunctionInfo{F::logarithm,
                 "log",
                 "natural logarithm",
                 1,
                 {27, 0, 1},
                 {10, 1, 1},
                 Saved::arguments,
                 Cost{18, 0},
                 Cost{42, 1}},
    FunctionInfo{F::sine,
                 "sin",
                 "sine of radians",
                 1,
                 {20, 0, 1},
                 {21, 0, 2},
                 Saved::arguments,
                 Cost{28, 0},
                 Cost{28, 0}},
    FunctionInfo{F::cosine,
                 "cos",
                 "cosine of radians",
                 1,
                 {20, 0, 1},
                 {21, 0, 2},
                 Saved::arguments,
                 Cost{28, 0},
                 Cost{28, 0}},
    FunctionInfo{F::tangent_hyperbolic,
                 "tanh",
                 "hyperbolic tangent",
                 1,
                 {15, 2, 1},
                 {3, 0, 3},
                 Saved::result,
                 Cost{7, 2},
                 Cost{36, 1}},
    FunctionInfo{F::sigmoid,
                 "sigmoid",
                 "1 / (1 + exp(-x))",
                 1,
                 {16, 2, 3},
                 {3, 0, 3},
                 Saved::result,
                 Cost{3, 2},
                 Cost{41, 1}},
    FunctionInfo{F::silu,
                 "silu",
                 "x / (1 + exp(-x))",
                 1,
                 {21, 2, 3},
                 {21, 2, 8},
                 Saved::arguments,
                 Cost{4, 2},
                 Cost{42, 1}},
    FunctionInfo{F::gelu_erf,
                 "gelu_erf",
                 "0.5 x (1 + erf(x / sqrt(2)))",
                 1,
                 {20, 1, 5},
                 {34, 2, 11},
                 Saved::arguments,
                 Cost{16, 2},
                 Cost{82, 0}},
    FunctionInfo{F::gelu_tanh,
                 "gelu_tanh",
                 "x (1 + tanh(0.798 (x + 0.0447 x^3))) / 2",
                 1,
                 {23, 2, 9},
                 {34, 2, 18},
                 Saved::arguments,
                 Cost{8, 2},
                 Cost{47, 1}},
    FunctionInfo{F::error_function,
                 "erf",
                 "error function",
                 1,
                 {16, 1, 1},
                 {13, 1, 5},
                 Saved::arguments,
                 Cost{13, 2},
                 Cost{78, 0}},
    FunctionInfo{F::square_root,
                 "sqrt",
                 "square root",
                 1,
                 {6, 1, 1},
                 {11, 1, 2},
                 Saved::result,
                 Cost{12, 1},
                 Cost{14, 1}},
    FunctionInfo{F::reciprocal_square_root,
                 "rsqrt",
                 "1 / sqrt(x)",
                 1,
                 {2, 1, 1},
                 {4, 0, 3},
                 Saved::result,
                 {},
                 Cost{10, 1}},
    FunctionInfo{F::reciprocal,
                 "reciprocal",
                 "1 / x",
                 1,
                 {5, 1, 1},
                 {3, 0, 3},
                 Saved::result,
                 {},
                 Cost{10, 1}},
    FunctionInfo{F::square, "square", "x * x", 1, one, {2, 0, 2}, Saved::arguments},
    FunctionInfo{F::masked_fill, "masked_fill", "x where the mask y is 0, else the fill value", 2,
                 one, one},
    FunctionInfo{F::dropout, "dropout", "x or 0 at random, and the mask", 1, {28, 0, 2}, one},
    FunctionInfo{F::softplus,
                 "softplus",
                 "log(1 + exp(x))",
                 1,
                 {36, 1, 3},
                 {17, 2, 4},
                 Saved::arguments,
                 Cost{28, 1},
                 Cost{74, 1}},
    FunctionInfo{F::less, "<", "1 where x < y, else 0; also y > x", 2, one, none,
                 Saved::no_gradient},
    FunctionInfo{F::less_equal, "<=", "1 where x <= y, else 0; also y >= x", 2, one, none,
                 Saved::no_gradient},
    FunctionInfo{F::equal, "==", "1 where x equals y, else 0", 2, one, none, Saved::no_gradient},
    FunctionInfo{F::not_equal, "!=", "0 where x equals y, else 1", 2, one, none,
                 Saved::no_gradient},
    FunctionInfo{F::where, "where", "y where x is not 0, else z", 3, one, one, Saved::arguments},
    FunctionInfo{F::clamp,
                 "clamp",
                 "x, but at least y and at most z",
                 3,
                 {2, 0, 2},
                 {3, 0, 3},
                 Saved::arguments},
};

constexpr bool in_order_of_functions() {
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (static_cast<std::size_t>(table.at(i).function) != i) return false;
    }
    return table.size() == static_cast<std::size_t>(F::clamp) + 1;
}
static_assert(in_order_of_functions());

constexpr const FunctionInfo* row(Function function) {
    return &table.at(static_cast<std::size_t>(function));
}

constexpr std::array names{
    CallableName{"abs", row(F::absolute)},
    CallableName{"clamp", row(F::clamp)},
    CallableName{"clip", row(F::clamp)},
    CallableName{"cos", row(F::cosine)},
    CallableName{"dropout", row(F::dropout)},
    CallableName{"erf", row(F::error_function)},
    CallableName{"exp", row(F::exponential)},
    CallableName{"exp2", row(F::exponential2)},
    CallableName{"gelu", row(F::gelu_tanh)},
    CallableName{"gelu_erf", row(F::gelu_erf)},
    CallableName{"gelu_tanh", row(F::gelu_tanh)},
    CallableName{"ln", row(F::logarithm)},
    CallableName{"log", row(F::logarithm)},
    CallableName{"masked_fill", row(F::masked_fill)},
    CallableName{"max", row(F::maximum)},
    CallableName{"maximum", row(F::maximum)},
    CallableName{"min", row(F::minimum)},
    CallableName{"minimum", row(F::minimum)},
    CallableName{"neg", row(F::negate)},
    CallableName{"pow", row(F::power)},
    CallableName{"reciprocal", row(F::reciprocal)},
    CallableName{"relu", row(F::relu)},
    CallableName{"rsqrt", row(F::reciprocal_square_root)},
    CallableName{"sigmoid", row(F::sigmoid)},
    CallableName{"silu", row(F::silu)},
    CallableName{"sin", row(F::sine)},
    CallableName{"softplus", row(F::softplus)},
    CallableName{"sqrt", row(F::square_root)},
    CallableName{"square", row(F::square)},
    CallableName{"swish", row(F::silu)},
    CallableName{"tanh", row(F::tangent_hyperbolic)},
    CallableName{"where", row(F::where)},
};

double sigmoid_of(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}

}  // namespace

std::span<const FunctionInfo> function_table() {
    return table;
}

const FunctionInfo& info_of(Function function) {
    return *row(function);
}

std::span<const CallableName> callable_names() {
    return names;
}

std::optional<CallableName> find_function(std::string_view name) {
    const auto* const found = std::find_if(
        names.begin(), names.end(), [name](const CallableName& each) { return each.name == name; });
    return found == names.end() ? std::nullopt : std::optional(*found);
}

bool compares(Function function) {
    return info_of(function).saved == Saved::no_gradient;
}

double value_of(Function function, double x, double y, double z) {
    switch (function) {
        case Function::input:
        case Function::constant:
            return x;
        case Function::add:
            return x + y;
        case Function::subtract:
            return x - y;
        case Function::multiply:
            return x * y;
        case Function::divide:
            return x / y;
        case Function::power:
            return std::pow(x, y);
        case Function::negate:
            return -x;
        case Function::absolute:
            return std::abs(x);
        case Function::minimum:
            return std::fmin(x, y);
        case Function::maximum:
            return std::fmax(x, y);
        case Function::relu:
            return std::fmax(x, 0.0);
        case Function::exponential:
            return std::exp(x);
        case Function::exponential2:
            return std::exp2(x);
        case Function::logarithm:
            return std::log(x);
        case Function::sine:
            return std::sin(x);
        case Function::cosine:
            return std::cos(x);
        case Function::tangent_hyperbolic:
            return std::tanh(x);
        case Function::sigmoid:
            return sigmoid_of(x);
        case Function::silu:
            return x * sigmoid_of(x);
        case Function::gelu_erf:
            return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
        case Function::gelu_tanh:
            return 0.5 * x *
                   (1.0 +
                    std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
        case Function::error_function:
            return std::erf(x);
        case Function::square_root:
            return std::sqrt(x);
        case Function::reciprocal_square_root:
            return 1.0 / std::sqrt(x);
        case Function::reciprocal:
            return 1.0 / x;
        case Function::square:
            return x * x;
        case Function::masked_fill:
            return y == 0.0 ? x : 0.0;
        case Function::dropout:
            return x;
        case Function::softplus:
            return std::fmax(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
        case Function::less:
            return x < y ? 1.0 : 0.0;
        case Function::less_equal:
            return x <= y ? 1.0 : 0.0;
        case Function::equal:
            return x == y ? 1.0 : 0.0;
        case Function::not_equal:
            return x == y ? 0.0 : 1.0;
        case Function::where:
            return x == 0.0 ? z : y;
        case Function::clamp:
            return std::fmin(std::fmax(x, y), z);
    }
    return x;
}

std::string_view name_of(Function function) {
    return info_of(function).name;
}

FunctionCost cost_of(Function function) {
    return info_of(function).work;
}

}  // namespace ridge::model
