#include "tests/frozen/operator_sums.h"

#include <cstdint>
#include <sstream>
#include <string_view>

#include "model/core/fields.h"
#include "programs/aten/operations.h"
#include "programs/aten/workspace.h"
#include "tests/frozen/frozen_machine.h"
#include "tests/frozen/table.h"

namespace ridge::test {
namespace {

std::size_t digest_of(std::string_view text) {
    std::size_t sum = 0;
    for (const char c : text) sum = (31 * sum + static_cast<unsigned char>(c)) % 100'003;
    return sum;
}

void add_work(Sums& sums, const programs::KernelWork& w) {
    sums.add("moved", w.moved);
    sums.add("clocks", w.clocks + w.chain_clocks + 3.0 * w.block_clocks + 7.0 * w.longest_clocks);
    sums.add("work", w.tensor_flop + 3.0 * w.useful_flop);
    sums.add("blocks", static_cast<double>(w.tiles + 3 * w.chains) + 7.0 * w.efficiency);
}

void add_operations(Sums& sums, const programs::Understood& found) {
    sums.add("family", 1.0 + static_cast<double>(found.family) +
                           40.0 * static_cast<double>(found.basis) + (found.ruled ? 200.0 : 0.0) +
                           (found.changes_layout ? 400.0 : 0.0));
    sums.add("law", static_cast<double>(digest_of(found.law_name)));
    sums.add("result", static_cast<double>(found.result_bytes));
    sums.add("elements", static_cast<double>(found.result_elements));
    for (const model::Step& step : found.steps) {
        const std::string text =
            model::text_of(kind_of(step.operation), parameters_of(step.operation));
        sums.add("steps", static_cast<double>(digest_of(text)) * static_cast<double>(step.count));
    }
    for (const programs::Entry& entry : found.entries) {
        const std::string text =
            model::text_of(kind_of(entry.operation), parameters_of(entry.operation));
        sums.add("entries",
                 static_cast<double>(digest_of(text) * static_cast<std::size_t>(entry.count)));
        sums.add("runs", static_cast<double>(digest_of(entry.name)) +
                             static_cast<double>(3 * entry.kernels) + entry.least.in(units::us));
        if (entry.work) add_work(sums, *entry.work);
        if (entry.beside) add_work(sums, *entry.beside);
        sums.add("stretch", entry.stretch + entry.indexed_clocks + 3.0 * entry.from_dram);
    }
    for (const programs::KernelWork& w : found.kernels) add_work(sums, w);
    if (found.beside) add_work(sums, *found.beside);
    for (const programs::TensorSize& each : found.inputs) {
        sums.add("inputs",
                 static_cast<double>(each.elements) + 3.0 * static_cast<double>(each.bytes));
    }
    if (found.law == nullptr) return;
    for (std::size_t i = 0; i < programs::count_count; ++i) {
        sums.add("counts", found.counts[static_cast<programs::Count>(i)] *
                               (1.0 + 0.1 * static_cast<double>(i)));
    }
}

}  // namespace

const std::vector<std::string>& recorded_calls() {
    static const std::vector<std::string> calls = [] {
        std::vector<std::string> found;
        std::istringstream lines(unpacked_text(table_file("calls")));
        std::string answer;
        for (std::string line; std::getline(lines, line) && std::getline(lines, answer);) {
            found.push_back(line);
        }
        return found;
    }();
    return calls;
}

bool add_call(Sums& sums, const programs::Call& call) {
    const auto found = operations_of(call, programs::ElementType::bf16);
    sums.add("shape", static_cast<double>(digest_of(shape_text(call))));
    sums.add("workspace", static_cast<double>(workspace_of(call, programs::ElementType::bf16)));
    if (!found) return false;
    add_operations(sums, *found);
    programs::Understood ruled = *found;  // fitted laws change with their fits
    ruled.law = ruled.by_launches = ruled.by_kernels = nullptr;
    const programs::CallPrediction p = predict(ruled, frozen_machine("h200-sxm", ""));
    sums.add("time", p.answer.time.in(units::us));
    sums.add("bound", p.lower_bound.in(units::us));
    sums.add("limiter", static_cast<double>(digest_of(std::string(p.limiter) + p.reason)));
    return true;
}

}  // namespace ridge::test
