// Plans of elementwise expressions, compiled at run time: one kernel, or one per operation.
//
// Method: the model's expression graph becomes C++ text inside the template of
// kernels/elementwise_source.h. Fused, the graph is the body of one function, with one statement
// per node. Unfused, every node that is not a scalar is a kernel that reads its arguments and
// writes a buffer; scalars are computed in place. A broadcast vector has 4096 elements (or as many
// as the tensor, if fewer).
//
// Limits: fp64, fp32, fp16, bf16, forward only. Inputs are normally distributed, so their
// logarithms, roots and powers may be NaN; the check accepts NaN where the reference has it too.
// Elements where rounding may reverse a comparison of computed values are not checked.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <set>

#include "hardware/error.h"
#include "measure/cuda/kernels/elementwise_source.h"
#include "measure/cuda/libraries/nvrtc.h"
#include "measure/cuda/memory/verify.h"
#include "measure/cuda/plans/plan.h"
#include "model/expression/functions.h"

namespace ridge::measure::cuda {
namespace {

using model::Function;
using model::InputShape;
using model::Node;

constexpr std::int64_t window = 256;  // elements that are checked together
constexpr std::int64_t windows = 16;

/// A constant that every element type reads accurately enough; for float the cast narrows it.
std::string literal(double value) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.17e", value);
    return "((Real)" + std::string(text.data()) + ")";
}

/// The value of one function as device code, given the texts of its arguments.
std::string code_of(Function function, const std::string& a, const std::string& b,
                    const std::string& c) {
    const auto call = [&](const char* name) { return std::string(name) + "(" + a + ")"; };
    const auto infix = [&](const char* sign) { return "(" + a + " " + sign + " " + b + ")"; };
    const auto compare = [&](const char* sign) { return "(Real)" + infix(sign); };
    switch (function) {
        case Function::add:
            return infix("+");
        case Function::subtract:
            return infix("-");
        case Function::multiply:
            return infix("*");
        case Function::divide:
            return infix("/");
        case Function::negate:
            return "(-" + a + ")";
        case Function::absolute:
            return call("abs");
        case Function::minimum:
            return "minimum(" + a + ", " + b + ")";
        case Function::maximum:
            return "maximum(" + a + ", " + b + ")";
        case Function::relu:
            return call("relu");
        case Function::exponential:
            return call("exp");
        case Function::exponential2:
            return call("exp2_of");
        case Function::logarithm:
            return call("log");
        case Function::sine:
            return call("sine");
        case Function::cosine:
            return call("cosine");
        case Function::tangent_hyperbolic:
            return call("tanh");
        case Function::sigmoid:
            return call("sigmoid");
        case Function::silu:
            return call("silu");
        case Function::gelu_erf:
            return call("gelu");
        case Function::gelu_tanh:
            return call("gelu_tanh");
        case Function::error_function:
            return call("erf");
        case Function::square_root:
            return call("sqrt");
        case Function::reciprocal_square_root:
            return call("rsqrt");
        case Function::reciprocal:
            return "((Real)1 / " + a + ")";
        case Function::square:
            return call("square");
        case Function::softplus:
            return call("softplus");
        case Function::less:
            return compare("<");
        case Function::less_equal:
            return compare("<=");
        case Function::equal:
            return compare("==");
        case Function::not_equal:
            return compare("!=");
        case Function::where:
            return "(" + a + " != (Real)0 ? " + b + " : " + c + ")";
        case Function::clamp:
            return "minimum(maximum(" + a + ", " + b + "), " + c + ")";
        case Function::power:  // power_of
        case Function::masked_fill:
        case Function::dropout:
        case Function::input:
        case Function::constant:
            break;
    }
    throw ContractViolation("an input or constant has no code");
}

/// A power; exponents 3 and -2 are written out, as the model counts them (and PyTorch computes
/// them).
std::string power_of(const std::string& base, const Node& exponent, const std::string& code) {
    if (exponent.function == Function::constant && exponent.constant == 3.0) {
        return "cube(" + base + ")";
    }
    if (exponent.function == Function::constant && exponent.constant == -2.0) {
        return "((Real)1 / square(" + base + "))";
    }
    return "power(" + base + ", " + code + ")";
}

bool may_be_undefined(const model::Expression& expression) {
    static const std::set<Function> partial{
        Function::logarithm, Function::square_root, Function::reciprocal_square_root,
        Function::power,     Function::divide,      Function::reciprocal};
    return std::any_of(expression.nodes().begin(), expression.nodes().end(),
                       [](const Node& node) { return partial.contains(node.function); });
}

/// A node's value on the device: where it is and how it is broadcast.
struct Placed {
    void* data = nullptr;
    ElementwiseOperand operand;
};

/// One kernel with its arguments.
struct Step {
    ElementwiseSource source;
    std::vector<void*> pointers;  ///< operands, then the result
    std::int64_t elements = 0;
    std::int64_t columns = 0;
};

Broadcast broadcast_of(InputShape shape) {
    switch (shape) {
        case InputShape::tensor:
            return Broadcast::none;
        case InputShape::vector:
            return Broadcast::along_rows;
        case InputShape::scalar:
            return Broadcast::scalar;
    }
    throw ContractViolation("unknown input shape");
}

class ExpressionPlan {
  public:
    ExpressionPlan(const model::Elementwise& op, const Context& context)
        : op_(op), context_(context), type_(element_of(op.type)) {
        if (type_ == ElementType::tfloat32) type_ = ElementType::float32;
        columns_ = std::min(bundled::broadcast_elements, op.elements);
        place_inputs();
    }

