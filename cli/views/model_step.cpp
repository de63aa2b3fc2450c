#include "cli/views/model_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/views/grades.h"
#include "cli/views/memory.h"
#include "cli/views/partial.h"
#include "cli/views/step_energy.h"
#include "hardware/units.h"
#include "model/core/fields.h"
#include "model/footprint/memory_fit.h"
#include "programs/largest.h"
#include "programs/software/recorder.h"
#include "programs/utilisation.h"

namespace ridge::cli {
namespace {

using programs::Entry;

std::string operation_text(const Entry& entry) {
    const model::OperationKind kind = model::kind_of(entry.operation);
    return model::text_of(kind, model::parameters_of(entry.operation));
}

Json json_of_entry(const Entry& entry, const model::Outcome* outcome) {
    Json json{{"name", entry.name},
              {"module", programs::name_of(entry.module)},
              {"pass", programs::name_of(entry.pass)},
              {"operation", operation_text(entry)},
              {"count", entry.count},
              {"kernels", entry.kernels * entry.count},
              {"first_layer", entry.first_layer}};
    if (outcome == nullptr) return json;
    if (const auto* p = std::get_if<model::Prediction>(outcome)) {
        json["time_us"] = p->time.in(units::us) * static_cast<double>(entry.count);
        json["bound"] = model::name_of(p->bound);
        json["limiter"] = model::name_of(p->limiter);
        json["evidence"] = model::name_of(p->evidence.grade());
    } else {
        json["not_modelled"] = std::get<model::NotModelled>(*outcome).reason;
    }
    return json;
}

/// Whether the times of the host were measured with this GPU or given with --launch or --host.
bool has_measured_host(const StepAnswer& answer) {
    return programs::has_measured_host(answer.machine->name) ||
           answer.host.name != programs::host_beside(answer.machine->name).name;
}

Json json_or_null(const std::optional<double>& value) {
    return value ? Json(*value) : Json();
}

void add_rates(Json& json, const StepAnswer& answer) {
    const auto rate = tokens_per_s(answer);
    const programs::Request& request = answer.request;
    json["tokens_per_s"] = json_or_null(rate);
    json["gpus"] = gpus_of_batch(request) * request.data_parallel;
    json["tokens_per_s_of_all_gpus"] =
        rate ? Json(*rate * static_cast<double>(request.data_parallel)) : Json();
    const programs::Utilisation used = utilisation_of(answer.step, *answer.time, *answer.machine);
    json["mfu"] = json_or_null(used.flop);
    json["mbu"] = json_or_null(used.bandwidth);
}

/// Adds what is known of a model besides its operations.
void add_model(Json& json, const StepAnswer& answer) {
    const programs::Architecture& a = *answer.architecture;
    const programs::Request& request = answer.request;
    json["family"] = a.family;
    json["source"] = a.source;
    json["phase"] = name_of(request.phase);
    json["software"] = name_of(request.software);
    json["batch"] = request.batch;
    json["seq"] = request.seq;
    json["dtype"] = model::name_of(request.type);
    json["parameters"] = answer.step.parameters;
    json["active_parameters"] = answer.step.active_parameters;
    json["weights_bytes"] = answer.step.weights_bytes;
    json["weight_format"] = answer.step.weight_format;
    if (!answer.step.weight_format_source.empty()) {
        json["weight_format_source"] = answer.step.weight_format_source;
    }
    json["kv_cache_bytes"] = answer.step.kv_cache_bytes;
    if (answer.step.images > 0) {
        json["images"] = answer.step.images;
        json["tokens_of_an_image"] = answer.step.inputs.of_image;
    }
    if (answer.step.inputs.of_audio > 0) json["tokens_of_audio"] = answer.step.inputs.of_audio;
    json["resident_bytes"] = answer.memory.resident;
    json["peak_extra_bytes"] = answer.memory.extra();
    json["reserved_bytes"] = answer.memory.reserved;
    json["memory_evidence"] = to_json(memory_evidence(answer));
    Json parts = Json::object();
    for (const programs::StepMemory::Part& part : answer.memory.parts) {
        parts[std::string(part.name)] = part.bytes;
    }
    json["peak_parts_bytes"] = std::move(parts);
}

/// The sum of the entries of one name and module, in the order of their first appearance.
struct Line {
    std::string name;
    std::string module;
    std::int64_t kernels = 0;
    Time time{};
    Time longest{};
    model::Unmodelled left_out{};
    std::string bound{};
    std::optional<model::Grade> evidence{};  ///< the weakest of what is modelled
    std::string shape{};                     ///< of a single kernel
};

std::vector<Line> lines_of(const StepAnswer& answer, bool all_kernels) {
    std::vector<Line> lines;
    const auto& entries = answer.step.program.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Entry& entry = entries[i];
        std::string name = entry.name;
        if (!all_kernels) name = name.substr(0, name.find(':'));
        if (entry.pass == programs::Pass::backward) name += ", backward";
        const std::string module(programs::name_of(entry.module));
        auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& each) {
            return each.name == name && each.module == module;
        });
        if (all_kernels || line == lines.end()) {
            lines.push_back({.name = name, .module = module});
            if (all_kernels) lines.back().shape = operation_text(entry);
            line = lines.end() - 1;
        }
        line->kernels += entry.count * entry.kernels;
        if (!answer.time) continue;
        const model::Outcome& outcome = answer.time->gpu.outcomes[i];
        const Time time = time_of(entry, outcome);
        line->time += time;
        const auto* p = std::get_if<model::Prediction>(&outcome);
        if (p != nullptr) {
            const model::Grade grade = p->evidence.grade();
            line->evidence = std::min(line->evidence.value_or(grade), grade);
        }
        if (p == nullptr) line->left_out.add(std::get<model::NotModelled>(outcome).reason);
        if (p != nullptr && time > line->longest) {
            line->longest = time;
            line->bound = name_of(p->limiter);
        }
    }
    return lines;
}

