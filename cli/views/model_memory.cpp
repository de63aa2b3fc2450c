// The memory of a step of a model as text, and what its bytes rest on.
#include <fmt/format.h>

#include <ostream>

#include "cli/console/table.h"
#include "cli/views/memory.h"
#include "cli/views/model_step.h"
#include "hardware/units.h"

namespace ridge::cli {

MemoryEvidence memory_evidence(const StepAnswer& answer) {
    const bool compared = answer.request.software == programs::Software::transformers;
    return {.bytes = compared ? BytesEvidence::compared : BytesEvidence::counted,
            .usable_measured = answer.usable_measured};
}

void write_memory(const Context& context, const StepAnswer& answer) {
    const programs::ModelStep& step = answer.step;
    Table table{.columns = {{"  memory"}, {"bytes", Align::right}, {"", Align::right}}, .rows = {}};
    const auto add = [&](const std::string& name, std::int64_t bytes) {
        table.rows.push_back(
            {"  " + name, std::to_string(bytes), format_capacity(bytes_of(bytes))});
    };
    std::string format;
    if (step.weight_format != "none") {
        format = ", " + step.weight_format;
        if (!step.weight_format_source.empty()) {
            format += " by quantization_config " + step.weight_format_source;
        }
    }
    add(fmt::format("weights ({} parameters{})", step.parameters, format), step.weights_bytes);
    if (!answer.request.training()) add("cache", step.kv_cache_bytes);
    add("allocated at the peak", answer.memory.peak);
    for (const programs::StepMemory::Part& part : answer.memory.parts) {
        add(fmt::format("  of it {}", part.name), part.bytes);
    }
    add("peak above what was there before", answer.memory.extra());
    add("reserved", answer.memory.reserved);
    write_text(context.out, table);
    if (!answer.usable) return;
    context.out << '\n';
    const Bytes left = *answer.usable - bytes_of(answer.memory.reserved);
    const bool by_freeing = bytes_of(answer.memory.peak) <= *answer.usable;
    const std::string all = format_capacity(*answer.usable);
    write_sentence(
        context,
        left > Bytes{} ? fmt::format("{} of {} stay free.", format_capacity(left), all)
        : by_freeing
            ? fmt::format("{} are reserved, more than {}: it fits only if PyTorch gives "
                          "cached segments back in time, which it tries, and takes longer.",
                          format_capacity(bytes_of(answer.memory.reserved)), all)
            : fmt::format("Does not fit into {}.", all));
    if (!answer.largest_batch || !answer.largest_length) return;
    const auto count = [](std::int64_t most, const char* of) {
        return most > 0 ? fmt::format("{} {}", most, of) : fmt::format("no {}", of);
    };
    write_sentence(context,
                   fmt::format("Fits at most: {} of {} tokens; {} in a batch of {}.",
                               count(*answer.largest_batch, "sequences"), answer.request.seq,
                               count(*answer.largest_length, "tokens"), answer.request.batch));
}

}  // namespace ridge::cli
