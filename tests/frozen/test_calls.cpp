// What recorded calls of PyTorch's operators are in ridge's terms: family, operations, kernels, counts and, without
// a fitted law, the time on a machine whose parameters do not change (frozen_machine.h), against data/calls.txt.gz
// (table.h). The calls are from records/h200-sxm-operators, a few of each operator.
#include <string>

#include <fmt/format.h>

#include "programs/aten/operations.h"
#include "tests/frozen/frozen_machine.h"
#include "tests/frozen/table.h"

namespace ridge::programs {
namespace {

void append_work(std::string& text, const char* what, const KernelWork& w) {
    text +=
        fmt::format(" {} {} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {} {} {:.6g} {:.6g} {:.6g} {}", what,
                    name_of(w.type), w.moved, w.clocks, w.tensor_flop, w.useful_flop, w.efficiency,
                    w.tiles, w.chains, w.chain_clocks, w.block_clocks, w.longest_clocks, w.growing);
}

void append_operation(std::string& text, const char* what, const model::Operation& operation,
                      const model::Execution& execution, std::int64_t count) {
    text += fmt::format(" {} {} x {} {} {}", what, count, name_of(execution.implementation),
                        name_of(execution.l2),
                        model::text_of(kind_of(operation), parameters_of(operation)));
}

/// Of a call "aten::mm TYPES|SHAPES|STRIDES|VALUES".
std::string call_answer(const std::string& question) {
    const std::size_t blank = question.find(' ');
    const Call call = parse_call(question.substr(0, blank), question.substr(blank + 1));
    const auto found = operations_of(call, ElementType::bf16);
    if (!found) return "unknown";
    std::string text = fmt::format("family {} basis {} rule {} law {} layout {} result {} {}",
                                   static_cast<int>(found->family), static_cast<int>(found->basis),
                                   found->ruled, found->law_name, found->changes_layout,
                                   found->result_bytes, found->result_elements);
    for (const model::Step& step : found->steps) {
        append_operation(text, "step", step.operation, step.execution, step.count);
    }
    for (const Entry& entry : found->entries) {
        append_operation(text, "entry", entry.operation, entry.execution, entry.count);
        text += fmt::format(" {} {:.6g} {:.6g} {:.6g}", entry.kernels, entry.indexed_clocks,
                            entry.from_dram, entry.stretch);
    }
    for (const KernelWork& work : found->kernels) append_work(text, "kernel", work);
    if (found->beside) append_work(text, "beside", *found->beside);
    if (found->law != nullptr) {
        for (std::size_t i = 0; i < count_count; ++i) {
            const double value = found->counts[static_cast<Count>(i)];
            if (value != 0.0)
                text += fmt::format(" {} {:.6g}", name_of(static_cast<Count>(i)), value);
        }
        return text;
    }
    const CallPrediction p = predict(*found, test::frozen_machine("h200-sxm", ""));
    return text + fmt::format(" time {:.6g} bound {:.6g} {} {} {}", p.answer.time.in(units::us),
                              p.lower_bound.in(units::us), p.bound, p.limiter, p.reason);
}

TEST_CASE("recorded calls of operators mean what they meant", "[frozen]") {
    test::check_table("calls", call_answer);
}

}  // namespace
}  // namespace ridge::programs
