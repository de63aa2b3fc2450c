// The kernels that an expression becomes, one per function: what each reads, how long ago that was
// touched, and what its code costs.
#include <algorithm>
#include <set>

#include "model/expression/expression.h"
#include "model/expression/functions.h"

namespace ridge::model {
namespace {

using Buffers = std::set<std::size_t>;

/// Tensors that one kernel touches, identified by the nodes that made them.
struct Touched {
    std::vector<std::size_t> reads;
    std::size_t written = 0;
};

Touched touched_by(const std::vector<Node>& nodes, std::size_t at) {
    Touched touched{.reads = {}, .written = at};
    for (const std::int32_t argument : {nodes[at].first, nodes[at].second, nodes[at].third}) {
        if (argument < 0) continue;
        const auto index = static_cast<std::size_t>(argument);
        if (nodes[index].shape != InputShape::tensor) continue;
        if (std::find(touched.reads.begin(), touched.reads.end(), index) != touched.reads.end()) {
            continue;
        }
        touched.reads.push_back(index);
    }
    return touched;
}

bool reads_vector(const std::vector<Node>& nodes, const Node& node) {
    const auto is_vector = [&](std::int32_t argument) {
        return argument >= 0 &&
               nodes[static_cast<std::size_t>(argument)].shape == InputShape::vector;
    };
    return is_vector(node.first) || is_vector(node.second) || is_vector(node.third);
}

void merge(Buffers& buffers, const Touched& touched) {
    buffers.insert(touched.reads.begin(), touched.reads.end());
    buffers.insert(touched.written);
}

/// Sets the distance of each read of step `at`: back through the chain, and from its start to the
/// end of the previous run.
void set_distances(KernelStep& step, const std::vector<Touched>& chain, std::size_t at) {
    for (const std::size_t buffer : chain[at].reads) {
        Buffers between;
        merge(between, chain[at]);
        bool made = false;
        for (std::size_t back = 1; back <= chain.size(); ++back) {
            const std::size_t earlier = (at + chain.size() - back) % chain.size();
            merge(between, chain[earlier]);
            const auto& reads = chain[earlier].reads;
            const bool used = chain[earlier].written == buffer ||
                              std::find(reads.begin(), reads.end(), buffer) != reads.end();
            if (!used) continue;
            made = back <= at;
            break;
        }
        step.distance.at(step.reads) = static_cast<double>(between.size());
        step.made.at(step.reads) = made;
        ++step.reads;
    }
}

/// The bundled code of some functions is shorter than the compiler's at default accuracy. log,
/// tanh, roots and sines are the compiler's, at their cost on an H200.
FunctionCost bundled_cost(const Expression& expression, std::size_t node) {
    const FunctionInfo& info = info_of(expression.nodes()[node].function);
    return info.bundled ? *info.bundled : cost_of(expression, node);
}

/// In double precision, polynomials replace the special-function unit.
FunctionCost double_cost(const Expression& expression, std::size_t node) {
    const FunctionCost written_out = cost_of(expression, node);
    const FunctionInfo& info = info_of(expression.nodes()[node].function);
    if (written_out.flop < info.work.flop) return written_out;  // x / c, x^3
    return info.fp64 ? *info.fp64 : written_out;
}

void add(FunctionCost& sum, const FunctionCost& cost) {
    sum.flop += cost.flop;
    sum.special += cost.special;
}

}  // namespace

KernelChain kernel_chain(const Expression& expression) {
    const std::vector<Node>& nodes = expression.nodes();
    KernelChain result;
    std::vector<Touched> touched;
    Buffers tensors;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Node& node = nodes[i];
        const bool only = i + 1 == nodes.size() && is_leaf(node);
        if ((is_leaf(node) && !only) || node.shape == InputShape::scalar) continue;
        KernelStep step;
        step.function = node.function;
        step.vector = reads_vector(nodes, node);
        step.vector_result = node.shape == InputShape::vector;
        step.cost = bundled_cost(expression, i);
        step.double_cost = double_cost(expression, i);
        result.steps.push_back(step);
        if (step.vector_result) continue;
        add(result.cost, step.cost);
        add(result.double_cost, step.double_cost);
        // A bare input is copied into a separate result.
        touched.push_back(only ? Touched{.reads = {i}, .written = nodes.size()}
                               : touched_by(nodes, i));
        merge(tensors, touched.back());
    }
    std::size_t at = 0;
    for (KernelStep& step : result.steps) {
        if (!step.vector_result) set_distances(step, touched, at++);
    }
    result.tensors = static_cast<double>(tensors.size());
    return result;
}

}  // namespace ridge::model
