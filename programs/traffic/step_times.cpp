#include "programs/traffic/step_times.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "hardware/checked.h"

namespace ridge::programs {
namespace {

/// Nodes in each octave as a power of two. Kernels step with the tokens of a step (tiles, waves); along
/// the caches times are smooth.
constexpr int fine = 2;
constexpr int coarse = 1;

/// Index of the largest node that is at most `size`.
int node_below(std::int64_t size, int bits) {
    const int level = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size))) - 1;
    if (level < bits) return static_cast<int>(size) - 1;
    const std::int64_t below = (std::int64_t{1} << bits) - 1;
    return static_cast<int>(below + ((level - bits) << bits) + ((size >> (level - bits)) & below));
}

std::int64_t size_of_node(int node, int bits) {
    const int below = (1 << bits) - 1;
    if (node < below) return node + 1;
    const int level = (node - below) >> bits;
    return static_cast<std::int64_t>((1 << bits) + ((node - below) & below)) << level;
}

/// Where `size` lies between its neighbouring nodes.
struct Bracket {
    int node = 0;
    double share = 0.0;
};
Bracket bracket_of(std::int64_t size, int bits) {
    const int node = node_below(size, bits);
    const std::int64_t low = size_of_node(node, bits);
    const std::int64_t high = size_of_node(node + 1, bits);
    return {.node = node,
            .share = static_cast<double>(size - low) / static_cast<double>(high - low)};
}

}  // namespace

std::int64_t StepBatch::prompt_tokens() const {
    std::int64_t sum = 0;
    for (const PromptChunk& chunk : prompts) sum += chunk.tokens;
    return sum;
}

std::int64_t StepBatch::sampled() const {
    return decodes + std::count_if(prompts.begin(), prompts.end(),
                                   [](const PromptChunk& chunk) { return chunk.last; });
}

std::int64_t StepBatch::prompt_cached() const {
    double sum = 0.0;
    for (const PromptChunk& chunk : prompts) {
        sum += static_cast<double>(chunk.tokens) * static_cast<double>(chunk.cached);
    }
    const std::int64_t tokens = prompt_tokens();
    return tokens == 0 ? 0 : std::llround(sum / static_cast<double>(tokens));
}

std::int64_t StepBatch::mean_context() const {
    return std::max<std::int64_t>(1, context / std::max<std::int64_t>(1, decodes));
}

StepTimes::StepTimes(StepParts parts, Engine engine)
    : parts_(std::move(parts)), engine_(std::move(engine)) {
    if (parts_.drafter() != nullptr) {
        drafter_ = std::make_shared<StepTimes>(*parts_.drafter(), engine_);
    }
    if (parts_.deployment().adapters.slots > 0) fetch_adapter_ = parts_.fetch_adapter();
}

double StepTimes::predict(Table table, std::int64_t first, std::int64_t second) const {
    switch (table) {
        case Table::decode_layers:
            return parts_.layers(first, 0.0).base();
        case Table::prompt_layers:
            return parts_.layers(first, 1.0).base();
        case Table::head:
            return parts_.head(first).base();
        case Table::decode:
            return parts_.decode(first, second).base();
        case Table::prompt:
            // Sizes of caches begin at none: a cache of c is the node c + 1.
            return parts_.prompt(first, second - 1).base();
        case Table::hop:
            return parts_.hop(first).base();
        case Table::encoder:
            return parts_.encode(first, second).base();
        case Table::adapters:
            return parts_.adapters(first, second).base();
        case Table::draft:
            break;
    }
    return parts_.draft(first, second).base();
}

double StepTimes::node(Table table, int first, int second) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    auto& rows = tables_[static_cast<std::size_t>(table)];
    const auto row = static_cast<std::size_t>(first);
    const auto column = static_cast<std::size_t>(second);
    if (rows.size() <= row) rows.resize(row + 1);
    if (rows[row].size() <= column) rows[row].resize(column + 1, unknown);
    double& kept = rows[row][column];
    if (std::isnan(kept)) {
        kept = predict(table, size_of_node(first, fine), size_of_node(second, coarse));
        ++predicted_;
    }
    return kept;
}

