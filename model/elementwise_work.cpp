#include "model/elementwise_work.h"

#include <algorithm>

namespace ridge::model {
namespace {

Work streaming(double reads, double writes, Bytes pass) {
    Work work;
    work.dram_read = reads * pass;
    work.dram_write = writes * pass;
    work.l2 = work.dram_read + work.dram_write;
    return work;
}

bool is_function(const Node& node) {
    return node.function != Function::input && node.function != Function::constant;
}

/// Backward of each function on its own: reads the gradient and its tensor arguments, writes one
/// gradient per tensor argument.
ExpressionCounts unfused_backward(const Expression& expression) {
    ExpressionCounts counts;
    const std::vector<Node>& nodes = expression.nodes();
    for (const Node& node : nodes) {
        if (!is_function(node)) continue;
        std::int32_t tensors = 0;
        for (const std::int32_t argument : {node.first, node.second}) {
            if (argument >= 0 &&
                nodes[static_cast<std::size_t>(argument)].shape == InputShape::tensor) {
                ++tensors;
            }
        }
        counts.kernels += 1;
        counts.reads += 1 + tensors;
        counts.writes += tensors;
    }
    return counts;
}

}  // namespace

Work elementwise_work(const Elementwise& op, Implementation implementation) {
    const ExpressionCounts& fused = op.expression.fused();
    const bool one_kernel = implementation == Implementation::fused;
    const bool forward = op.direction == Direction::forward;
    const double elements = static_cast<double>(op.elements);
    const Bytes pass = elements * static_cast<double>(size_of(op.type)) * units::B;

    ExpressionCounts counts = one_kernel ? fused : op.expression.unfused();
    double compulsory_reads = fused.reads;
    double compulsory_writes = fused.writes;
    // The derivative costs about twice the forward arithmetic, which a fused kernel also repeats.
    double arithmetic = 1.0;
    if (!forward) {
        compulsory_reads = fused.reads + 1.0;
        compulsory_writes = std::max(1, fused.reads);
        if (one_kernel) {
            counts.reads = fused.reads + 1;
            counts.writes = std::max(1, fused.reads);
            arithmetic = 3.0;
        } else {
            const ExpressionCounts backward = unfused_backward(op.expression);
            counts.kernels = backward.kernels;
            counts.reads = backward.reads;
            counts.writes = backward.writes;
            arithmetic = 2.0;
        }
    }
    Work work = streaming(counts.reads, counts.writes, pass);
    work.compulsory_read = compulsory_reads * pass;
    work.compulsory_write = compulsory_writes * pass;
    work.fma = arithmetic * counts.flop * elements * units::FLOP;
    work.special = arithmetic * counts.special * elements;
    work.kernels = counts.kernels;
    return work;
}

Bytes elementwise_footprint(const Elementwise& op, Implementation implementation) {
    const double elements = static_cast<double>(op.elements);
    const Bytes pass = elements * static_cast<double>(size_of(op.type)) * units::B;
    const ExpressionCounts& fused = op.expression.fused();
    double tensors = fused.reads + fused.writes;
    if (op.direction == Direction::backward) tensors = 2.0 * fused.reads + 1.0;
    if (implementation != Implementation::fused && op.expression.unfused().kernels > 1) {
        tensors += 2.0;
    }
    return tensors * pass;
}

}  // namespace ridge::model
