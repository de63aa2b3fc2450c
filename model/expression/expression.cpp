// Counts of elementwise expressions: passes over memory and arithmetic, unfused and fused, forward
// and backward. The parser is in parser.cpp, the canonical text in text.cpp.
//
// Every count walks the nodes once in evaluation order. Work on scalars is done by the host, and
// work on broadcast vectors is negligible beside the tensors, so neither counts as FLOP. Kernels on
// vectors and their (small) accesses are counted apart from full-size passes.
#include "model/expression/expression.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/error.h"
#include "model/expression/functions.h"

namespace ridge::model {
namespace {

/// The distinct arguments of a node: x * x has one.
struct Arguments {
    std::array<std::size_t, 3> index{};
    std::size_t count = 0;

    [[nodiscard]] const std::size_t* begin() const { return index.data(); }
    [[nodiscard]] const std::size_t* end() const { return index.data() + count; }
};

Arguments arguments_of(const Node& node) {
    Arguments arguments;
    for (const std::int32_t argument : {node.first, node.second, node.third}) {
        if (argument < 0) continue;
        const auto index = static_cast<std::size_t>(argument);
        if (std::find(arguments.begin(), arguments.end(), index) != arguments.end()) continue;
        arguments.index.at(arguments.count++) = index;
    }
    return arguments;
}

FunctionCost cost_in_place(const std::vector<Node>& nodes, const Node& node) {
    if (node.second < 0) return cost_of(node.function);
    const Node& second = nodes[static_cast<std::size_t>(node.second)];
    if (node.function == Function::divide && second.shape == InputShape::scalar) {
        return cost_of(Function::multiply);
    }
    if (node.function == Function::power && second.function == Function::constant) {
        if (second.constant == 2.0) return cost_of(Function::square);
        if (second.constant == 3.0) return {.flop = 2.0, .special = 0.0, .operations = 2.0};
        if (second.constant == -2.0) {
            const FunctionCost reciprocal = cost_of(Function::reciprocal);
            return {.flop = 1.0 + reciprocal.flop,
                    .special = reciprocal.special,
                    .operations = 1.0 + reciprocal.operations};
        }
    }
    return cost_of(node.function);
}

void add_arithmetic(ExpressionCounts& counts, const FunctionCost& cost) {
    counts.flop += cost.flop;
    counts.special += cost.special;
    counts.operations += cost.operations;
}

/// Whether an argument of `node` is a mask: an input that `masked_fill` tests.
bool is_mask(const std::vector<Node>& nodes, const Node& node, std::size_t argument) {
    return node.function == Function::masked_fill && node.first != node.second &&
           static_cast<std::size_t>(node.second) == argument &&
           nodes[argument].function == Function::input;
}

void add_read(ExpressionCounts& counts, InputShape shape) {
    if (shape == InputShape::tensor) ++counts.reads;
    if (shape == InputShape::vector) ++counts.vector_reads;
}

void add_write(ExpressionCounts& counts, InputShape shape) {
    if (shape == InputShape::tensor) ++counts.writes;
    if (shape == InputShape::vector) ++counts.vector_writes;
}

ExpressionCounts count_unfused(const std::vector<Node>& nodes) {
    ExpressionCounts counts;
    for (const Node& node : nodes) {
        if (is_leaf(node) || node.shape == InputShape::scalar) continue;
        ++counts.kernels;
        for (const std::size_t argument : arguments_of(node)) {
            if (is_mask(nodes, node, argument)) {
                ++counts.mask_reads;
            } else {
                add_read(counts, nodes[argument].shape);
            }
        }
        add_write(counts, node.shape);
        if (node.function == Function::dropout) ++counts.mask_writes;
        if (node.shape == InputShape::tensor) add_arithmetic(counts, cost_in_place(nodes, node));
    }
    if (is_leaf(nodes.back())) counts = {.kernels = 1, .reads = 1, .writes = 1};
    return counts;
}

ExpressionCounts count_fused(const std::vector<Node>& nodes) {
    ExpressionCounts counts{.kernels = 1, .writes = 1};
    std::vector<bool> masks(nodes.size(), false);
    for (const Node& node : nodes) {
        for (const std::size_t argument : arguments_of(node)) {
            if (is_mask(nodes, node, argument)) masks[argument] = true;
        }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Node& node = nodes[i];
        if (masks[i]) {
            ++counts.mask_reads;
        } else if (node.function == Function::input) {
            add_read(counts, node.shape);
        }
        if (node.function == Function::dropout) ++counts.mask_writes;
        if (!is_leaf(node) && node.shape == InputShape::tensor) {
            add_arithmetic(counts, cost_in_place(nodes, node));
        }
    }
    return counts;
}

bool is_at(std::int32_t place, std::size_t argument) {
    return place >= 0 && static_cast<std::size_t>(place) == argument;
}

/// Whether the function has a derivative with respect to this argument. A comparison has none,
/// `where` has none for its condition, and masked_fill none for its mask.
bool differentiates(const Node& node, std::size_t argument) {
    if (compares(node.function)) return false;
    if (node.function == Function::masked_fill) return is_at(node.first, argument);
    if (node.function != Function::where) return true;
    return is_at(node.second, argument) || is_at(node.third, argument);
}

/// Which nodes have a gradient: those that depend on a tensor or vector input.
std::vector<bool> gradients_of(const std::vector<Node>& nodes) {
    std::vector<bool> has(nodes.size(), false);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].shape == InputShape::scalar) continue;
        has[i] = nodes[i].function == Function::input;
        for (const std::size_t argument : arguments_of(nodes[i])) {
            if (has[argument] && differentiates(nodes[i], argument)) has[i] = true;
        }
    }
    return has;
}

