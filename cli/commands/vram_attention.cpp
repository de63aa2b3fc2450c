// `ridge vram attention`: what an implementation allocates, when, and what fits.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <ostream>

#include "cli/charts/chart_output.h"
#include "cli/charts/memory_chart.h"
#include "cli/commands/vram.h"
#include "cli/commands/vram_lengths.h"
#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/operation_command.h"
#include "cli/views/memory.h"
#include "cli/views/prediction.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/footprint/footprint.h"
#include "model/footprint/memory_fit.h"

namespace ridge::cli {
namespace {

using model::Field;

struct AttentionOptions {
    AttentionOptions(CommandLine& line, std::span<const std::string> arguments)
        : gpu(line), operation(line, arguments) {}

    GpuOptions gpu;
    OperationArgument operation;
    std::string pass;
    std::string capacity;
    std::string layout = "bhnd";
    std::string mask = "none";
    std::string mask_shape = "matrix";
    double dropout = 0.0;
    bool expandable_segments = false;
    std::int32_t roundup = 0;
    std::string fit;
    bool timeline = false;
    std::string format;
    ChartOutput chart;
};

/// The question with its answer.
struct Answer {
    std::string title;
    model::AttentionCall call;
    model::MemoryPasses passes = model::MemoryPasses::inference;
    model::AllocatorOptions allocator;
    std::optional<std::string> refused;
    model::MemoryPlan plan;  ///< of the passes asked about
    model::MemoryTimeline timeline;
    model::AttentionMemory memory;  ///< of all passes
    model::LibraryWorkspace workspace;
    std::optional<MemoryLimit> limit;
    std::optional<model::FitDimension> dimension;
    model::Largest largest;
};

/// The software whose allocations an implementation's name stands for.
model::AttentionSoftware software_of(const std::string& impl) {
    if (impl.rfind("torch-", 0) == 0 || impl == "standard" || impl.rfind("flash", 0) == 0) {
        return model::parse_attention_software(impl);
    }
    const model::Implementation implementation =
        model::parse_implementation(impl.empty() ? "auto" : impl);
    if (!model::has(model::OperationKind::attention, implementation)) {
        throw InputError(model::refusal(model::OperationKind::attention, implementation));
    }
    return implementation == model::Implementation::torch ? model::AttentionSoftware::standard
                                                          : model::AttentionSoftware::flash2;
}

model::MemoryPasses passes_of(const AttentionOptions& options, const model::Parameters& given,
                              model::Direction direction) {
    if (options.pass.empty() && direction == model::Direction::forward) {
        return model::MemoryPasses::inference;
    }
    const bool training =
        options.pass.empty() || model::parse_pass(options.pass) == model::Pass::training;
    if (!training) {
        if (direction == model::Direction::backward) {
            throw InputError("direction: inference has no backward pass", {},
                             "leave --pass inference out");
        }
        return model::MemoryPasses::inference;
    }
    return given.has(Field::direction) && direction == model::Direction::forward
               ? model::MemoryPasses::forward
               : model::MemoryPasses::training;
}

std::optional<model::FitDimension> fit_dimension(const std::string& text,
                                                 const std::map<Field, std::string>& given) {
    if (text.empty()) return {};
    if (text == "batch") return model::FitDimension::batch;
    if (text == "heads") return model::FitDimension::heads;
    return given.contains(Field::seq_q) ? model::FitDimension::seq_kv : model::FitDimension::seq;
}

/// Sets a starting value for the size to search for, which need not be given.
void fill_searched(std::map<Field, std::string>& texts,
                   const std::optional<model::FitDimension>& dimension) {
    if (!dimension) return;
    if (*dimension == model::FitDimension::heads && !texts.contains(Field::heads)) {
        texts[Field::heads] = texts.contains(Field::kv_heads) ? texts[Field::kv_heads] : "1";
    }
    if (*dimension == model::FitDimension::seq && !texts.contains(Field::seq)) {
        texts[Field::seq] = "1";
    }
}

void find_largest(Answer& answer) {
    if (!answer.dimension) return;
    if (!answer.limit) {
        throw InputError("fit: there is no memory to fit into", {},
                         "give --gpu NAME or --capacity SIZE");
    }
    model::AllocatorOptions options = answer.allocator;
    options.limit =
        static_cast<std::int64_t>(answer.limit->usable.base()) - answer.workspace.total();
    answer.largest =
        model::largest_that_fits(answer.call, *answer.dimension, answer.passes, options);
    answer.refused = answer.largest.refused;
    if (answer.largest.size == 0) return;
    const std::int64_t group = *answer.dimension == model::FitDimension::heads
                                   ? answer.call.attention.heads / answer.call.attention.kv_heads
                                   : 1;
    answer.call = resized(answer.call, *answer.dimension, answer.largest.size / group);
}

void run_plan(Answer& answer) {
    if (answer.refused) return;
    const model::AttentionPlan outcome = model::attention_plan(answer.call);
    if (const auto* refused = std::get_if<model::NotModelled>(&outcome)) {
        answer.refused = refused->reason;
        return;
    }
    const auto& all = std::get<model::MemoryPlan>(outcome);
    answer.memory = model::attention_memory(replay(all, answer.allocator));
    answer.plan = plan_of(all, answer.passes);
    if (answer.limit) {
        answer.allocator.limit =
            static_cast<std::int64_t>(answer.limit->usable.base()) - answer.workspace.total();
    }
    answer.timeline = replay(answer.plan, answer.allocator);
}

/// Sets the title: the question in words, with the size that was found.
void set_title(Answer& answer, model::Parameters parameters, bool causal) {
    const model::Attention& op = answer.call.attention;
    if (answer.dimension && answer.largest.size > 0) {
        switch (*answer.dimension) {
            case model::FitDimension::seq:
                parameters.set(Field::seq, std::to_string(op.seq_q));
                break;
            case model::FitDimension::seq_kv:
                parameters.set(Field::seq_kv, std::to_string(op.seq_kv));
                break;
            case model::FitDimension::batch:
                parameters.set(Field::batch, std::to_string(op.batch));
                break;
            case model::FitDimension::heads:
                parameters.set(Field::heads, std::to_string(op.heads));
                if (op.kv_heads != op.heads) {
                    parameters.set(Field::kv_heads, std::to_string(op.kv_heads));
                }
                break;
        }
    }
    answer.title = text_of(model::OperationKind::attention, parameters) +
                   fmt::format("{} impl={}, {}", causal ? " causal" : "",
                               name_of(answer.call.software), name_of(answer.passes));
}

Answer answer_for(const AttentionOptions& options, std::map<Field, std::string> texts,
                  const std::optional<MemoryLimit>& limit) {
    Answer answer;
    const std::string impl = texts.contains(Field::impl) ? texts[Field::impl] : "";
    texts.erase(Field::impl);
    // PyTorch aligns the causal mask with the first key and takes any lengths.
    const bool causal = texts.erase(Field::causal) > 0;
    answer.dimension = fit_dimension(options.fit, texts);
    fill_searched(texts, answer.dimension);
    model::Parameters parameters;
    for (const auto& [field, text] : texts) parameters.set(field, text);
    answer.call.attention = std::get<model::Attention>(
        model::make_operation(model::OperationKind::attention, parameters));
    answer.call.attention.causal = causal;
    answer.call.software = software_of(impl);
    answer.call.layout = model::parse_tensor_layout(options.layout);
    answer.call.mask = model::parse_mask_kind(options.mask);
    answer.call.mask_shape = model::parse_mask_shape(options.mask_shape);
    answer.call.dropout = options.dropout;
    answer.passes = passes_of(options, parameters, answer.call.attention.direction);
    answer.allocator = {.expandable_segments = options.expandable_segments,
                        .roundup_power2_divisions = options.roundup};
    answer.limit = limit;
    std::int32_t capability = 90;
    if (answer.limit && answer.limit->multiprocessors > 0) {
        answer.call.multiprocessors = answer.limit->multiprocessors;
        capability = answer.limit->compute_capability;
    }
    answer.workspace =
        library_workspace(answer.call, answer.passes == model::MemoryPasses::training, capability);
    find_largest(answer);
    set_title(answer, parameters, causal);
    run_plan(answer);
    return answer;
}

void write_passes(const Context& context, const Answer& answer) {
    const model::AttentionMemory& memory = answer.memory;
    Table table{.columns = {{"  beyond the inputs"},
                            {"peak B", Align::right},
                            {"after B", Align::right},
                            {"reserved", Align::right}},
                .rows = {}};
    const auto add = [&](const char* name, std::int64_t peak, std::int64_t after,
                         std::int64_t reserved) {
        table.rows.push_back({name, std::to_string(peak), std::to_string(after),
                              format_capacity(bytes_of(reserved))});
    };
    add("  inference", memory.inference_peak, 0, memory.reserved_inference);
    add("  training forward", memory.forward_peak, memory.forward_saved, memory.reserved_forward);
    add("  backward", memory.backward_peak, memory.backward_after, memory.reserved_backward);
    context.out << '\n';
    write_text(context.out, table);
}

void write_one_head_note(const Context& context, const model::Attention& attention) {
    const model::OneHeadFormula rule = model::one_head_formula(attention);
    if (rule.factor <= 1.0) return;
    context.out << '\n';
    write_sentence(
        context, fmt::format("The common formula seq^2 x element size gives {}: one head of one "
                             "sample. It omits heads and batch; the score matrix of all {} is {}.",
                             both_units(rule.one_score_matrix), format_number(rule.factor, 6),
                             both_units(rule.all_score_matrices)));
}

void write_surroundings(const Context& context, const Answer& answer) {
    context.out << '\n';
    if (answer.limit) {
        const Bytes total = bytes_of(peak_of(answer.plan, answer.timeline).level.allocated);
        write_sentence(
            context,
            fmt::format("{} into {}: {} {} of it.", answer.timeline.fits ? "Fits" : "Does not fit",
                        text_of(*answer.limit), answer.timeline.fits ? "takes" : "needs",
                        share_of_memory(total / answer.limit->usable)));
    }
    const std::string taken = format_capacity(bytes_of(model::context_bytes));
    const char* const each = answer.workspace.threads > 1 ? " in each of two threads" : "";
    std::string workspace = format_capacity(bytes_of(answer.workspace.cublas_per_thread));
    workspace = fmt::format("cuBLAS's workspace ({}{})", workspace, each);
    if (answer.workspace.total() == 0) workspace.clear();
    write_sentence(
        context,
        answer.limit
            ? fmt::format("The CUDA context ({}) is already taken off the usable memory{}.", taken,
                          workspace.empty() ? "" : "; " + workspace + " comes on top")
            : fmt::format("On top of this, a process holds its CUDA context ({}){}.", taken,
                          workspace.empty() ? "" : " and " + workspace));
}

void write_largest(const Context& context, const Answer& answer) {
    if (!answer.dimension) return;
    const std::string_view name = name_of(*answer.dimension);
    if (answer.largest.size == 0) {
        write_sentence(context, fmt::format("No {} fits: not even 1.", name));
    } else if (answer.largest.unbounded) {
        write_sentence(context, fmt::format("Any {} fits.", name));
    } else {
        write_sentence(context, fmt::format("Largest {} that fits into {}: {}.", name,
                                            text_of(*answer.limit), answer.largest.size));
    }
    context.out << '\n';
}

void write_text_answer(const Context& context, const Answer& answer) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(answer.title, width, 2) << '\n';
    if (answer.refused) {
        write_sentence(
            context, fmt::format("{} refuses: {}", name_of(answer.call.software), *answer.refused));
        return;
    }
    write_largest(context, answer);
    write_alive_at_peak(context, answer.plan, answer.timeline);
    write_passes(context, answer);
    write_one_head_note(context, answer.call.attention);
    write_surroundings(context, answer);
    write_sentence(context,
                   sentence_of(attention_evidence(name_of(answer.call.software), answer.limit)));
}

Json json_of_call(const Answer& answer) {
    const model::Attention& op = answer.call.attention;
    return {{"op", "attention"},
            {"impl", name_of(answer.call.software)},
            {"pass", name_of(answer.passes)},
            {"batch", op.batch},
            {"heads", op.heads},
            {"kv_heads", op.kv_heads},
            {"seq_q", op.seq_q},
            {"seq_kv", op.seq_kv},
            {"head_dim", op.head_dim},
            {"dtype", name_of(op.type)},
            {"layout", name_of(answer.call.layout)},
            {"causal", op.causal},
            {"dropout", answer.call.dropout},
            {"mask", name_of(answer.call.mask)},
            {"mask_shape", name_of(answer.call.mask_shape)}};
}

std::int64_t reserved_by(const Answer& answer) {
    std::int64_t reserved = 0;
    for (const model::MemoryLevel& level : answer.timeline.levels) {
        reserved = std::max(reserved, level.reserved);
    }
    return reserved;
}

void add_figures(Json& json, const Answer& answer) {
    const model::AttentionMemory& memory = answer.memory;
    json["inputs_bytes"] = memory.inputs;
    json["inference_peak_bytes"] = memory.inference_peak;
    json["forward_peak_bytes"] = memory.forward_peak;
    json["forward_saved_bytes"] = memory.forward_saved;
    json["backward_peak_bytes"] = memory.backward_peak;
    json["backward_after_bytes"] = memory.backward_after;
    json["reserved_bytes"] = reserved_by(answer);
    json["inference_reserved_bytes"] = memory.reserved_inference;
    json["forward_reserved_bytes"] = memory.reserved_forward;
    json["backward_reserved_bytes"] = memory.reserved_backward;
    json["workspace_bytes"] = answer.workspace.total();
    json["context_bytes"] = model::context_bytes;
    const MemoryPeak peak = peak_of(answer.plan, answer.timeline);
    json["total_bytes"] = peak.level.allocated;
    json["peak"] = {{"phase", peak.phase},
                    {"step", peak.step},
                    {"requested_bytes", peak.level.requested},
                    {"allocated_bytes", peak.level.allocated},
                    {"reserved_bytes", peak.level.reserved}};
    const model::OneHeadFormula rule = model::one_head_formula(answer.call.attention);
    json["one_head_score_bytes"] = rule.one_score_matrix.base();
    json["all_head_score_bytes"] = rule.all_score_matrices.base();
}

/// The members of the JSON that CSV and Markdown have too.
constexpr std::array figure_names{
    "total_bytes",        "inputs_bytes",        "inference_peak_bytes",
    "forward_peak_bytes", "forward_saved_bytes", "backward_peak_bytes",
    "reserved_bytes",     "workspace_bytes",     "usable_bytes"};

Json json_of(const Answer& answer) {
    Json json = json_of_call(answer);
    if (answer.dimension) {
        Json fit{{"dimension", name_of(*answer.dimension)}, {"largest", answer.largest.size}};
        if (answer.largest.unbounded) fit["unbounded"] = true;
        json["fit"] = std::move(fit);
    }
    if (answer.limit) {
        json["capacity_bytes"] = answer.limit->capacity.base();
        json["usable_bytes"] = answer.limit->usable.base();
        json["usable_measured"] = answer.limit->measured;
    }
    if (answer.refused) {
        json["refused"] = *answer.refused;
        return json;
    }
    json["evidence"] = to_json(attention_evidence(name_of(answer.call.software), answer.limit));
    add_figures(json, answer);
    if (answer.limit) json["fits"] = answer.timeline.fits;
    json["allocations"] = json_of_allocations(answer.plan, answer.timeline);
    return json;
}

void vram_over_sizes(const Context& context, const AttentionOptions& options) {
    if (options.timeline || !options.fit.empty()) {
        throw InputError("--timeline and --fit are for one size, not for a range");
    }
    LengthQuestion question{.texts = options.operation.texts(),
                            .pass = options.pass.empty() ? "inference" : options.pass,
                            .limits = memory_limits(context, options.gpu, options.capacity),
                            .format = options.format,
                            .chart = options.chart};
    const std::optional<MemoryLimit> first = question.limits.front();
    write_lengths(context, question, [&](const FieldTexts& texts) {
        const Answer answer = answer_for(options, texts, first);
        if (answer.refused) return std::variant<Bytes, std::string>(*answer.refused);
        return std::variant<Bytes, std::string>(
            bytes_of(peak_of(answer.plan, answer.timeline).level.allocated));
    });
}

/// The figures of an answer as one row.
Table exact_table(const Answer& answer) {
    Table table{.columns = {{"op"}}, .rows = {{answer.title}}};
    const Json json = json_of(answer);
    for (const char* name : figure_names) {
        const Json* const figure = json.find(name);
        table.columns.push_back({name, Align::right});
        const auto number = figure == nullptr ? std::nullopt : figure->if_number();
        table.rows.front().push_back(number ? fmt::format("{:.0f}", *number) : std::string());
    }
    table.columns.push_back({"evidence"});
    table.rows.front().emplace_back(
        answer.refused
            ? ""
            : name_of(attention_evidence(name_of(answer.call.software), answer.limit).grade()));
    table.columns.push_back({"error"});
    table.rows.front().push_back(answer.refused.value_or(""));
    return table;
}

int vram_attention(const Context& context, const AttentionOptions& options) {
    if (has_range(options.operation.texts())) {
        vram_over_sizes(context, options);
        return success;
    }
    const Answer answer = answer_for(options, options.operation.texts(),
                                     memory_limit(context, options.gpu, options.capacity));
    if (options.format == "csv" || options.format == "md") {
        options.format == "csv" ? write_csv(context.out, exact_table(answer))
                                : write_markdown(context.out, exact_table(answer));
        return success;
    }
    if (options.format == "json") {
        write_document(context.out, "attention-memory", json_of(answer));
    } else if (options.timeline && !answer.refused) {
        write_timeline(context, answer.plan, answer.timeline);
    } else if (options.chart.file.empty() || answer.refused) {
        write_text_answer(context, answer);
    }
    if (!options.chart.file.empty() && !answer.refused) {
        std::optional<Bytes> usable;
        if (answer.limit) usable = answer.limit->usable;
        write_chart_output(context, options.chart,
                           memory_chart(answer.title, answer.plan, answer.timeline, usable));
    }
    return success;
}

void describe(CommandLine& line) {
    line.footer(
        "Implementations: standard, flash1, flash2, flash3 (auto: flash2), and PyTorch's\n"
        "torch-flash, torch-efficient, torch-cudnn and torch-math.\n"
        "Examples:\n"
        "  ridge vram attention --seq 131072 --heads 32 --head-dim 128 --dtype fp16 \\\n"
        "      --impl standard\n"
        "  ridge vram attention --seq 4096 --heads 32 --kv-heads 8 --head-dim 128 \\\n"
        "      --impl torch-flash --pass training --timeline\n"
        "  ridge vram attention --heads 32 --head-dim 128 --impl torch-math \\\n"
        "      --pass training --fit seq --gpu h200-sxm\n"
        "  ridge vram attention --seq 1024:131072:*2 --heads 32 --head-dim 128 \\\n"
        "      --impl standard,flash2 --gpu a100-sxm-80gb,h200-sxm -o memory.svg");
}

}  // namespace