    [[nodiscard]] std::vector<Step> fused() {
        std::string body = "[&] { ";
        std::vector<std::string> names(nodes().size());
        std::vector<Placed> operands;
        for (std::size_t i = 0; i < nodes().size(); ++i) {
            const Node& node = nodes()[i];
            if (node.function == Function::input) {
                names[i] = placed_.at(i).operand.name;
                operands.push_back(placed_.at(i));
            } else if (node.function == Function::constant) {
                names[i] = literal(node.constant);
            } else {
                names[i] = "n" + std::to_string(i);
                body += "const Real " + names[i] + " = " +
                        code_at(node, argument(names, node.first), argument(names, node.second),
                                argument(names, node.third)) +
                        "; ";
            }
        }
        body += "return " + names.back() + "; }()";
        return {step(operands, body, result(), op_.elements)};
    }

    [[nodiscard]] std::vector<Step> unfused() {
        std::vector<Step> steps;
        for (std::size_t i = 0; i < nodes().size(); ++i) {
            const Node& node = nodes()[i];
            const bool last = i + 1 == nodes().size();
            const bool leaf =
                node.function == Function::input || node.function == Function::constant;
            if (node.shape == InputShape::scalar || (leaf && !last)) continue;
            std::map<std::string, Placed> used;
            const std::string code = inlined(i, i, used);
            std::vector<Placed> operands;
            for (const auto& [name, placed] : used) operands.push_back(placed);
            const std::int64_t elements =
                node.shape == InputShape::vector ? columns_ : op_.elements;
            if (last) {
                steps.push_back(step(operands, code, result(), elements));
            } else {
                buffers_.emplace_back(cuda::bytes_of(type_, elements));
                placed_[i] = {.data = buffers_.back().as(),
                              .operand = {.name = "n" + std::to_string(i),
                                          .type = type_,
                                          .broadcast = broadcast_of(node.shape)}};
                steps.push_back(step(operands, code, placed_[i].data, elements));
            }
        }
        return steps;
    }

    [[nodiscard]] void* result() {
        if (result_ == nullptr) {
            buffers_.emplace_back(cuda::bytes_of(type_, op_.elements));
            result_ = buffers_.back().as();
        }
        return result_;
    }

    [[nodiscard]] Verification check(double tolerance_factor) const {
        const StoredType type = stored(type_);
        Comparison comparison;
        for (const std::int64_t at : sampled(ceil_div(op_.elements, window), windows, 3)) {
            compare(at * window, std::min(window, op_.elements - at * window), comparison);
        }
        const std::int64_t unwritten =
            may_be_undefined(op_.expression)
                ? 0
                : count_poisoned(result_, type, op_.elements, context_.stream());
        return comparison.verdict(tolerance_factor * rounding_tolerance(type), unwritten);
    }

    /// Moves the buffers to the plan; their addresses stay the same.
    [[nodiscard]] std::vector<Buffer> take_buffers() { return std::move(buffers_); }

    void poison_result() const { poison(result_, stored(type_), op_.elements, context_.stream()); }