/// Whether the gradient of `node` towards `argument` needs the value of its argument `value`: for a
/// product the other factor, for the dividend of a quotient only the divisor, for a choice the
/// condition.
bool gradient_needs(const Node& node, std::size_t argument, std::size_t value) {
    switch (info_of(node.function).saved) {
        case Saved::arguments:
            break;
        case Saved::others:
            return node.first == node.second || value != argument;
        default:
            return false;
    }
    if (node.function == Function::where) return is_at(node.first, value);
    const bool divisor_alone = node.function == Function::divide && node.first != node.second &&
                               is_at(node.first, argument);
    return !(divisor_alone && value == argument);
}

/// The tensors that the gradient of `node` towards `argument` reads beside the upstream gradient.
ExpressionCounts saved_reads(const std::vector<Node>& nodes, const Node& node,
                             std::size_t argument) {
    ExpressionCounts counts;
    if (info_of(node.function).saved == Saved::result) add_read(counts, node.shape);
    for (const std::size_t each : arguments_of(node)) {
        if (gradient_needs(node, argument, each)) add_read(counts, nodes[each].shape);
    }
    return counts;
}

/// A gradient that equals the upstream gradient costs no kernel.
bool passes_through(const Node& node, std::size_t argument) {
    if (node.function == Function::add) return node.first != node.second;
    return node.function == Function::subtract && node.first != node.second &&
           static_cast<std::size_t>(node.first) == argument;
}

FunctionCost gradient_cost(const std::vector<Node>& nodes, const Node& node, std::size_t argument) {
    if (node.function == Function::add && node.first == node.second) return {1.0, 0.0, 1.0};
    if (node.function == Function::subtract && !passes_through(node, argument))
        return {1.0, 0.0, 1.0};
    // Dividing by a scalar multiplies by its reciprocal, also in the gradient.
    if (node.function == Function::divide &&
        nodes[static_cast<std::size_t>(node.second)].shape == InputShape::scalar) {
        return cost_of(Function::multiply);
    }
    return info_of(node.function).gradient;
}

ExpressionCounts backward_unfused(const std::vector<Node>& nodes) {
    ExpressionCounts counts;
    std::vector<std::int32_t> contributions(nodes.size(), 0);
    const std::vector<bool> has = gradients_of(nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Node& node = nodes[i];
        if (is_leaf(node) || !has[i]) continue;
        for (const std::size_t argument : arguments_of(node)) {
            if (!has[argument] || !differentiates(node, argument)) continue;
            ++contributions[argument];
            if (!passes_through(node, argument)) {
                const ExpressionCounts saved = saved_reads(nodes, node, argument);
                ++counts.kernels;
                add_read(counts, node.shape);
                counts.reads += saved.reads;
                counts.vector_reads += saved.vector_reads;
                add_write(counts, node.shape);
                if (node.shape == InputShape::tensor) {
                    add_arithmetic(counts, gradient_cost(nodes, node, argument));
                }
            }
            if (nodes[argument].shape < node.shape) {  // summed over the rows it was broadcast to
                ++counts.kernels;
                add_read(counts, node.shape);
                add_write(counts, nodes[argument].shape);
                add_arithmetic(counts, {1.0, 0.0, 1.0});
            }
        }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (std::int32_t extra = 1; extra < contributions[i]; ++extra) {
            ++counts.kernels;
            add_read(counts, nodes[i].shape);
            add_read(counts, nodes[i].shape);
            add_write(counts, nodes[i].shape);
            if (nodes[i].shape == InputShape::tensor) add_arithmetic(counts, {1.0, 0.0, 1.0});
        }
    }
    return counts;
}

/// Which nodes have the upstream gradient itself as their gradient, so that nothing is written.
std::vector<bool> keeps_upstream_gradient(const std::vector<Node>& nodes) {
    std::vector<bool> keeps(nodes.size(), true);
    std::vector<bool> reached(nodes.size(), false);
    const std::vector<bool> has = gradients_of(nodes);
    for (std::size_t i = nodes.size(); i-- > 0;) {
        for (const std::size_t argument : arguments_of(nodes[i])) {
            if (!has[i] || !has[argument] || !differentiates(nodes[i], argument)) continue;
            keeps[argument] = keeps[argument] && keeps[i] && !reached[argument] &&
                              passes_through(nodes[i], argument) &&
                              nodes[argument].shape == nodes[i].shape;
            reached[argument] = true;
        }
    }
    return keeps;
}