Action build_vram_attention(CommandLine& line, std::span<const std::string> arguments) {
    const auto options = std::make_shared<AttentionOptions>(line, arguments);
    line.option("--pass", options->pass, "inference or training (forward and backward)")
        .one_of({"inference", "training"});
    line.option("--capacity", options->capacity, "device memory, \"80GiB\", instead of --gpu")
        .value("SIZE");
    line.option("--layout", options->layout,
                "bhnd ([batch, heads, seq, head_dim]) or bnhd (transposed for the call)");
    line.option("--dropout", options->dropout, "probability of dropout").in_range(0.0, 1.0);
    line.option("--mask", options->mask, "none, additive (of q's type) or boolean");
    line.option("--mask-shape", options->mask_shape,
                "matrix [seq_q, seq_kv], batch [batch, 1, ...] or full [batch, heads, ...]");
    line.flag("--expandable-segments", options->expandable_segments,
              "PyTorch's allocator with expandable_segments:True");
    line.option("--roundup-power2", options->roundup,
                "PyTorch's allocator with roundup_power2_divisions:N")
        .in_range(0, 64);
    line.option("--fit", options->fit, "find the largest that fits: seq, batch or heads")
        .one_of({"seq", "batch", "heads"});
    line.flag("--timeline", options->timeline, "list every allocation and release, in order");
    line.option("-o,--output", options->chart.file,
                "timeline as a chart, or memory over a range: .svg, .html, .png or .pdf")
        .value("FILE");
    add_format_option(line, options->format, "table|chart|json|csv|md");
    describe(line);
    return [options](const Context& context) { return vram_attention(context, *options); };
}

}  // namespace ridge::cli
