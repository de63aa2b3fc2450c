#include "cli/views/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ostream>

#include "cli/console/percent.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

using measure::Record;

void write_outcome(const Context& context, std::string_view name, const std::string& text) {
    constexpr std::size_t indent = 14;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << fmt::format("  {:<12}", name) << (name.size() < 12 ? "" : "  ")
                << wrap(text, width, indent, indent) << '\n';
}

std::string measured_text(const Record& record) {
    const measure::Timing& timing = *record.timing;
    const measure::Statistics& s = *timing.statistics;
    std::string text = fmt::format(
        "{}   ({:.0f} % interval {} to {}; p5 {}, p95 {}; {} samples by {}",
        format(record.time(), 4), 100.0 * s.confidence, format(Time::from_base(s.low), 4),
        format(Time::from_base(s.high), 4), format(Time::from_base(s.p5), 4),
        format(Time::from_base(s.p95), 4), s.count, name_of(timing.method));
    if (timing.discarded > 0)
        text += fmt::format(", {} throttled samples left out", timing.discarded);
    if (timing.clock) text += ", SM clock " + format(*timing.clock);
    return text + ")";
}

std::string difference_text(const Record& record, const model::Prediction& p, double error) {
    const bool inside = record.time() >= p.low && record.time() <= p.high;
    return fmt::format("predicted is {:.1f} % {} measured, {} the band", 100.0 * std::abs(error),
                       error < 0.0 ? "below" : "above", inside ? "inside" : "outside");
}

std::string rate_text(const model::Prediction& p, Time time) {
    std::string text;
    if (p.work.flop() > Flop{}) text = format(p.work.flop() / time);
    if (p.work.dram() > 0.01 * p.work.compulsory()) {
        text +=
            (text.empty() ? "" : ", ") + format(p.work.dram() / time) + " of the predicted traffic";
    }
    return text;
}

void write_counters(const Context& context, const Record& record, const model::Prediction* p) {
    if (const auto* missing = std::get_if<measure::Unavailable>(&record.counters)) {
        write_outcome(context, "counters",
                      "none: " + missing->reason +
                          (missing->remedy.empty() ? "" : " (" + missing->remedy + ")"));
        return;
    }
    const auto& counters = std::get<measure::Counters>(record.counters);
    const auto beside = [&](std::string_view name, const std::string& counted,
                            const std::string& predicted) {
        write_outcome(context, name,
                      counted + " counted" + (p == nullptr ? "" : ", " + predicted + " predicted"));
    };
    if (counters.dram_read && counters.dram_write) {
        beside("DRAM", format_traffic(*counters.dram_read + *counters.dram_write),
               p == nullptr ? "" : format_traffic(p->work.dram()));
    }
    if (counters.sm_l2) {
        beside("L2", format_traffic(*counters.sm_l2),
               p == nullptr ? "" : format_traffic(p->work.l2));
    }
    if (counters.sm_l2 && counters.l2 && *counters.l2 < 0.98 * *counters.sm_l2) {
        write_outcome(context, "",
                      format_traffic(*counters.l2) +
                          " looked up: simultaneous requests of multiprocessors are merged");
    }
    const bool tensor = counters.tensor && *counters.tensor > Flop{};
    const std::optional<Flop>& flop = tensor ? counters.tensor : counters.fma;
    if (flop) {
        beside("work", format(*flop),
               p == nullptr ? "" : format(tensor ? p->work.tensor : p->work.fma));
    }
}

void write_conditions(const Context& context, const Record& record) {
    std::string text;
    if (record.mean_power) text += format(*record.mean_power) + " mean";
    if (record.after.temperature_celsius) {
        text +=
            fmt::format("{}{:.0f} C", text.empty() ? "" : ", ", *record.after.temperature_celsius);
    }
    for (const std::string& reason : record.after.clock_reasons) {
        text += (text.empty() ? "clocks limited by " : ", clocks limited by ") + reason;
    }
    if (!text.empty()) write_outcome(context, "conditions", text);
    if (record.timing && !record.timing->converged) {
        write_outcome(context, "note",
                      "the interval is wider than wanted: the time budget ran out");
    }
    constexpr double noticeable_drift = 0.02;
    if (record.measured() && std::abs(record.timing->statistics->drift) > noticeable_drift) {
        write_outcome(context, "note",
                      "the times drifted by " + signed_percent(record.timing->statistics->drift) +
                          " from the first to the second half");
    }
}

/// "512 W (+-0.3 %), 1.31 mJ a run; 3 s at 48 C and 1.755 GHz; idle 76 W".
std::string energy_text(const measure::EnergyMeasurement& energy) {
    std::string text =
        fmt::format("{} (+-{:.1f} %), {} a run; {}", format(energy.power, 4), 100.0 * energy.error,
                    format(energy.energy, 4), format(energy.window));
    if (energy.temperature_celsius) text += fmt::format(", {:.0f} C", *energy.temperature_celsius);
    if (energy.clock) text += ", SM clock " + format(*energy.clock);
    if (energy.idle) text += ", idle " + format(*energy.idle);
    for (const std::string& reason : energy.clock_reasons) text += ", limited by " + reason;
    return text;
}

}  // namespace

