#include "programs/traffic/step_parts.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "model/machine/machine_software.h"
#include "model/predict.h"
#include "model/software.h"
#include "programs/configs/weights.h"
#include "programs/traffic/adapters.h"

namespace ridge::programs {
namespace {

using model::Collective;
using model::CollectiveKind;

/// Operations that read the tokens before: their time depends on the sequences' lengths.
bool attends(const Entry& entry) {
    const std::string_view name = name_of(entry.operation);
    return name == "attention" || name == "mla" || name == "sparse_mla" || name == "indexer";
}

/// Operations that carry a state along each sequence: their time depends on sequences and new tokens.
bool carries_state(const Entry& entry) {
    const auto* tokens = std::get_if<model::TokenWise>(&entry.operation);
    return std::holds_alternative<model::Recurrence>(entry.operation) ||
           (tokens != nullptr && tokens->kind == model::TokenKind::conv1d);
}

/// Operations whose time a prompt's tokens do not share with those of decoding.
bool needs_phases(const Program& program) {
    return std::any_of(program.entries.begin(), program.entries.end(), [](const Entry& entry) {
        const std::string_view name = name_of(entry.operation);
        return name == "mla" || name == "sparse_mla" || name == "indexer";
    });
}

/// Whether experts run by a kernel of the engine itself, which counts the rows that it computes.
bool runs_own_experts(const Program& program, const ProgramTime& time) {
    for (std::size_t i = 0; i < program.entries.size(); ++i) {
        const auto* const prediction = std::get_if<model::Prediction>(&time.outcomes[i]);
        const bool experts = std::holds_alternative<model::Moe>(program.entries[i].operation);
        if (!experts || prediction == nullptr) continue;
        if (prediction->implementation == model::Implementation::engine) return true;
    }
    return false;
}

/// Grid points of a table may lie beyond the positions that a request may have.
Architecture unbounded(const Architecture& architecture) {
    if (architecture.value("positions") == 0) return architecture;
    return architecture.with("positions", most_length);
}

/// Zero if it is not modelled.
Time time_alone(const model::Operation& operation, const model::Machine& machine) {
    const model::Outcome outcome =
        model::predict(operation, {.launch = model::LaunchMode::graph}, machine);
    const auto* prediction = std::get_if<model::Prediction>(&outcome);
    return prediction == nullptr ? Time{} : prediction->time;
}

std::int64_t rounded(double value, std::int64_t step) {
    return std::llround(value / static_cast<double>(step)) * step;
}

}  // namespace

double experts_touched(std::int64_t tokens, std::int64_t active, std::int64_t experts) {
    const double missed =
        1.0 - static_cast<double>(active) / static_cast<double>(std::max<std::int64_t>(experts, 1));
    return static_cast<double>(experts) *
           (1.0 - std::pow(std::max(0.0, missed), static_cast<double>(tokens)));
}

StepParts::StepParts(const Architecture& architecture, const Deployment& deployment,
                     const model::Machine& machine, const Engine& engine)
    : architecture_(unbounded(architecture)),
      deployment_(deployment),
      machine_(machine),
      engine_(engine),
      vocabulary_(architecture.value("vocabulary")),
      encoder_(encoder_of(architecture)) {
    programs::validate(architecture, deployment);
    if (deployment.drafter != nullptr) {
        drafter_ = std::make_shared<const StepParts>(
            *deployment.drafter, deployment_of_drafter(deployment), machine, engine);
    }
    find_left_out();
}

void StepParts::find_left_out() {
    Request request = request_of(deployment_, Phase::decode);
    request.seq = 1;
    const ModelStep step = make_step(architecture_, request, false);
    const Quantisation resolved =
        format_of(architecture_, deployment_.quantisation, model::size_of(deployment_.type))
            .quantisation;
    block_scaled_ = resolved == Quantisation::fp8_block && engine_.block_scaled_rows > 0;
    phases_differ_ = needs_phases(step.program);
    const auto& entries = step.program.entries;
    has_states_ = std::any_of(entries.begin(), entries.end(), carries_state);
    if (!has_states_ && deployment_.speculation.depth() == 0) find_mixed_calls(step.program);
    const ProgramTime time = predict(step.program, machine_);
    block_scaled_ = block_scaled_ && !runs_own_experts(step.program, time);
    evidence_ = weakest_grade(time.total);
    const auto why = first_not_modelled(step.program, time);
    if (why) left_out_ = *why;
    Request prompt = request_of(deployment_, Phase::prefill);
    prompt.seq = 1;
    const ModelStep prefill = make_step(architecture_, prompt, false);
    const auto other = first_not_modelled(prefill.program, predict(prefill.program, machine_));
    if (left_out_.empty() && other) left_out_ = *other;
    if (drafter_ == nullptr) return;
    evidence_ = std::min(evidence_, drafter_->evidence());
    if (left_out_.empty()) left_out_ = drafter_->left_out();
}

void StepParts::find_mixed_calls(const Program& program) {
    std::vector<MixedCall> calls;
    for (const Entry& entry : program.entries) {
        if (!attends(entry)) continue;
        const auto* const op = std::get_if<model::Attention>(&entry.operation);
        if (op == nullptr || op->window != 0) return;
        MixedCall call{.operation = {.heads = op->heads,
                                     .kv_heads = op->kv_heads,
                                     .seq_q = 1,
                                     .seq_kv = 1,
                                     .decodes = 1,
                                     .decode_kv = 1,
                                     .head_dim = op->head_dim,
                                     .type = op->type,
                                     .cache_type = op->cache_type},
                       .execution = entry.execution,
                       .count = static_cast<double>(entry.count)};
        const model::Outcome outcome = model::predict(call.operation, call.execution, machine_);
        const auto* const prediction = std::get_if<model::Prediction>(&outcome);
        const bool known =
            prediction != nullptr && prediction->implementation == model::Implementation::engine;
        if (!known) return;
        calls.push_back(call);
    }
    mixed_calls_ = std::move(calls);
}

std::optional<Time> StepParts::mixed(std::int64_t sequences, std::int64_t context,
                                     std::int64_t chunk, std::int64_t cached) const {
    if (mixed_calls_.empty()) return std::nullopt;
    Time sum;
    for (MixedCall call : mixed_calls_) {
        call.operation.seq_q = chunk;
        call.operation.seq_kv = chunk + cached;
        call.operation.decodes = ceil_divide(sequences, deployment_.data);
        call.operation.decode_kv = context + 1;
        const model::Outcome outcome = model::predict(call.operation, call.execution, machine_);
        const auto* const prediction = std::get_if<model::Prediction>(&outcome);
        if (prediction == nullptr) return std::nullopt;
        sum = sum + call.count * (prediction->time + gap_of_graph());
    }
    return sum;
}

/// Sets what the request of one rank does not know: all ranks' tokens go through the experts, which
/// are distributed or cut; few tokens touch few experts.
void StepParts::distribute(Entry& entry) const {
    const Deployment& d = deployment_;
    const std::int64_t together = d.tensor * d.data;
    if (auto* block = std::get_if<model::Moe>(&entry.operation)) {
        block->tokens *= d.data;
        block->tp = d.experts ? 1 : d.tensor;
        block->ep = d.experts ? together : 1;
        if (block_scaled_) {
            const std::int64_t least =
                ceil_divide(engine_.block_scaled_rows * block->experts, block->topk);
            block->tokens = std::max(block->tokens, least);
            return;
        }
        const double touched = experts_touched(block->tokens, block->topk, block->experts);
        const std::int64_t least = ceil_divide(block->topk, block->ep) * block->ep;
        block->experts = std::clamp(rounded(touched, block->ep), least, block->experts);
        return;
    }
    auto* sum = std::get_if<Collective>(&entry.operation);
    if (sum == nullptr || d.data == 1 || sum->gpus != together) return;
    // Tokens of all ranks are gathered before the experts and their results scattered after them.
    *sum = Collective{.kind = CollectiveKind::all_gather,
                      .gpus = together,
                      .bytes = sum->bytes * d.data,
                      .type = sum->type};
    entry.count *= 2;
}

/// Experts with packed weights run by the engine's own kernel, if it has one: the usual one would unpack them.
void StepParts::choose_kernel(Entry& entry) const {
    const auto* const block = std::get_if<model::Moe>(&entry.operation);
    if (block == nullptr || !block->weight_type || !machine_.software) return;
    if (model::is_chosen(entry.execution)) return;
    model::Execution own = entry.execution;
    own.software = model::SoftwareChoice::named(engine_.name);
    const model::SoftwareRun run = model::run_of(entry.operation, own, machine_);
    if (run.kernel != nullptr && run.machine != nullptr) entry.execution = own;
}

void StepParts::prepare(Entry& entry, std::int64_t new_tokens) const {
    distribute(entry);
    choose_kernel(entry);
    if (auto* attention = std::get_if<model::Attention>(&entry.operation)) {
        attention->seq_q = new_tokens;
        attention->causal = new_tokens > 1;
    } else if (auto* latent = std::get_if<model::Mla>(&entry.operation)) {
        latent->seq_q = new_tokens;
    }
}

Time StepParts::time(const Request& request, Part part, std::int64_t new_tokens) const {
    const ModelStep step = make_step(architecture_, request, false);
    Time sum;
    for (Entry entry : step.program.entries) {
        const Part of_entry = attends(entry)                 ? Part::attention
                              : carries_state(entry)         ? Part::state
                              : entry.module == Module::head ? Part::head
                                                             : Part::layers;
        if (of_entry != part) continue;
        prepare(entry, new_tokens);
        sum = sum + time_of(entry, programs::predict(entry, machine_)) +
              static_cast<double>(entry.count * entry.kernels) * gap_of_graph();
    }
    return sum;
}

Time StepParts::layers_of(std::int64_t tokens, Phase phase) const {
    Request request = request_of(deployment_, phase);
    const std::int64_t mine = ceil_divide(tokens, deployment_.data);
    request.batch = phase == Phase::decode ? mine : 1;
    request.seq = phase == Phase::decode ? 1 : mine;
    return time(request, Part::layers, 1);
}

Time StepParts::layers(std::int64_t tokens, double prompts) const {
    if (!phases_differ_ || prompts <= 0.0) return layers_of(tokens, Phase::decode);
    const Time prompt = layers_of(tokens, Phase::prefill);
    if (prompts >= 1.0) return prompt;
    return prompts * prompt + (1.0 - prompts) * layers_of(tokens, Phase::decode);
}

Time StepParts::head(std::int64_t sequences) const {
    Request request = request_of(deployment_, Phase::decode);
    request.batch = ceil_divide(sequences, deployment_.data);
    request.seq = 1;
    const Time logits = time(request, Part::head, 1);
    return logits + sampling(request.batch);
}

/// Of the rows of one rank, after their logits: passes over them in fp32, and a sort.
Time StepParts::sampling(std::int64_t rows) const {
    const std::int64_t count = rows * vocabulary_;
    const model::Copy pass{.elements = std::max<std::int64_t>(1, count / 2),
                           .type = model::DataType::fp32};
    Time time = engine_.sampler_start + engine_.sampler_passes * time_alone(pass, machine_);
    if (deployment_.sampling == Sampling::top && machine_.sm_count > 0) {
        const Cycles clocks = static_cast<double>(count) * engine_.sort_clocks * units::cycle;
        time = time + clocks / (static_cast<double>(machine_.sm_count) * machine_.boost_clock);
    }
    return time;
}

Time StepParts::attention_of(std::int64_t sequences, std::int64_t context,
                             std::int64_t new_tokens) const {
    Request request = request_of(deployment_, Phase::decode);
    request.batch = ceil_divide(sequences, deployment_.data);
    request.seq = context;
    const Time attention = time(request, Part::attention, new_tokens);
    return has_states_ ? attention + time(request, Part::state, 1) : attention;
}

Time StepParts::decode(std::int64_t sequences, std::int64_t context) const {
    return attention_of(sequences, context, 1 + deployment_.speculation.tokens());
}

Time StepParts::encode(std::int64_t tokens, std::int64_t each) const {
    return encoder_ ? encoder_->time(deployment_, machine_, tokens, each) : Time{};
}

Time StepParts::adapters(std::int64_t tokens, std::int64_t used) const {
    return adapter_time(architecture_, deployment_, machine_, tokens, used);
}

Time StepParts::from_host(std::int64_t bytes) const {
    const Collective copy{.kind = CollectiveKind::host_to_device,
                          .gpus = 1,
                          .bytes = std::max<std::int64_t>(1, bytes)};
    return time_alone(copy, machine_);
}

Time StepParts::fetch_adapter() const {
    return from_host(adapter_bytes(architecture_, deployment_));
}

Time StepParts::fetch_token() const {
    // Long enough for the link's bandwidth, as pages go together.
    constexpr std::int64_t together = 4096;
    const double bytes = cache_bytes_per_token(architecture_, deployment_, together);
    return from_host(static_cast<std::int64_t>(bytes * together)) / static_cast<double>(together);
}

Time StepParts::prompt(std::int64_t chunk, std::int64_t cached) const {
    Request request = request_of(deployment_, Phase::prefill);
    request.batch = 1;
    request.seq = chunk + cached;
    const Time attention = time(request, Part::attention, chunk);
    if (!has_states_) return attention;
    request.seq = chunk;
    return attention + time(request, Part::state, chunk);
}

Time StepParts::hop(std::int64_t tokens) const {
    const std::int64_t bytes =
        tokens * architecture_.value("hidden") * model::size_of(deployment_.type);
    return time_alone(Collective{.kind = CollectiveKind::send, .gpus = 2, .bytes = bytes},
                      machine_);
}

Time StepParts::draft(std::int64_t sequences, std::int64_t context) const {
    const Speculation& s = deployment_.speculation;
    const bool by_model = s.draft == Draft::model && drafter_ != nullptr;
    Time sum;
    if (s.draft != Draft::mtp && !by_model) return sum;
    // A pass for each level: the smaller model, or one more layer and the head. (W27)
    const auto layers = static_cast<double>(std::max<std::int64_t>(1, architecture_.layers()));
    for (std::int64_t level = 0; level < s.depth(); ++level) {
        const std::int64_t rows = s.rows(level);
        const StepParts& drafts = by_model ? *drafter_ : *this;
        const Time all = drafts.layers_of(sequences * rows, Phase::decode) +
                         drafts.attention_of(sequences, context, rows);
        sum = sum + (by_model ? all : all / layers) + drafts.head(sequences * rows);
    }
    return sum;
}

}  // namespace ridge::programs