double StepTimes::along(Table table, std::int64_t size, int second) {
    const Bracket at = bracket_of(size, fine);
    const double low = node(table, at.node, second);
    return at.share == 0.0 ? low : low + at.share * (node(table, at.node + 1, second) - low);
}

double StepTimes::between(Table table, std::int64_t first, std::int64_t second) {
    const Bracket at = bracket_of(second, coarse);
    const double low = along(table, first, at.node);
    return at.share == 0.0 ? low : low + at.share * (along(table, first, at.node + 1) - low);
}

Time StepTimes::step(const StepBatch& batch, Time busy) const {
    const Time step =
        engine_.step_time(busy, batch.decodes + static_cast<std::int64_t>(batch.prompts.size()));
    if (batch.encoded == 0) return step;
    // Each GPU has a process, which gets the pixels over a queue if it is not the scheduler's own.
    const double copies = parts_.deployment().gpus_of_replica() > 1 ? 2.0 : 1.0;
    return step + copies * engine_.vision_step +
           static_cast<double>(batch.encoded) * engine_.vision_token;
}

/// What a step runs beside the model: images, adapters, the prompts of a model that drafts.
double StepTimes::besides(const StepBatch& batch) {
    double sum = 0.0;
    if (batch.encoded > 0) {
        const std::int64_t each = batch.encoded / std::max<std::int64_t>(1, batch.frames);
        sum += between(Table::encoder, batch.encoded, std::max<std::int64_t>(1, each));
    }
    if (batch.adapters > 0) {
        const std::int64_t tokens =
            batch.decodes * (1 + parts_.deployment().speculation.tokens()) + batch.prompt_tokens();
        sum += between(Table::adapters, tokens, batch.adapters) +
               static_cast<double>(batch.fetched_adapters) * fetch_adapter_.base();
    }
    if (drafter_ != nullptr && !batch.prompts.empty()) {
        StepBatch prompts;
        prompts.prompts = batch.prompts;
        sum += drafter_->kernels(prompts).base();
    }
    return sum;
}

/// Attention of decoding sequences and prompts in one call, if the engine's kernel for that is known.
std::optional<Time> StepTimes::mixed(const StepBatch& batch) const {
    if (batch.decodes == 0 || batch.prompts.empty()) return std::nullopt;
    return parts_.mixed(batch.decodes, batch.mean_context(), batch.prompt_tokens(),
                        batch.prompt_cached());
}

/// What one of the stages' micro-batches holds, if a step's sequences are spread evenly.
StepBatch StepTimes::micro_batch(const StepBatch& batch) const {
    const std::int64_t stages = parts_.deployment().pipeline;
    StepBatch part{.decodes = ceil_divide(batch.decodes, stages),
                   .context = ceil_divide(batch.context, stages)};
    const auto chunks = static_cast<std::int64_t>(batch.prompts.size());
    part.adapters = batch.adapters;
    part.fetched_adapters = batch.fetched_adapters;
    if (chunks == 0) return part;
    std::int64_t cached = 0;
    for (const PromptChunk& chunk : batch.prompts) cached += chunk.cached;
    part.prompts.push_back({.tokens = ceil_divide(batch.prompt_tokens(), stages),
                            .cached = cached / chunks,
                            .last = batch.sampled() > batch.decodes});
    part.encoded = ceil_divide(batch.encoded, stages);
    part.frames = ceil_divide(batch.frames, stages);
    return part;
}

Time StepTimes::gpu(const StepBatch& batch) {
    if (parts_.deployment().pipeline == 1) return kernels(batch);
    const StepBatch part = micro_batch(batch);
    const std::int64_t tokens = part.decodes + part.prompt_tokens();
    const auto hops = static_cast<double>(parts_.deployment().pipeline - 1);
    return kernels(part) + hops * Time::from_base(along(Table::hop, tokens, 0));
}

