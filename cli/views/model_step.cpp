#include "cli/views/model_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "cli/console/table.h"
#include "cli/views/memory.h"
#include "hardware/units.h"
#include "model/core/fields.h"
#include "model/footprint/memory_fit.h"
#include "programs/largest.h"
#include "programs/software/decoder.h"

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
    } else {
        json["not_modelled"] = std::get<model::NotModelled>(*outcome).reason;
    }
    return json;
}

void add_rates(Json& json, const StepAnswer& answer) {
    const programs::StepTime& time = *answer.time;
    const double wall = time.wall.base();
    json["tokens_per_s"] = tokens_per_s(answer);
    const double passes = answer.request.training() ? 6.0 : 2.0;
    const double flop = passes * static_cast<double>(answer.step.active_parameters) *
                        static_cast<double>(answer.step.tokens);
    if (const auto peak = answer.machine->tensor_peak(answer.request.type)) {
        const auto gpus =
            static_cast<double>(answer.request.tensor_parallel * answer.request.expert_parallel);
        json["mfu"] = flop / wall / peak->base() / gpus;
    }
    json["mbu"] = static_cast<double>(answer.step.weights_bytes + answer.step.kv_cache_bytes) /
                  wall / answer.machine->dram_bandwidth.base();
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
    json["kv_cache_bytes"] = answer.step.kv_cache_bytes;
    json["resident_bytes"] = answer.memory.resident;
    json["peak_extra_bytes"] = answer.memory.extra();
    json["reserved_bytes"] = answer.memory.reserved;
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
    std::string bound{};
    std::string shape{};  ///< of a single kernel
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
        if (p != nullptr && time > line->longest) {
            line->longest = time;
            line->bound = name_of(p->limiter);
        }
    }
    return lines;
}

Table operations_table(const StepAnswer& answer, bool all_kernels) {
    Table table{.columns = {{"  operation"}, {"module"}, {"kernels", Align::right}}, .rows = {}};
    if (answer.time) {
        table.columns.push_back({"time", Align::right});
        table.columns.push_back({"share", Align::right});
        table.columns.push_back({"limit"});
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
            const double share = line.time / answer.time->gpu.total.time;
            row.push_back(format(line.time));
            row.push_back(format_number(100.0 * share, 3) + " %");
            row.push_back(line.bound);
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
        for (const char* name : {"time_us", "low_us", "high_us", "bound", "limiter"}) {
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

void write_totals(const Context& context, const StepAnswer& answer) {
    const programs::StepTime& time = *answer.time;
    const programs::Totals& total = time.gpu.total;
    context.out << '\n';
    write_sentence(context, fmt::format("GPU {} ({} to {}) in {} kernels; host {} ({}); wall {}.",
                                        format(total.time), format(total.low), format(total.high),
                                        total.kernels, format(time.host), answer.host.name,
                                        format(time.wall)));
    if (const auto why = first_not_modelled(answer.step.program, time.gpu)) {
        write_sentence(context, fmt::format("These times leave out {} operations that are not "
                                            "modelled, such as {}.",
                                            total.not_modelled, *why));
    }
    if (time.host_bound()) {
        write_sentence(context,
                       fmt::format("Host-bound: dispatch takes {}, kernels {}; a CUDA graph "
                                   "gives up to {}x.",
                                   format(time.host), format(total.time),
                                   format_number(time.wall / as_graph(answer), 2)));
    }
    if (answer.listed) return;
    Json rates;
    add_rates(rates, answer);
    const auto rate = [&rates](const char* name) {
        const Json* value = rates.find(name);
        return value == nullptr ? 0.0 : value->if_number().value_or(0.0);
    };
    write_sentence(
        context,
        fmt::format("{} tokens/s, MFU {} %, MBU {} %.", format_number(rate("tokens_per_s"), 4),
                    format_number(100.0 * rate("mfu"), 3), format_number(100.0 * rate("mbu"), 3)));
}

void write_memory(const Context& context, const StepAnswer& answer) {
    const programs::ModelStep& step = answer.step;
    Table table{.columns = {{"  memory"}, {"bytes", Align::right}, {"", Align::right}}, .rows = {}};
    const auto add = [&](const std::string& name, std::int64_t bytes) {
        table.rows.push_back(
            {"  " + name, std::to_string(bytes), format_capacity(bytes_of(bytes))});
    };
    add(fmt::format("weights ({} parameters)", step.parameters), step.weights_bytes);
    if (!answer.request.training()) add("cache", step.kv_cache_bytes);
    add("peak above what was there before", answer.memory.extra());
    for (const programs::StepMemory::Part& part : answer.memory.parts) {
        if (part.name == programs::model_phase::weights) continue;
        add(fmt::format("  at the peak: {}", part.name), part.bytes);
    }
    add("reserved", answer.memory.reserved);
    write_text(context.out, table);
    if (!answer.usable) return;
    context.out << '\n';
    const Bytes left = *answer.usable - bytes_of(answer.memory.reserved);
    write_sentence(context,
                   left > Bytes{}
                       ? fmt::format("{} of {} stay free.", format_capacity(left),
                                     format_capacity(*answer.usable))
                       : fmt::format("Does not fit into {}.", format_capacity(*answer.usable)));
    if (!answer.largest_batch || !answer.largest_length) return;
    const auto count = [](std::int64_t most, const char* of) {
        return most > 0 ? fmt::format("{} {}", most, of) : fmt::format("no {}", of);
    };
    write_sentence(context,
                   fmt::format("Fits at most: {} of {} tokens; {} in a batch of {}.",
                               count(*answer.largest_batch, "sequences"), answer.request.seq,
                               count(*answer.largest_length, "tokens"), answer.request.batch));
}

}  // namespace

Place place_on(Machines& machines, const std::string& gpu) {
    return {.machine = &machines.at(gpu),
            .usable = model::usable_memory(machines.description(gpu)).bytes,
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

double tokens_per_s(const StepAnswer& answer) {
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
        json["time_us"] = total.time.in(units::us);
        json["time_low_us"] = total.low.in(units::us);
        json["time_high_us"] = total.high.in(units::us);
        json["host"] = answer.host.name;
        json["host_processor"] = answer.host.processor;
        json["host_us"] = answer.time->host.in(units::us);
        json["wall_us"] = answer.time->wall.in(units::us);
        json["not_modelled"] = total.not_modelled;
        json["host_bound"] = answer.time->host_bound();
        if (!answer.listed) add_rates(json, answer);
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

void write_step(const Context& context, const StepAnswer& answer, bool all_kernels, Format format) {
    if (format == Format::json) {
        context.out << json_of(answer).text(2) << '\n';
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
        write_text(context.out, fitted(operations_table(answer, all_kernels), {"shape", "limit"},
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