/// "12.3 %"; a sum that lacks parts has no shares.
std::string share_text(Time time, const programs::Totals& total) {
    if (!total.left_out.empty() || total.time <= Time{}) return {};
    return format_number(100.0 * (time / total.time), 3) + " %";
}

Table operations_table(const StepAnswer& answer, bool all_kernels) {
    Table table{.columns = {{"  operation"}, {"module"}, {"kernels", Align::right}}, .rows = {}};
    if (answer.time) {
        table.columns.push_back({"time", Align::right});
        table.columns.push_back({"share", Align::right});
        table.columns.push_back({"limit"});
        table.columns.push_back({"evidence"});
    }
    if (all_kernels) table.columns.push_back({"shape"});
    std::vector<Line> lines = lines_of(answer, all_kernels);
    if (answer.time) {
        std::stable_sort(lines.begin(), lines.end(),
                         [](const Line& a, const Line& b) { return a.time > b.time; });
    }
    for (const Line& line : lines) {
        std::vector<std::string> row{"  " + line.name, line.module, std::to_string(line.kernels)};
        if (answer.time) {
            row.push_back(model::text_of_sum(line.time, line.left_out));
            row.push_back(share_text(line.time, answer.time->gpu.total));
            row.push_back(line.bound);
            row.emplace_back(line.evidence ? name_of(*line.evidence) : "");
        }
        if (all_kernels) row.push_back(line.shape);
        table.rows.push_back(std::move(row));
    }
    return table;
}