/// Values that the backward kernel needs beside the upstream gradient, and the nodes from which
/// they are computed. The derivative of a linear expression is a constant, so it needs none. (eq.
/// E6)
std::vector<bool> values_needed(const std::vector<Node>& nodes) {
    std::vector<bool> needed(nodes.size(), false);
    const std::vector<bool> has = gradients_of(nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (is_leaf(nodes[i]) || !has[i]) continue;
        for (const std::size_t argument : arguments_of(nodes[i])) {
            if (!has[argument] || !differentiates(nodes[i], argument)) continue;
            if (passes_through(nodes[i], argument)) continue;
            if (info_of(nodes[i].function).saved == Saved::result) needed[i] = true;
            for (const std::size_t value : arguments_of(nodes[i])) {
                if (gradient_needs(nodes[i], argument, value)) needed[value] = true;
            }
        }
    }
    for (std::size_t i = nodes.size(); i-- > 0;) {
        if (!needed[i]) continue;
        for (const std::size_t argument : arguments_of(nodes[i])) needed[argument] = true;
    }
    return needed;
}

ExpressionCounts backward_fused(const Expression& expression) {
    const std::vector<Node>& nodes = expression.nodes();
    const ExpressionCounts unfused = backward_unfused(nodes);
    ExpressionCounts counts{.kernels = 1,
                            .reads = 1,
                            .flop = unfused.flop,
                            .special = unfused.special,
                            .operations = unfused.operations};
    const std::vector<bool> needed = values_needed(nodes);
    const std::vector<bool> keeps = keeps_upstream_gradient(nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].function == Function::input) {
            if (needed[i]) add_read(counts, nodes[i].shape);
            if (!keeps[i]) add_write(counts, nodes[i].shape);
        } else if (needed[i] && nodes[i].shape == InputShape::tensor) {
            add_arithmetic(counts, cost_in_place(nodes, nodes[i]));
        }
    }
    return counts;
}

}  // namespace

Expression::Expression(std::string text, std::vector<Node> nodes)
    : text_(std::move(text)), nodes_(std::move(nodes)) {
    RIDGE_CONTRACT(!nodes_.empty());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        Node& node = nodes_[i];
        RIDGE_CONTRACT(is_leaf(node) == (node.first < 0));
        RIDGE_CONTRACT(node.second < 0 || node.first >= 0);
        RIDGE_CONTRACT(node.third < 0 || node.second >= 0);
        if (node.function == Function::constant) node.shape = InputShape::scalar;
        if (is_leaf(node)) continue;
        node.shape = InputShape::scalar;
        for (const std::size_t argument : arguments_of(node)) {
            RIDGE_CONTRACT(argument < i);
            node.shape = std::max(node.shape, nodes_[argument].shape);
        }
    }
    if (nodes_.back().shape != InputShape::tensor) {
        throw InputError("the expression has no input of the full shape",
                         {.file = "expression", .line = 1, .column = 1},
                         "c, alpha, beta and eps are scalars and bias, gamma and scale vectors "
                         "unless declared otherwise");
    }
    unfused_ = count_unfused(nodes_);
    fused_ = count_fused(nodes_);
    chain_ = kernel_chain(*this);
}

FunctionCost cost_of(const Expression& expression, std::size_t node) {
    RIDGE_CONTRACT(node < expression.nodes().size());
    return cost_in_place(expression.nodes(), expression.nodes()[node]);
}

bool has_gradient(const Expression& expression) {
    return !expression.empty() && gradients_of(expression.nodes()).back();
}

ExpressionCounts backward_counts(const Expression& expression, Fusion fusion) {
    RIDGE_CONTRACT(has_gradient(expression));
    const ExpressionCounts counts =
        fusion == Fusion::fused ? backward_fused(expression) : backward_unfused(expression.nodes());
    const bool only_passes_through = counts.writes == 0 && counts.vector_writes == 0;
    return only_passes_through ? ExpressionCounts{.kernels = 1, .reads = 1, .writes = 1} : counts;
}

ChainAccesses chain_accesses(const Expression& expression) {
    RIDGE_CONTRACT(!expression.empty());
    const std::vector<Node>& nodes = expression.nodes();
    std::int32_t functions = 0;
    std::vector<std::int32_t> uses(nodes.size(), 0);
    for (const Node& node : nodes) {
        std::int32_t tensors = 0;
        for (const std::size_t argument : arguments_of(node)) {
            if (nodes[argument].shape == InputShape::scalar) continue;
            ++tensors;
            ++uses[argument];
        }
        const bool is_step = !is_leaf(node) && node.shape != InputShape::scalar;
        if (is_step) ++functions;
        if (tensors > 1) functions = -1;
        if (functions < 0) break;
    }
    const bool forks = std::any_of(uses.begin(), uses.end(), [](auto count) { return count > 1; });
    if (functions < 1 || forks) {
        throw InputError("'" + expression.text() + "' is not a chain of unary functions");
    }
    return {.functions = functions, .stored = 2 * functions + 2, .recomputed = 5};
}

}  // namespace ridge::model
