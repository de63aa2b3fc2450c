#include "answers/pipeline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "answers/candidate.h"
#include "model/predict.h"

namespace ridge::answers {
namespace {

using model::Attention;
using model::Collective;
using model::CollectiveKind;

/// Keys and values of whole sequences, which one run of the attention reads.
std::int64_t whole_bytes(const Attention& attention, std::int64_t seq) {
    const auto element = static_cast<std::int64_t>(model::size_of(attention.type));
    return 2 * attention.batch * seq * attention.kv_heads * attention.head_dim * element;
}

programs::Entry exchange(const programs::Entry& attention, CollectiveKind kind, std::int64_t parts,
                         std::int64_t bytes) {
    programs::Entry entry;
    entry.operation = Collective{.kind = kind, .gpus = parts, .bytes = bytes};
    entry.count = attention.count;
    entry.name = kind == CollectiveKind::all_gather ? "keys and values: all_gather"
                                                    : "keys and values: reduce_scatter";
    entry.module = programs::Module::attention;  // whose wrapper runs it
    entry.pass = attention.pass;
    entry.first_layer = attention.first_layer;
    return entry;
}

}  // namespace

programs::Architecture stage_of(const programs::Architecture& architecture, std::int64_t stages) {
    programs::Architecture stage = architecture;
    const std::int64_t layers = architecture.layers();
    const std::int64_t kept = (layers + stages - 1) / stages;
    using Offset = std::vector<std::uint8_t>::difference_type;
    const auto first = stage.layer_kinds.begin();
    stage.layer_kinds.erase(first, first + static_cast<Offset>(layers - kept));
    return stage;
}

double without_embedding(const programs::Architecture& stage, std::int64_t stages) {
    if (stages < 2) return 1.0;
    std::int64_t embedding = 0;
    bool head = false;
    std::int64_t all = 0;
    for (const programs::Weight& weight : weights_of(stage)) {
        const std::int64_t elements = weight.elements() * weight.count;
        all += elements;
        if (weight.role == programs::WeightRole::embedding) embedding += elements;
        if (weight.role == programs::WeightRole::head) head = true;
    }
    if (!head || all == 0) return 1.0;
    return 1.0 - static_cast<double>(embedding) / static_cast<double>(all);
}

std::optional<Spread> handover(const model::Machine& machine, std::int64_t bytes) {
    const Collective send{.kind = CollectiveKind::send, .gpus = 2, .bytes = bytes};
    const model::Outcome outcome = predict(model::Operation(send), {}, machine);
    const auto* p = std::get_if<model::Prediction>(&outcome);
    if (p == nullptr) return std::nullopt;
    return Spread{.time = p->time, .low = p->low, .high = p->high, .evidence = p->evidence.grade()};
}

std::int64_t handover_bytes(const programs::Architecture& architecture, std::int64_t tokens,
                            model::DataType type) {
    return tokens * architecture.value("hidden") * static_cast<std::int64_t>(model::size_of(type));
}

namespace {

/// Where the entries of a step have gone, and what stands before and after some of them.
struct Shared {
    std::vector<programs::Entry> entries{};
    std::vector<std::int32_t> moved{};   ///< of each old entry
    std::vector<std::int32_t> before{};  ///< entry of the gather before it; -1: none
    std::vector<std::int32_t> behind{};  ///< of the scatter after it
};

Shared shared_entries(std::vector<programs::Entry>& entries, std::int64_t parts, std::int64_t seq) {
    Shared made;
    const auto add = [&made](programs::Entry entry) {
        made.entries.push_back(std::move(entry));
        return static_cast<std::int32_t>(made.entries.size()) - 1;
    };
    for (programs::Entry& entry : entries) {
        auto* attention = std::get_if<Attention>(&entry.operation);
        made.before.push_back(-1);
        made.behind.push_back(-1);
        if (attention == nullptr) {
            made.moved.push_back(add(std::move(entry)));
            continue;
        }
        const std::int64_t bytes = whole_bytes(*attention, seq);
        const bool backward = attention->direction == model::Direction::backward;
        made.before.back() = add(exchange(entry, CollectiveKind::all_gather, parts, bytes));
        programs::Entry summed = exchange(entry, CollectiveKind::reduce_scatter, parts, bytes);
        // A share of the queries sees, on average, half of the sequence and half of itself.
        attention->seq_kv = attention->causal ? (seq + seq / parts) / 2 : seq;
        attention->causal = false;
        made.moved.push_back(add(std::move(entry)));
        if (backward) made.behind.back() = add(std::move(summed));
    }
    return made;
}

}  // namespace

void share_sequence(programs::ModelStep& step, std::int64_t parts, std::int64_t seq) {
    const Shared shared = shared_entries(step.program.entries, parts, seq);
    std::vector<programs::StepLaunch> order;
    std::vector<std::int32_t> moved;
    order.reserve(step.order.size());
    for (programs::StepLaunch launch : step.order) {
        const auto old = static_cast<std::size_t>(launch.entry);
        if (launch.after >= 0) launch.after = moved[static_cast<std::size_t>(launch.after)];
        if (shared.before[old] >= 0) {
            order.push_back({.entry = shared.before[old],
                             .after = std::exchange(launch.after, -1),
                             .layer = launch.layer});
        }
        launch.entry = shared.moved[old];
        order.push_back(launch);
        if (shared.behind[old] >= 0) {
            order.push_back({.entry = shared.behind[old], .layer = launch.layer});
        }
        moved.push_back(static_cast<std::int32_t>(order.size()) - 1);
    }
    step.program.entries = shared.entries;
    step.order = std::move(order);
    step.attention_wrapper = parts > 1 ? &programs::find_wrapper("context") : nullptr;
}

std::int64_t gathered_bytes(const programs::Program& program) {
    std::int64_t most = 0;
    for (const programs::Entry& entry : program.entries) {
        const auto* exchanged = std::get_if<Collective>(&entry.operation);
        if (exchanged == nullptr || !entry.name.starts_with("keys and values")) continue;
        const bool summed = exchanged->kind == CollectiveKind::reduce_scatter;
        most = std::max(most, (summed ? 2 : 1) * exchanged->bytes);
    }
    return most;
}

std::optional<std::string> cannot_share(const programs::Program& program) {
    for (const programs::Entry& entry : program.entries) {
        if (std::holds_alternative<model::Mla>(entry.operation) ||
            std::holds_alternative<model::Recurrence>(entry.operation)) {
            return "context parallelism is modelled for plain attention only";
        }
    }
    return std::nullopt;
}

}  // namespace ridge::answers