std::optional<double> RecordAnswer::error(const Record& record) const {
    if (!prediction || !record.measured()) return std::nullopt;
    return prediction->time.in(record.time()) - 1.0;
}

RecordAnswer answer_of(const Record& record, Machines& machines, const std::string& gpu) {
    const std::string name =
        gpu.empty() ? machines.catalogue().canonical_name(record.device.name) : gpu;
    if (name.empty()) {
        return {.reason = "no GPU description is called '" + record.device.name + "'"};
    }
    model::Outcome outcome =
        model::predict(record.question.operation, record.question.execution, machines.at(name));
    if (auto* unmodelled = std::get_if<model::NotModelled>(&outcome)) {
        return {.reason = std::move(unmodelled->reason)};
    }
    return {.prediction = std::get<model::Prediction>(std::move(outcome))};
}

std::string time_text(const Record& record) {
    return record.measured() ? format(record.time(), 4) : "failed";
}

void write_record(const Context& context, const Record& record, const RecordAnswer& answer) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(canonical_text(record.question) + " on " + record.device.name, width, 2)
                << '\n';
    const model::Prediction* p = answer.prediction ? &*answer.prediction : nullptr;
    if (record.measured()) {
        write_outcome(context, "measured", measured_text(record));
    } else {
        write_outcome(context, "not measured", record.failure.value_or("no samples"));
    }
    if (p != nullptr) {
        write_outcome(
            context, "predicted",
            fmt::format("{}   (80 % band {} to {}), {} bound, limited by {}", format(p->time, 4),
                        format(p->low), format(p->high), name_of(p->bound), name_of(p->limiter)));
    } else {
        write_outcome(context, "not modelled", answer.reason);
    }
    if (const std::optional<double> error = answer.error(record)) {
        write_outcome(context, "difference", difference_text(record, *p, *error));
        write_outcome(context, "reached", rate_text(*p, record.time()));
    }
    if (!record.measured()) return;
    write_counters(context, record, p);
    write_outcome(context, "checked",
                  fmt::format("{} elements against the CPU, relative error {:.2g} (at most {:.2g})",
                              record.verification->checked, record.verification->frobenius_error,
                              record.verification->tolerance));
    if (record.energy) write_outcome(context, "energy", energy_text(*record.energy));
    write_conditions(context, record);
}

Table record_table(std::span<const Record> records, Machines& machines, const std::string& gpu) {
    Table table{.columns = {{"operation"},
                            {"measured", Align::right},
                            {"+-", Align::right},
                            {"predicted", Align::right},
                            {"error", Align::right},
                            {"remark"}},
                .rows = {}};
    for (const Record& record : records) {
        const RecordAnswer answer = answer_of(record, machines, gpu);
        std::string remark = record.failure.value_or("");
        if (remark.empty() && !record.timing->converged) remark = "not converged";
        if (!answer.prediction) remark += (remark.empty() ? "" : "; ") + answer.reason;
        const std::optional<double> error = answer.error(record);
        table.rows.push_back(
            {canonical_text(record.question), time_text(record),
             record.measured()
                 ? fmt::format("{:.1f} %", 100.0 * record.timing->statistics->relative_half_width())
                 : "",
             answer.prediction ? format(answer.prediction->time, 4) : "",
             error ? signed_percent(*error) : "", remark});
    }
    return table;
}

Json to_json(const Record& record, const RecordAnswer& answer) {
    Json json{{"op", canonical_text(record.question)}, {"device", record.device.name}};
    if (!record.software.empty()) json["software"] = record.software;
    if (record.measured()) {
        const measure::Statistics& s = *record.timing->statistics;
        json["measured_time_us"] = record.time().in(units::us);
        json["measured_low_us"] = s.low * 1e6;
        json["measured_high_us"] = s.high * 1e6;
        json["samples"] = s.count;
        json["discarded"] = record.timing->discarded;
        json["method"] = name_of(record.timing->method);
    } else {
        json["failure"] = record.failure.value_or("no samples");
    }
    if (answer.prediction) {
        json["predicted_time_us"] = answer.prediction->time.in(units::us);
        json["predicted_low_us"] = answer.prediction->low.in(units::us);
        json["predicted_high_us"] = answer.prediction->high.in(units::us);
    } else {
        json["not_modelled"] = answer.reason;
    }
    if (const std::optional<double> error = answer.error(record)) json["error"] = *error;
    return json;
}

}  // namespace ridge::cli