/// Every kernel in base units, for programs.
Table exact_table(const StepAnswer& answer) {
    Table table{.columns = {{"name"},
                            {"module"},
                            {"pass"},
                            {"first_layer"},
                            {"operation"},
                            {"count"},
                            {"kernels"}},
                .rows = {}};
    if (answer.time) {
        for (const char* name :
             {"time_us", "low_us", "high_us", "bound", "limiter", "evidence", "not_modelled"}) {
            table.columns.push_back({name});
        }
    }
    const auto& entries = answer.step.program.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Entry& entry = entries[i];
        std::vector<std::string> row{entry.name,
                                     std::string(programs::name_of(entry.module)),
                                     std::string(programs::name_of(entry.pass)),
                                     std::to_string(entry.first_layer),
                                     operation_text(entry),
                                     std::to_string(entry.count),
                                     std::to_string(entry.count * entry.kernels)};
        if (answer.time) {
            const auto* p = std::get_if<model::Prediction>(&answer.time->gpu.outcomes[i]);
            const auto count = static_cast<double>(entry.count);
            const auto cell = [&](Time time) {
                return p == nullptr ? "" : fmt::format("{:.6g}", time.in(units::us)*count);
            };
            row.push_back(cell(p == nullptr ? Time{} : p->time));
            row.push_back(cell(p == nullptr ? Time{} : p->low));
            row.push_back(cell(p == nullptr ? Time{} : p->high));
            row.emplace_back(p == nullptr ? "" : model::name_of(p->bound));
            row.emplace_back(p == nullptr ? "" : model::name_of(p->limiter));
            row.emplace_back(p == nullptr ? "" : model::name_of(p->evidence.grade()));
            const auto* none = std::get_if<model::NotModelled>(&answer.time->gpu.outcomes[i]);
            row.push_back(none == nullptr ? std::string() : none->reason);
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

/// The wall time if the same kernels run in a CUDA graph.
Time as_graph(const StepAnswer& answer) {
    const programs::Totals& total = answer.time->gpu.total;
    return programs::graph_wall(total.time, total.kernels, answer.host);
}

/// Collectives that run beside the kernels, which the sum of the kernels contains as well.
Time overlapped(const StepAnswer& answer) {
    Time sum;
    const auto& entries = answer.step.program.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].overlapped) sum += time_of(entries[i], answer.time->gpu.outcomes[i]);
    }
    return sum;
}

/// What of the prompt is not text.
void write_inputs(const Context& context, const programs::ModelStep& step) {
    if (step.images > 0) {
        write_sentence(
            context,
            fmt::format("{} of {} tokens each in a prompt.",
                        step.images == 1 ? "1 image" : fmt::format("{} images", step.images),
                        step.inputs.of_image));
    }
    if (step.inputs.of_audio > 0) {
        write_sentence(context,
                       fmt::format("Audio of {} tokens in a prompt.", step.inputs.of_audio));
    }
}

void write_times(const Context& context, const StepAnswer& answer) {
    write_inputs(context, answer.step);
    const programs::StepTime& time = *answer.time;
    const programs::Totals& total = time.gpu.total;
    const std::string host =
        fmt::format("host {} ({}{})", format(time.host), answer.host.name,
                    has_measured_host(answer) ? "" : ", assumed: none was measured with this GPU");
    if (!total.left_out.empty()) {
        write_sentence(context,
                       fmt::format("GPU {} in {} kernels; {}; wall {}: {}.",
                                   model::text_of_sum(total.time, total.left_out), total.kernels,
                                   host, model::text_of_sum(time.wall, total.left_out),
                                   printable(total.left_out.text())));
        return;
    }
    write_sentence(context, fmt::format("GPU {} ({} to {}) in {} kernels; {}; wall {}.",
                                        format(total.time), format(total.low), format(total.high),
                                        total.kernels, host, format(time.wall)));
    if (const Time beside = overlapped(answer); beside > Time{}) {
        write_sentence(context, fmt::format("The GPU time includes {} of collectives, which run "
                                            "beside the kernels.",
                                            format(beside)));
    }
}

