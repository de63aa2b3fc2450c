#include "model/streams/elementwise_work.h"

namespace ridge::model {
namespace {

Bytes pass_of(const Elementwise& op) {
    return static_cast<double>(op.elements) * static_cast<double>(size_of(op.type)) * units::B;
}

ExpressionCounts counts_of(const Elementwise& op, Fusion fusion) {
    if (op.direction == Direction::backward) return backward_counts(op.expression, fusion);
    return fusion == Fusion::fused ? op.expression.fused() : op.expression.unfused();
}

}  // namespace

Work elementwise_work(const Elementwise& op, Implementation implementation) {
    const ExpressionCounts fused = counts_of(op, Fusion::fused);
    const ExpressionCounts counts =
        implementation == Implementation::fused || implementation == Implementation::compiled
            ? fused
            : counts_of(op, Fusion::unfused);
    const auto elements = static_cast<double>(op.elements);
    const Bytes pass = pass_of(op);

    Work work;
    const Bytes mask = elements * units::B;
    // Only the result may have another type; gradients have that of the inputs.
    const bool forward = op.direction == Direction::forward;
    const auto apart = static_cast<double>(size_of(op.result()) - size_of(op.type));
    const Bytes cast = forward ? elements * apart * units::B : Bytes{};
    work.compulsory_read = fused.reads * pass + fused.mask_reads * mask;
    work.compulsory_write = fused.writes * pass + fused.mask_writes * mask + cast;
    work.dram_read = counts.reads * pass + counts.mask_reads * mask;
    work.dram_write = counts.writes * pass + counts.mask_writes * mask + cast;
    work.l2 = work.dram();
    work.fma = counts.flop * elements * units::FLOP;
    work.vector = counts.operations * elements * units::FLOP;
    work.special = counts.special * elements;
    work.kernels = counts.kernels;
    return work;
}

}  // namespace ridge::model
