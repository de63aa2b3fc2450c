#include "cli/views/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "cli/console/table.h"
#include "cli/views/energy.h"
#include "hardware/json.h"
#include "hardware/number_text.h"
#include "hardware/units.h"
#include "model/advice.h"
#include "model/explain.h"
#include "model/roof/account.h"

namespace ridge::cli {
namespace {

using model::NotModelled;
using model::Outcome;
using model::Prediction;

bool is_pipe(model::Resource resource) {
    return resource == model::Resource::tensor || resource == model::Resource::fma;
}

constexpr std::string_view bold = "\033[1m";
constexpr std::string_view reset = "\033[0m";

void write_line(const Context& context, std::string_view label, const std::string& text) {
    constexpr std::size_t indent = 16;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    std::string line = fmt::format("  {:<12}  ", label);
    line += wrap(text, width, indent, indent);
    context.out << line << '\n';
}

std::string band_text(const Prediction& p) {
    const auto us = [](Time time) { return format(time); };
    return fmt::format("{}   (80 % band {} to {})", us(p.time), us(p.low), us(p.high));
}

std::string rate_text(const Prediction& p, const model::Machine& machine) {
    const Flop flop = p.work.flop();
    std::string text;
    if (flop > Flop{} && p.time > Time{} && p.peak > FlopRate{}) {
        text = fmt::format("{} of {} peak ({} %)", format(flop / p.time), format(p.peak),
                           format_number(100.0 * ((flop / p.time) / p.peak), 3));
    }
    const std::string_view separator = text.empty() ? "" : "; ";
    if (model::served_from_l2(p.work)) {
        // A line that the L2 sends to several multiprocessors at once counts once for its rate.
        const Bandwidth ceiling = l2_ceiling(machine);
        text += fmt::format("{}{} of {} L2", separator,
                            format(std::min(p.work.l2 / p.time, ceiling)), format(ceiling));
    } else if (p.work.dram() > Bytes{} && p.time > Time{}) {
        text += fmt::format("{}{} of {} DRAM", separator, format(p.work.dram() / p.time),
                            format(p.bandwidth));
    }
    return text;
}

/// Appends the DRAM intensity, or an empty cell if L2 serves the data.
void append_dram_intensity(std::string& line, const Prediction& p) {
    line += ',';
    if (const auto intensity = dram_intensity(p)) append_shortest(line, intensity->base());
}

void append_energy(std::string& line, const Prediction& p) {
    const auto values = energy_values(p);
    if (!values) {
        line.append(energy_columns().size(), ',');
        return;
    }
    for (const double value : *values) {
        line += ',';
        append_shortest(line, value);
    }
}

std::string tiling_text(const model::Tiling& tiling) {
    if (tiling.tile.m == 0) {
        return fmt::format("{} blocks, {} wave{} ({} % full)", tiling.tiles, tiling.waves,
                           tiling.waves == 1 ? "" : "s",
                           format_number(100.0 * tiling.wave_efficiency, 3));
    }
    return fmt::format(
        "{}x{}, {} tiles{}, {} wave{} ({} % full)", tiling.tile.m, tiling.tile.n, tiling.tiles,
        tiling.split > 1 ? fmt::format(" x {} splits", tiling.split) : "", tiling.waves,
        tiling.waves == 1 ? "" : "s", format_number(100.0 * tiling.wave_efficiency, 3));
}

void write_terms(const Context& context, const Prediction& p) {
    context.out << '\n';
    Table table{.columns = {{"  term"},
                            {"amount", Align::right},
                            {"rate", Align::right},
                            {"time", Align::right}},
                .rows = {}};
    for (const model::Term& term : p.terms) {
        if (term.time < 1e-6 * p.time) continue;
        std::string amount;
        std::string rate;
        if (term.rate() > 0.0 && is_pipe(term.resource)) {
            amount = format(Flop::from_base(term.amount));
            rate = format(FlopRate::from_base(term.rate()));
        } else if (term.rate() > 0.0 && term.resource == model::Resource::special) {
            amount = format_count(term.amount, "op");
            rate = format_count(term.rate(), "op/s");
        } else if (term.rate() > 0.0) {
            amount = format_traffic(Bytes::from_base(term.amount));
            rate = format(Bandwidth::from_base(term.rate()));
        }
        table.rows.push_back(
            {"  " + std::string(name_of(term.resource)), amount, rate, format(term.time)});
    }
    if (p.correction != 1.0) {
        const Time change = p.time * (1.0 - 1.0 / p.correction);
        table.rows.push_back({"  correction", "", fmt::format("x {:.3f}", p.correction),
                              change < Time{} ? "-" + format(-1.0 * change) : format(change)});
    }
    write_text(context.out, table);
}

void write_prediction(const Context& context, const Answer& answer, const Prediction& p,
                      Detail detail) {
    write_line(context, "time", band_text(p));
    write_line(context, "bound",
               fmt::format("{}; limited by {}", name_of(p.bound), name_of(p.limiter)));
    if (const std::string rate = rate_text(p, *answer.machine); !rate.empty())
        write_line(context, "rate", rate);
    write_line(context, "work", work_text(p.work));
    if (p.work.l2 > Bytes{} || p.work.dram() > Bytes{}) {
        write_line(context, "traffic", traffic_text(p.work));
    }
    if (p.algorithmic > Intensity{}) {
        const auto intensity = dram_intensity(p);
        const std::string dram =
            intensity ? "DRAM " + format(*intensity) : std::string("nothing from DRAM");
        const std::string ridge =
            p.ridge > Intensity{} ? "; ridge point " + format(p.ridge) : std::string();
        write_line(context, "intensity",
                   fmt::format("algorithmic {}, {}{}", format(p.algorithmic), dram, ridge));
    }
    if (p.energy) write_line(context, "power", energy_text(p));
    if (const std::string steady = steady_text(p); !steady.empty()) {
        write_line(context, "", steady);
    }
    write_line(context, "evidence", evidence_text(p));
    write_line(context, "lower bound", format(p.lower_bound) + " (roofline at datasheet rates)");
    write_line(context, "footprint", format_capacity(p.footprint));
    if (p.tiling.tiles > 0) {
        write_line(context, p.tiling.tile.m == 0 ? "grid" : "tile", tiling_text(p.tiling));
    }
    for (const model::Note& note : p.notes) write_line(context, "note", model::describe(note));
    if (detail == Detail::summary) return;
    write_terms(context, p);
    context.out << '\n';
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    for (const std::string& line : explain(answer.operation, p, *answer.machine)) {
        if (line.rfind("Note:", 0) == 0) continue;
        context.out << "  " << wrap(line, width, 2, 2) << '\n';
    }
    const auto advice = advise(answer.operation, answer.execution, p, *answer.machine);
    if (!advice.empty()) context.out << "\n  What would help:\n";
    for (const model::Advice& item : advice) {
        context.out << "  - " << wrap(describe(item), width, 4, 4) << '\n';
    }
}

Json terms_json(const Prediction& p) {
    Json terms = Json::array();
    for (const model::Term& term : p.terms) {
        Json entry{{"resource", name_of(term.resource)}, {"time_us", term.time.in(units::us)}};
        if (term.rate() > 0.0) {
            const bool compute = is_pipe(term.resource);
            const char* unit = term.resource == model::Resource::special ? "op"
                               : compute                                 ? "flop"
                                                                         : "bytes";
            entry[unit] = term.amount;
            entry[std::string(unit) + "_per_s"] = term.rate();
        }
        terms.push_back(std::move(entry));
    }
    return terms;
}

/// What the prediction rests on, by docs/model.md (R9).
Json evidence_json(const Prediction& p) {
    return {{"grade", name_of(p.evidence.grade())}, {"chip", name_of(p.evidence.chip)},
            {"shape", name_of(p.evidence.shape)},   {"kernel", name_of(p.evidence.kernel)},
            {"band_class", name_of(p.band_class)},  {"rests_on", model::describe(p.evidence)}};
}

void add_prediction(Json& json, const Prediction& p) {
    json["impl"] = name_of(p.implementation);
    json["time_us"] = p.time.in(units::us);
    json["time_low_us"] = p.low.in(units::us);
    json["time_high_us"] = p.high.in(units::us);
    json["correction"] = p.correction;
    json["lower_bound_us"] = p.lower_bound.in(units::us);
    add_energy(json, p);
    json["evidence"] = evidence_json(p);
    json["confidence"] = name_of(p.confidence());
    json["bound"] = name_of(p.bound);
    json["limiter"] = name_of(p.limiter);
    json["flop"] = p.work.flop().base();
    json["flop_tensor"] = p.work.tensor.base();
    json["flop_vector"] = p.work.fma.base();
    json["special_functions"] = p.work.special;
    json["kernels"] = p.work.kernels;
    json["compulsory_bytes"] = p.work.compulsory().base();
    json["dram_bytes"] = p.work.dram().base();
    json["dram_read_bytes"] = p.work.dram_read.base();
    json["dram_write_bytes"] = p.work.dram_write.base();
    json["l2_bytes"] = p.work.l2.base();
    json["footprint_bytes"] = p.footprint.base();
    json["algorithmic_intensity_flop_per_byte"] = p.algorithmic.base();
    const auto dram = dram_intensity(p);
    json["dram_intensity_flop_per_byte"] = dram ? Json(dram->base()) : Json();
    json["ridge_flop_per_byte"] = p.ridge.base();
    json["attainable_flop_per_s"] = p.attainable.base();
    json["peak_flop_per_s"] = p.peak.base();
    json["bandwidth_bytes_per_s"] = p.bandwidth.base();
    if (p.tiling.tiles > 0) {
        json["tiling"] = {{"m", p.tiling.tile.m},
                          {"n", p.tiling.tile.n},
                          {"tiles", p.tiling.tiles},
                          {"split", p.tiling.split},
                          {"waves", p.tiling.waves},
                          {"tile_efficiency", p.tiling.tile_efficiency},
                          {"wave_efficiency", p.tiling.wave_efficiency}};
    }
    json["terms"] = terms_json(p);
    Json notes = Json::array();
    for (const model::Note& note : p.notes) notes.push_back(model::describe(note));
    json["notes"] = std::move(notes);
}

Json advice_json(const Answer& answer, const Prediction& p) {
    Json list = Json::array();
    for (const model::Advice& advice :
         advise(answer.operation, answer.execution, p, *answer.machine)) {
        list.push_back({{"change", advice.change},
                        {"time_us", advice.time.in(units::us)},
                        {"speed_up", advice.speed_up}});
    }
    return list;
}

}  // namespace

std::string work_text(const model::Work& work) {
    std::string text;
    const auto add = [&text](const std::string& part) {
        text += (text.empty() ? "" : ", ") + part;
    };
    if (work.tensor > Flop{}) add(format(work.tensor) + " on tensor cores");
    if (work.fma > Flop{}) add(format(work.fma) + " on the vector pipe");
    if (work.special > 0.0) add(format_in_words(work.special) + " special functions");
    if (work.kernels > 1) add(fmt::format("{} kernels", work.kernels));
    return text.empty() ? "data movement only" : text;
}

std::string traffic_text(const model::Work& work) {
    std::string text = "algorithmic " + format_traffic(work.compulsory());
    if (work.l2 > Bytes{}) text += "; L2 " + format_traffic(work.l2);
    if (!model::uses_dram(work)) return text + "; nothing from DRAM";
    return text + fmt::format("; DRAM {} ({} read, {} written)", format_traffic(work.dram()),
                              format_traffic(work.dram_read), format_traffic(work.dram_write));
}

std::string evidence_text(const Prediction& p) {
    return fmt::format("{}: {}", name_of(p.evidence.grade()), model::describe(p.evidence));
}

std::string rate_of(const Prediction& p) {
    if (p.time <= Time{}) return {};
    if (p.work.flop() > Flop{}) return format(p.work.flop() / p.time);
    return format((p.work.dram() > Bytes{} ? p.work.dram() : p.work.compulsory()) / p.time);
}

void predict(Answer& answer) {
    answer.operation = model::make_operation(answer.kind, answer.parameters);
    answer.execution = model::make_execution(answer.parameters);
    answer.outcome = model::predict(answer.operation, answer.execution, *answer.machine);
    auto* const prediction = std::get_if<Prediction>(&answer.outcome);
    if (prediction == nullptr || !is_given(answer.conditions)) return;
    prediction->energy =
        energy_of(*prediction, type_of(answer.operation), *answer.machine, answer.conditions);
}

void write_summary(const Context& context, const Answer& answer, Detail detail) {
    std::string title = text_of(answer.kind, with_defaults(answer.kind, answer.parameters)) +
                        " on " + answer.machine->title;
    if (!answer.gpu_origin.empty()) title += " (" + answer.gpu_origin + ")";
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << (context.colour ? bold : "") << wrap(title, width, 2)
                << (context.colour ? reset : "") << '\n';
    if (const auto* unmodelled = std::get_if<NotModelled>(&answer.outcome)) {
        write_line(context, "not modelled", unmodelled->reason);
        return;
    }
    write_prediction(context, answer, std::get<Prediction>(answer.outcome), detail);
}

Json to_json(const Answer& answer) {
    Json json;
    json["op"] = model::info_of(answer.kind).name;
    json["gpu"] = answer.machine->name;
    json["dtype"] = name_of(type_of(answer.operation));
    Json parameters = Json::object();
    for (const model::FieldInfo& info : model::field_table()) {
        if (!answer.parameters.has(info.field) || !applies(answer.kind, info.field)) continue;
        if (info.kind == model::FieldKind::count) {
            parameters[info.name] = answer.parameters.count(info.field);
        } else if (info.kind == model::FieldKind::flag) {
            parameters[info.name] = answer.parameters.count(info.field) != 0;
        } else {
            parameters[info.name] = answer.parameters.text(info.field);
        }
    }
    json["parameters"] = std::move(parameters);
    if (const auto* unmodelled = std::get_if<NotModelled>(&answer.outcome)) {
        json["error"] = unmodelled->reason;
    } else {
        const auto& prediction = std::get<Prediction>(answer.outcome);
        add_prediction(json, prediction);
        json["advice"] = advice_json(answer, prediction);
    }
    return json;
}

void append_result_cells(std::string& line, const Outcome& outcome) {
    if (const auto* unmodelled = std::get_if<NotModelled>(&outcome)) {
        line.append(result_columns().size() - 1, ',');
        append_csv_cell(line, unmodelled->reason);
        return;
    }
    const auto& p = std::get<Prediction>(outcome);
    for (const Time time : {p.time, p.low, p.high, p.lower_bound}) {
        append_shortest(line, time.in(units::us));
        line += ',';
    }
    line += name_of(p.bound);
    line += ',';
    line += name_of(p.limiter);
    for (const double value : {p.work.flop().base(), p.work.compulsory().base(),
                               p.work.dram().base(), p.work.l2.base(), p.algorithmic.base()}) {
        line += ',';
        append_shortest(line, value);
    }
    append_dram_intensity(line, p);
    append_energy(line, p);
    line += ',';
    line += name_of(p.evidence.grade());
    line += ',';
}

std::vector<std::string> result_cells(const Answer& answer) {
    const auto number = [](double value) { return format_number(value, 6); };
    if (const auto* unmodelled = std::get_if<NotModelled>(&answer.outcome)) {
        std::vector<std::string> cells(result_columns().size());
        cells.back() = unmodelled->reason;
        return cells;
    }
    const auto& p = std::get<Prediction>(answer.outcome);
    const auto dram = dram_intensity(p);
    std::vector<std::string> cells{
        number(p.time.in(units::us)),  number(p.low.in(units::us)),
        number(p.high.in(units::us)),  number(p.lower_bound.in(units::us)),
        std::string(name_of(p.bound)), std::string(name_of(p.limiter)),
        number(p.work.flop().base()),  number(p.work.compulsory().base()),
        number(p.work.dram().base()),  number(p.work.l2.base()),
        number(p.algorithmic.base()),  dram ? number(dram->base()) : ""};
    const auto energy = energy_values(p);
    for (std::size_t i = 0; i < energy_columns().size(); ++i) {
        cells.push_back(energy ? number(energy->at(i)) : "");
    }
    cells.emplace_back(name_of(p.evidence.grade()));
    cells.emplace_back();
    return cells;
}

}  // namespace ridge::cli