/// "1234 tokens/s on each of 8 GPUs (9872 together)".
std::string tokens_text(double rate, const programs::Request& request) {
    const std::int64_t gpus = gpus_of_batch(request);
    const std::string text = format_number(rate, 4) + " tokens/s";
    const std::string group = gpus > 1 ? fmt::format("{} GPUs", gpus) : "GPU";
    if (request.data_parallel > 1) {
        const std::string each = gpus > 1 ? fmt::format("each group of {} GPUs", gpus)
                                          : fmt::format("each of {} GPUs", request.data_parallel);
        const double all = rate * static_cast<double>(request.data_parallel);
        return fmt::format("{} on {} ({} together)", text, each, format_number(all, 4));
    }
    return gpus > 1 ? fmt::format("{} on {} together", text, group) : text;
}

void write_rates(const Context& context, const StepAnswer& answer) {
    const auto rate = tokens_per_s(answer);
    if (!rate) return;
    const programs::Utilisation used = utilisation_of(answer.step, *answer.time, *answer.machine);
    std::string text = tokens_text(*rate, answer.request);
    if (used.flop) text += fmt::format(", MFU {} %", format_number(100.0 * *used.flop, 3));
    if (used.bandwidth) {
        text += fmt::format(", MBU {} %", format_number(100.0 * *used.bandwidth, 3));
    }
    write_sentence(context, text + ".");
}

void write_totals(const Context& context, const StepAnswer& answer) {
    const programs::StepTime& time = *answer.time;
    const programs::Totals& total = time.gpu.total;
    context.out << '\n';
    write_times(context, answer);
    if (total.left_out.empty() && total.time > Time{}) {
        write_sentence(context,
                       fmt::format("Evidence, by time of the kernels: {}.", evidence_text(total)));
    }
    if (total.left_out.empty() && time.host_bound()) {
        write_sentence(context,
                       fmt::format("Host-bound: dispatch takes {}, kernels {}; a CUDA graph "
                                   "gives up to {}x.",
                                   format(time.host), format(total.time),
                                   format_number(time.wall / as_graph(answer), 2)));
    }
    if (!answer.listed) write_rates(context, answer);
    write_step_energy(context, answer);
}

}  // namespace

Place place_on(Machines& machines, const std::string& gpu) {
    const model::UsableMemory usable = model::usable_memory(machines.description(gpu));
    return {.machine = &machines.at(gpu),
            .usable = usable.bytes,
            .usable_measured = usable.measured,
            .host = programs::host_beside(machines.at(gpu).name)};
}

StepAnswer answer_step(const programs::Architecture& architecture, programs::Request request,
                       const Place& place) {
    if (place.machine != nullptr && place.machine->sm_count > 0) {
        request.multiprocessors = place.machine->sm_count;
    }
    StepAnswer answer{.architecture = &architecture,
                      .request = request,
                      .step = make_step(architecture, request),
                      .memory = {},
                      .host = place.host,
                      .machine = place.machine};
    answer.memory = memory_of(answer.step);
    if (place.machine != nullptr) {
        answer.usable = bytes_of(place.usable);
        answer.usable_measured = place.usable_measured;
        answer.time = predict(answer.step, *place.machine, answer.host);
    }
    return answer;
}

StepAnswer answer_program(const programs::Architecture& named, programs::Program program,
                          const Place& place) {
    StepAnswer answer{.architecture = &named,
                      .request = {},
                      .step = {},
                      .memory = {},
                      .host = place.host,
                      .machine = place.machine,
                      .listed = true};
    answer.step.program = std::move(program);
    if (place.machine != nullptr) answer.time = predict(answer.step, *place.machine, answer.host);
    return answer;
}

void add_largest(StepAnswer& answer) {
    if (!answer.usable || answer.listed) return;
    const auto usable = static_cast<std::int64_t>(answer.usable->base());
    answer.largest_batch = largest_batch(*answer.architecture, answer.request, usable);
    answer.largest_length = largest_length(*answer.architecture, answer.request, usable);
}

std::string title_of(const StepAnswer& answer) {
    if (answer.listed) return answer.architecture->name;
    return fmt::format("{}, {} of {} x {}", answer.architecture->name,
                       name_of(answer.request.phase), answer.request.batch, answer.request.seq);
}

std::int64_t gpus_of_batch(const programs::Request& request) {
    return request.tensor_parallel * request.expert_parallel;
}