  private:
    [[nodiscard]] const std::vector<Node>& nodes() const { return op_.expression.nodes(); }

    static std::string argument(const std::vector<std::string>& names, std::int32_t index) {
        return index < 0 ? std::string() : names[static_cast<std::size_t>(index)];
    }

    void place_inputs() {
        std::uint64_t seed = 1;
        for (std::size_t i = 0; i < nodes().size(); ++i) {
            const Node& node = nodes()[i];
            if (node.function != Function::input) continue;
            const bool scalar = node.shape == InputShape::scalar;
            const ElementType type =
                scalar && type_ != ElementType::float64 ? ElementType::float32 : type_;
            const std::int64_t elements = scalar                             ? 1
                                          : node.shape == InputShape::vector ? columns_
                                                                             : op_.elements;
            buffers_.push_back(context_.input(type, elements, seed++));
            placed_[i] = {.data = buffers_.back().as(),
                          .operand = {.name = "in_" + node.name,
                                      .type = type,
                                      .broadcast = broadcast_of(node.shape)}};
        }
    }

    /// Code of node `at`. Arguments with a buffer are named and added to `used`; scalars and
    /// constants are written inline.
    std::string inlined(std::size_t at, std::size_t root, std::map<std::string, Placed>& used) {
        const Node& node = nodes()[at];
        if (node.function == Function::constant) return literal(node.constant);
        const auto known = placed_.find(at);
        if (known != placed_.end() && (at != root || node.function == Function::input)) {
            used[known->second.operand.name] = known->second;
            return known->second.operand.name;
        }
        const auto argument_code = [&](std::int32_t index) {
            return index < 0 ? std::string() : inlined(static_cast<std::size_t>(index), root, used);
        };
        return code_at(node, argument_code(node.first), argument_code(node.second),
                       argument_code(node.third));
    }

    [[nodiscard]] std::string code_at(const Node& node, const std::string& a, const std::string& b,
                                      const std::string& c) const {
        if (node.function == Function::power) {
            return power_of(a, nodes()[static_cast<std::size_t>(node.second)], b);
        }
        return code_of(node.function, a, b, c);
    }

    [[nodiscard]] Step step(const std::vector<Placed>& operands, const std::string& code,
                            void* destination, std::int64_t elements) const {
        Step made;
        made.source.result = type_;
        made.source.expression = code;
        made.elements = elements;
        made.columns = std::min(columns_, elements);
        for (const Placed& placed : operands) {
            made.source.operands.push_back(placed.operand);
            made.pointers.push_back(placed.data);
        }
        made.pointers.push_back(destination);
        made.source.width = elementwise_width(made.source, made.columns);
        made.source.wide_index = elements >= std::int64_t{1} << 31;
        return made;
    }

    /// Whether a comparison takes values that the device has rounded, not only inputs.
    [[nodiscard]] bool compares_rounded(const Node& node) const {
        const auto is_leaf = [this](std::int32_t index) {
            const Function function = nodes()[static_cast<std::size_t>(index)].function;
            return function == Function::input || function == Function::constant;
        };
        return model::compares(node.function) && !(is_leaf(node.first) && is_leaf(node.second));
    }

    /// Whether rounding may reverse the comparison of a and b.
    [[nodiscard]] bool nearly_equal(double a, double b) const {
        const double tolerance = 4.0 * rounding_tolerance(stored(type_));
        return std::abs(a - b) <= tolerance * std::fmax(1.0, std::abs(a) + std::abs(b));
    }

    /// Inputs at the elements from `first` on, read back from the device.
    [[nodiscard]] std::vector<double> input_values(std::size_t node, std::int64_t first,
                                                   std::int64_t count) const {
        const Placed& placed = placed_.at(node);
        const StoredType type = stored(placed.operand.type);
        if (placed.operand.broadcast == Broadcast::none) {
            return read_elements(placed.data, type, first, 1, count, context_.stream());
        }
        const bool scalar = placed.operand.broadcast == Broadcast::scalar;
        const auto all =
            read_elements(placed.data, type, 0, 1, scalar ? 1 : columns_, context_.stream());
        std::vector<double> values;
        for (std::int64_t i = 0; i < count; ++i) {
            values.push_back(all[scalar ? 0U : static_cast<std::size_t>((first + i) % columns_)]);
        }
        return values;
    }