Time StepTimes::kernels(const StepBatch& batch) {
    const Speculation& drafts = parts_.deployment().speculation;
    const std::int64_t of_prompts = batch.prompt_tokens();
    const std::int64_t nodes = drafts.tokens();
    const std::int64_t verified = batch.decodes * (1 + nodes);
    const std::int64_t tokens = verified + of_prompts;
    if (tokens == 0) return Time{};
    double sum = besides(batch);
    const double share = parts_.phases_differ()
                             ? static_cast<double>(of_prompts) / static_cast<double>(tokens)
                             : 0.0;
    if (share > 0.0) sum += share * along(Table::prompt_layers, tokens, 0);
    if (share < 1.0) sum += (1.0 - share) * along(Table::decode_layers, tokens, 0);
    const std::int64_t rows = batch.sampled() + batch.decodes * nodes;
    if (rows > 0) sum += along(Table::head, rows, 0);
    if (const auto both = mixed(batch)) return Time::from_base(sum) + *both;
    if (batch.decodes > 0) {
        const std::int64_t each = batch.mean_context();
        sum += between(Table::decode, batch.decodes, each);
        if (drafts.depth() > 0 && drafts.draft != Draft::ngram)
            sum += between(Table::draft, batch.decodes, each);
    }
    // All chunks are in one call, with the decoding sequences: its launch counts once.
    const double launch = batch.prompts.empty() ? 0.0 : node(Table::prompt, 0, 0);
    if (batch.decodes == 0) sum += launch;
    for (const PromptChunk& chunk : batch.prompts) {
        sum += std::max(0.0, between(Table::prompt, chunk.tokens, chunk.cached + 1) - launch);
    }
    return Time::from_base(sum);
}

Time StepTimes::wall(const StepBatch& batch) {
    return step(batch, gpu(batch));
}

Time StepTimes::exact(const StepBatch& batch) const {
    return step(batch, exact_gpu(batch));
}

Time StepTimes::exact_gpu(const StepBatch& batch) const {
    const std::int64_t of_prompts = batch.prompt_tokens();
    const std::int64_t drafted = parts_.deployment().speculation.tokens();
    const std::int64_t tokens = batch.decodes * (1 + drafted) + of_prompts;
    const double share = static_cast<double>(of_prompts) / static_cast<double>(tokens);
    Time busy = parts_.layers(tokens, share);
    if (batch.encoded > 0) {
        busy = busy + parts_.encode(batch.encoded,
                                    batch.encoded / std::max<std::int64_t>(1, batch.frames));
    }
    if (batch.adapters > 0) {
        busy = busy + parts_.adapters(tokens, batch.adapters) +
               static_cast<double>(batch.fetched_adapters) * fetch_adapter_;
    }
    if (drafter_ != nullptr && !batch.prompts.empty()) {
        StepBatch prompts;
        prompts.prompts = batch.prompts;
        busy = busy + drafter_->exact_gpu(prompts);
    }
    const std::int64_t rows = batch.sampled() + batch.decodes * drafted;
    if (rows > 0) busy = busy + parts_.head(rows);
    if (const auto both = mixed(batch)) return busy + *both;
    if (batch.decodes > 0) {
        const std::int64_t each = batch.mean_context();
        busy = busy + parts_.decode(batch.decodes, each) + parts_.draft(batch.decodes, each);
    }
    const Time launch = batch.prompts.empty() ? Time{} : parts_.prompt(1, 0);
    if (batch.decodes == 0) busy = busy + launch;
    for (const PromptChunk& chunk : batch.prompts) {
        busy = busy + std::max(Time{}, parts_.prompt(chunk.tokens, chunk.cached) - launch);
    }
    return busy;
}

}  // namespace ridge::programs