std::optional<double> tokens_per_s(const StepAnswer& answer) {
    if (!answer.time->gpu.total.left_out.empty()) return std::nullopt;
    return static_cast<double>(answer.step.tokens) / answer.time->wall.base();
}

Json json_of(const StepAnswer& answer) {
    const programs::Architecture& a = *answer.architecture;
    Json json{{"model", a.name}, {"kernels", answer.step.program.kernels()}};
    if (!answer.listed) add_model(json, answer);
    if (answer.usable) json["usable_bytes"] = answer.usable->base();
    if (answer.largest_batch) json["largest_batch"] = *answer.largest_batch;
    if (answer.largest_length) json["largest_seq"] = *answer.largest_length;
    if (answer.time) {
        const programs::Totals& total = answer.time->gpu.total;
        json["gpu"] = answer.machine->name;
        json["time_us"] = sum_in_us(total.time, total.left_out);
        json["time_low_us"] = sum_in_us(total.low, total.left_out);
        json["time_high_us"] = sum_in_us(total.high, total.left_out);
        json["host"] = answer.host.name;
        json["host_processor"] = answer.host.processor;
        json["host_us"] = answer.time->host.in(units::us);
        json["host_measured"] = has_measured_host(answer);
        json["evidence"] = evidence_json(total);
        json["wall_us"] = sum_in_us(answer.time->wall, total.left_out);
        add_left_out(json, total.time, total.left_out);
        json["host_bound"] = total.left_out.empty() ? Json(answer.time->host_bound()) : Json();
        if (!answer.listed) add_rates(json, answer);
        add_step_energy(json, answer);
    }
    Json operations = Json::array();
    const auto& entries = answer.step.program.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        operations.push_back(
            json_of_entry(entries[i], answer.time ? &answer.time->gpu.outcomes[i] : nullptr));
    }
    json["operations"] = std::move(operations);
    return json;
}

Json memory_json(const StepAnswer& answer) {
    Json json{{"schema", "ridge/model-memory/1"}, {"model", answer.architecture->name}};
    add_model(json, answer);
    json["evidence"] = to_json(memory_evidence(answer));
    if (answer.usable) {
        json["usable_bytes"] = answer.usable->base();
        json["fits"] = static_cast<double>(answer.memory.reserved) <= answer.usable->base();
    }
    if (answer.largest_batch) json["largest_batch"] = *answer.largest_batch;
    if (answer.largest_length) json["largest_seq"] = *answer.largest_length;
    return json;
}

void write_step(const Context& context, const StepAnswer& answer, bool all_kernels, Format format) {
    if (format == Format::json) {
        write_document(context.out, "step", json_of(answer));
        return;
    }
    if (format == Format::csv) return write_csv(context.out, exact_table(answer));
    if (format == Format::markdown) {
        return write_markdown(context.out, operations_table(answer, all_kernels));
    }
    const programs::Architecture& a = *answer.architecture;
    const programs::Request& r = answer.request;
    if (answer.listed) {
        context.out << fmt::format("{}: {} operations\n\n", a.name,
                                   answer.step.program.entries.size());
        write_text(context.out,
                   fitted(operations_table(answer, all_kernels), {"shape", "limit", "module"},
                          static_cast<std::size_t>(std::max(40, context.width))));
        if (answer.time) write_totals(context, answer);
        return;
    }
    context.out << fmt::format("{} ({}), {} layers: {} of {} x {} tokens, {}, {}\n\n", a.name,
                               a.family, a.layers(), name_of(r.phase), r.batch, r.seq,
                               model::name_of(r.type), name_of(r.software));
    write_memory(context, answer);
    context.out << '\n';
    write_text(context.out,
               fitted(operations_table(answer, all_kernels), {"shape", "limit", "module"},
                      static_cast<std::size_t>(std::max(40, context.width))));
    if (answer.time) write_totals(context, answer);
}

}  // namespace ridge::cli
