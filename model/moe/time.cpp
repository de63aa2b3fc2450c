#include "model/moe/time.h"

#include <algorithm>
#include <cmath>

#include "model/core/real.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

constexpr std::int32_t kernels = 7;  ///< routing, sort, gather, up, gate, down, weighted sum

/// One grouped product over all experts of the GPU.
struct Grouped {
    Time time;
    Time dram;
    Time tensor;
    Bytes l2;
    Flop executed;
    Tiling tiling;
};

Grouped part_of(const Prediction& p) {
    Grouped part;
    part.time = p.time;
    part.l2 = p.work.l2;
    part.executed = p.executed_tensor;
    part.tiling = p.tiling;
    for (const Term& term : p.terms) {
        if (term.resource == Resource::dram) part.dram = term.time;
        if (term.resource == Resource::tensor) part.tensor = term.time;
    }
    return part;
}

Grouped mixed(const Grouped& cold, const Grouped& warm, double miss) {
    Grouped part = cold;
    part.time = miss * cold.time + (1.0 - miss) * warm.time;
    part.dram = miss * cold.dram + (1.0 - miss) * warm.dram;
    part.tensor = miss * cold.tensor + (1.0 - miss) * warm.tensor;
    return part;
}

/// The batched product of the library, with the L2 state in which the block leaves the weights.
std::optional<Grouped> grouped_product(const Matmul& op, double miss, const Machine& machine,
                                       ProductPredictor product) {
    const auto at = [&](L2State l2) -> std::optional<Grouped> {
        const Execution execution{
            .implementation = Implementation::library, .l2 = l2, .launch = LaunchMode::kernel};
        const Outcome outcome = product(op, execution, machine);
        const auto* const p = std::get_if<Prediction>(&outcome);
        if (p == nullptr || p->evidence.chip == ChipEvidence::datasheet) return std::nullopt;
        return part_of(*p);
    };
    constexpr double all = 0.995;
    if (miss > all) return at(L2State::cold);
    if (miss < 1.0 - all) return at(L2State::warm);
    const auto cold = at(L2State::cold);
    const auto warm = at(L2State::warm);
    if (!cold || !warm) return std::nullopt;
    return mixed(*cold, *warm, miss);
}

}  // namespace

std::optional<MoeTime> moe_time(const Moe& op, const MoeParameters& fitted,
                                const Execution& execution, const Machine& machine,
                                ProductPredictor product) {
    const MoeLoad load = moe_load(op);
    const MoeRows rows = moe_rows(op, load);
    const Work work = moe_work(op);
    const double sm_clocks = machine.boost_clock.base() * real(machine.sm_count);
    const double row_bytes = rows.gathered + rows.gates + rows.inner + rows.results;
    const Bytes touched = work.compulsory() + Bytes::from_base(row_bytes);
    const double miss = execution.l2 == L2State::warm ? 1.0 - machine.l2.found(touched) : 1.0;

    const auto experts = static_cast<std::int64_t>(std::max(1.0, std::round(load.active)));
    const auto height = static_cast<std::int64_t>(
        std::max(1.0, std::ceil(load.pairs / static_cast<double>(experts) - 1e-9)));
    const auto inner = static_cast<std::int64_t>(load.inner);
    const Matmul up{.batch = experts,
                    .m = height,
                    .n = (op.gated ? 2 : 1) * inner,
                    .k = op.hidden,
                    .type = op.type,
                    .output = DataType::bf16};
    const Matmul down{.batch = experts,
                      .m = height,
                      .n = op.hidden,
                      .k = inner,
                      .type = op.type,
                      .output = DataType::bf16};
    const auto first = grouped_product(up, miss, machine, product);
    const auto second = grouped_product(down, miss, machine, product);
    if (!first || !second) return std::nullopt;

    MoeTime time;
    time.launch = fitted.start + library_gaps(machine, execution.launch, kernels);
    if (op.tokens > sorted_at_once) time.launch += fitted.sort;
    if (bits_of(op.type) <= 8) time.launch += fitted.quantise;
    time.experts = load.active * fitted.expert;
    const double along = (real(op.hidden) + load.inner) * real(bits_of(op.type)) / (8.0 * 128.0);
    time.steps = along * fitted.step;
    time.dram = first->dram + second->dram;
    time.tensor = first->tensor + second->tensor;
    const Time shorter =
        std::min(first->dram, first->tensor) + std::min(second->dram, second->tensor);
    const double uneven = op.load.balanced() ? 0.0 : fitted.uneven;
    time.products = fitted.product_factor * (1.0 + uneven) * (first->time + second->time) +
                    fitted.overlap * shorter;
    // Gathered rows, inner rows and gates count once, results twice. (X6)
    const double tokens = real(op.tokens) * real(op.hidden) * 2.0;
    time.rows = Time::from_base((rows.gathered + 2.0 * rows.results + rows.inner + rows.gates) /
                                    (fitted.row_rate.base() * sm_clocks) +
                                tokens / (fitted.token_rate.base() * sm_clocks));
    time.total = time.launch + time.experts + time.steps + time.products + time.rows;
    time.dram_bytes = miss * work.dram();
    time.l2 = first->l2 + second->l2 + Bytes::from_base(2.0 * row_bytes + 2.0 * tokens);
    time.executed_tensor = first->executed + second->executed;
    time.tiling = first->tiling;
    return time;
}

}  // namespace ridge::model