    void compare(std::int64_t first, std::int64_t count, Comparison& comparison) const {
        const auto length = static_cast<std::size_t>(count);
        std::vector<std::vector<double>> values(nodes().size());
        std::vector<bool> doubtful(length, false);
        for (std::size_t i = 0; i < nodes().size(); ++i) {
            const Node& node = nodes()[i];
            if (node.function == Function::input) {
                values[i] = input_values(i, first, count);
                continue;
            }
            values[i].assign(length, node.constant);
            if (node.function == Function::constant) continue;
            const auto& a = values[static_cast<std::size_t>(node.first)];
            const auto& b = node.second < 0 ? a : values[static_cast<std::size_t>(node.second)];
            const auto& c = node.third < 0 ? a : values[static_cast<std::size_t>(node.third)];
            for (std::size_t j = 0; j < length; ++j) {
                values[i][j] = model::value_of(node.function, a[j], b[j], c[j]);
                if (compares_rounded(node) && nearly_equal(a[j], b[j])) doubtful[j] = true;
            }
        }
        const auto got = read_elements(result_, stored(type_), first, 1, count, context_.stream());
        constexpr double largest_half = 65504.0;
        const double largest = type_ == ElementType::float16   ? largest_half
                               : type_ == ElementType::float64 ? std::numeric_limits<double>::max()
                                                               : std::numeric_limits<float>::max();
        for (std::size_t j = 0; j < length; ++j) {
            const double expected = values.back()[j];
            if (doubtful[j]) continue;
            if (std::isnan(expected) && std::isnan(got[j])) continue;
            if (std::abs(expected) > largest && std::isinf(got[j])) continue;
            comparison.add(got[j], expected);
        }
    }

    model::Elementwise op_;
    Context context_;
    std::vector<Buffer> buffers_;
    ElementType type_;
    std::int64_t columns_ = 0;
    std::map<std::size_t, Placed> placed_;
    void* result_ = nullptr;
};

Launch launch_of_step(const Step& step, int architecture) {
    const RuntimeKernel& kernel = compile_kernel({.source = elementwise_source(step.source),
                                                  .name = step.source.name,
                                                  .architecture = architecture});
    const std::int64_t blocks = elementwise_blocks(step.source, step.elements);
    return [&kernel, step, blocks](cudaStream_t stream) {
        std::vector<void*> pointers = step.pointers;
        auto narrow_elements = static_cast<unsigned>(step.elements);
        auto narrow_columns = static_cast<unsigned>(step.columns);
        auto wide_elements = static_cast<long long>(step.elements);
        auto wide_columns = static_cast<long long>(step.columns);
        std::vector<void*> arguments;
        for (void*& pointer : pointers) arguments.push_back(&pointer);
        const bool wide = step.source.wide_index;
        arguments.push_back(wide ? static_cast<void*>(&wide_elements) : &narrow_elements);
        arguments.push_back(wide ? static_cast<void*>(&wide_columns) : &narrow_columns);
        kernel.launch(stream, blocks, step.source.threads, arguments);
    };
}

}  // namespace

Plan plan_elementwise(const model::Elementwise& op, const model::Execution& execution,
                      const Context& context) {
    if (op.direction != model::Direction::forward) {
        throw Refusal("there is no bundled backward pass of expressions");
    }
    const bool fuse = execution.implementation == model::Implementation::fused;
    if (!fuse && execution.implementation != model::Implementation::unfused) {
        refuse(execution.implementation, "elementwise");
    }
    Plan plan;
    plan.implementation = execution.implementation;
    const auto expression = std::make_shared<ExpressionPlan>(op, context);
    std::vector<Launch> launches;
    const int architecture = context.limits().compute_major * 10 + context.limits().compute_minor;
    for (const Step& step : fuse ? expression->fused() : expression->unfused()) {
        launches.push_back(launch_of_step(step, architecture));
    }
    plan.launch = [launches](cudaStream_t stream) {
        for (const Launch& launch : launches) launch(stream);
    };
    constexpr double unfused_factor = 4.0;  // every intermediate is rounded
    plan.buffers = expression->take_buffers();
    plan.verify = [expression, launch = plan.launch, stream = context.stream(),
                   factor = fuse ? 1.0 : unfused_factor] {
        expression->poison_result();
        launch(stream);
        require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        return expression->check(factor);
    };
    return plan;
}

}  // namespace ridge::measure::cuda
