#include "cli/views/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "cli/console/json_document.h"
#include "cli/console/percent.h"
#include "cli/console/table.h"
#include "cli/views/energy_judgement.h"
#include "cli/views/prediction.h"
#include "hardware/json.h"
#include "hardware/number_text.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using measure::Comparison;
using measure::GroupSummary;
using measure::Record;
using measure::Validation;

std::string ratio(const std::optional<double>& value) {
    return value ? fmt::format("{:.3f}", *value) : "";
}

/// A share in percent, with one decimal.
std::string percent_to_tenths(double fraction) {
    return fmt::format("{:.1f} %", 100.0 * fraction);
}
std::string percent_to_tenths_if(const std::optional<double>& fraction) {
    return fraction ? percent_to_tenths(*fraction) : "";
}

std::vector<const GroupSummary*> summaries(const Validation& validation) {
    std::vector<const GroupSummary*> all;
    for (const GroupSummary& group : validation.groups) all.push_back(&group);
    if (validation.overall) all.push_back(&*validation.overall);
    return all;
}

std::string operation_of(const GroupSummary& summary) {
    return summary.operation.empty() ? "all" : summary.operation;
}

Table error_table(const Validation& validation) {
    Table table{.columns = {{"operation"},
                            {"impl"},
                            {"n", Align::right},
                            {"bias", Align::right},
                            {"median", Align::right},
                            {"mean", Align::right},
                            {"p90", Align::right},
                            {"in band", Align::right}},
                .rows = {}};
    for (const GroupSummary* const summary : summaries(validation)) {
        table.rows.push_back(
            {operation_of(*summary), summary->implementation, std::to_string(summary->errors.count),
             signed_percent(summary->errors.bias), percent_to_tenths(summary->errors.median),
             percent_to_tenths(summary->errors.mean), percent_to_tenths(summary->errors.p90),
             percent_to_tenths(summary->errors.coverage)});
    }
    return table;
}

/// The table of counters; empty if nothing was counted.
Table counter_table(const Validation& validation) {
    Table table{.columns = {{"operation"},
                            {"impl"},
                            {"DRAM", Align::right},
                            {"off by", Align::right},
                            {"L2", Align::right},
                            {"off by", Align::right},
                            {"FLOP", Align::right},
                            {"rate", Align::right}},
                .rows = {}};
    for (const GroupSummary* const summary : summaries(validation)) {
        if (!summary->dram && !summary->l2 && !summary->flop) continue;
        table.rows.push_back({operation_of(*summary), summary->implementation, ratio(summary->dram),
                              percent_to_tenths_if(summary->dram_error), ratio(summary->l2),
                              percent_to_tenths_if(summary->l2_error), ratio(summary->flop),
                              ratio(summary->rate)});
    }
    return table;
}

/// Writes each of the worst cases in two or more lines, within the width of the terminal.
void write_worst(const Context& context, const Validation& validation,
                 std::span<const Record> records) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << "worst cases\n";
    for (const GroupSummary& group : validation.groups) {
        for (const std::size_t index : group.worst) {
            const Comparison& comparison = validation.comparisons[index];
            const Record& record = records[comparison.record];
            std::string figures =
                fmt::format("{} measured, {} predicted, {}, limited by {}", format(record.time()),
                            format(comparison.prediction.time), signed_percent(comparison.error),
                            name_of(comparison.prediction.limiter));
            if (comparison.work) {
                figures += fmt::format("; work {}, rate {}", ratio(comparison.work),
                                       ratio(comparison.rate));
            }
            context.out << "  " << wrap(canonical_text(record.question), width, 4, 2) << '\n'
                        << "      " << wrap(figures, width, 6, 6) << '\n';
        }
    }
}

Table worst_table(const Validation& validation, std::span<const Record> records) {
    Table table{.columns = {{"worst cases"},
                            {"measured", Align::right},
                            {"predicted", Align::right},
                            {"error", Align::right},
                            {"limiter"},
                            {"work", Align::right},
                            {"rate", Align::right}},
                .rows = {}};
    for (const GroupSummary& group : validation.groups) {
        for (const std::size_t index : group.worst) {
            const Comparison& comparison = validation.comparisons[index];
            const Record& record = records[comparison.record];
            table.rows.push_back({canonical_text(record.question), format(record.time()),
                                  format(comparison.prediction.time),
                                  signed_percent(comparison.error),
                                  std::string(name_of(comparison.prediction.limiter)),
                                  ratio(comparison.work), ratio(comparison.rate)});
        }
    }
    return table;
}

/// Reasons why records have no error, with the number of records.
std::map<std::string, std::int64_t> unused_reasons(const Validation& validation) {
    std::map<std::string, std::int64_t> reasons;
    for (const measure::Unused& unused : validation.unused) ++reasons[unused.reason];
    return reasons;
}

constexpr std::string_view error_legend =
    "Errors are predicted / measured - 1. Bias is their median; the other columns are\n"
    "of absolute values. In band: share of times inside the 80 % band.\n";
constexpr std::string_view counter_legend =
    "Medians of predicted / counted; off by: mean error. Rate: the rest of the error\n"
    "in time.\n";

void write_report(const Context& context, const Validation& validation,
                  std::span<const Record> records, Format format) {
    const auto write = format == Format::markdown ? write_markdown : write_text;
    write(context.out, error_table(validation));
    context.out << '\n' << error_legend << '\n';
    if (const Table counted = counter_table(validation); !counted.rows.empty()) {
        write(context.out, counted);
        context.out << '\n' << counter_legend << '\n';
    }
    if (format == Format::markdown) {
        write(context.out, worst_table(validation, records));
    } else {
        write_worst(context, validation, records);
    }
    if (validation.unused.empty()) return;
    context.out << '\n';
    Table table{.columns = {{"not compared"}, {"n", Align::right}}, .rows = {}};
    for (const auto& [reason, count] : unused_reasons(validation)) {
        table.rows.push_back({reason, std::to_string(count)});
    }
    write(context.out, table);
}

Json optional_json(const std::optional<double>& value) {
    return value ? Json(*value) : Json();
}

Json to_json(const GroupSummary& summary) {
    return {{"operation", summary.operation.empty() ? "all" : summary.operation},
            {"implementation", summary.implementation},
            {"n", summary.errors.count},
            {"bias", summary.errors.bias},
            {"median_error", summary.errors.median},
            {"mean_error", summary.errors.mean},
            {"p90_error", summary.errors.p90},
            {"band_coverage", summary.errors.coverage},
            {"counted", summary.counted},
            {"dram_predicted_over_counted", optional_json(summary.dram)},
            {"dram_mean_error", optional_json(summary.dram_error)},
            {"l2_predicted_over_counted", optional_json(summary.l2)},
            {"l2_mean_error", optional_json(summary.l2_error)},
            {"flop_predicted_over_counted", optional_json(summary.flop)},
            {"rate_factor", optional_json(summary.rate)}};
}

Json to_json(const Comparison& comparison, const Record& record) {
    Json json{{"op", canonical_text(record.question)},
              {"gpu", comparison.device},
              {"measured_time_us", record.time().in(units::us)},
              {"predicted_time_us", comparison.prediction.time.in(units::us)},
              {"error", comparison.error},
              {"in_band", comparison.in_band},
              {"limiter", name_of(comparison.prediction.limiter)},
              {"dram_predicted_over_counted", optional_json(comparison.dram)},
              {"l2_predicted_over_counted", optional_json(comparison.l2)},
              {"flop_predicted_over_counted", optional_json(comparison.flop)},
              {"work_factor", optional_json(comparison.work)},
              {"rate_factor", optional_json(comparison.rate)}};
    if (!record.software.empty()) json["software"] = record.software;
    return json;
}

void write_json(const Context& context, const Validation& validation,
                const measure::EnergyJudgement& energy, std::span<const Record> records) {
    Json json{{"groups", Json::array()}, {"records", Json::array()}, {"unused", Json::array()}};
    for (const GroupSummary& group : validation.groups) json["groups"].push_back(to_json(group));
    if (validation.overall) json["overall"] = to_json(*validation.overall);
    for (const Comparison& comparison : validation.comparisons) {
        json["records"].push_back(to_json(comparison, records[comparison.record]));
    }
    for (const measure::Unused& unused : validation.unused) {
        json["unused"].push_back(
            {{"op", canonical_text(records[unused.record].question)}, {"reason", unused.reason}});
    }
    if (!energy.comparisons.empty()) json["energy"] = cli::to_json(energy, records);
    write_document(context.out, "validation", json);
}

void write_rows(const Context& context, const Validation& validation,
                std::span<const Record> records) {
    const auto exact = [](double value) {
        std::string text;
        append_shortest(text, value);
        return text;
    };
    const auto exact_if = [&exact](const std::optional<double>& value) {
        return value ? exact(*value) : std::string();
    };
    Table table{.columns = {{"op"},
                            {"operation"},
                            {"implementation"},
                            {"gpu"},
                            {"measured_us"},
                            {"predicted_us"},
                            {"low_us"},
                            {"high_us"},
                            {"error"},
                            {"in_band"},
                            {"limiter"},
                            {"dram_predicted_over_counted"},
                            {"l2_predicted_over_counted"},
                            {"flop_predicted_over_counted"},
                            {"work_factor"},
                            {"rate_factor"}},
                .rows = {}};
    for (const Comparison& comparison : validation.comparisons) {
        const Record& record = records[comparison.record];
        const measure::Question& question = record.question;
        table.rows.push_back(
            {canonical_text(question), std::string(name_of(question.operation)),
             std::string(name_of(question.execution.implementation)), comparison.device,
             exact(record.time().in(units::us)), exact(comparison.prediction.time.in(units::us)),
             exact(comparison.prediction.low.in(units::us)),
             exact(comparison.prediction.high.in(units::us)), exact(comparison.error),
             comparison.in_band ? "1" : "0", std::string(name_of(comparison.prediction.limiter)),
             exact_if(comparison.dram), exact_if(comparison.l2), exact_if(comparison.flop),
             exact_if(comparison.work), exact_if(comparison.rate)});
    }
    write_csv(context.out, table);
}

}  // namespace

void write_validation(const Context& context, const Validation& validation,
                      const measure::EnergyJudgement& energy, std::span<const Record> records,
                      Format format) {
    switch (format) {
        case Format::json:
            return write_json(context, validation, energy, records);
        case Format::csv:
            return write_rows(context, validation, records);
        case Format::table:
        case Format::markdown:
            write_report(context, validation, records, format);
            return write_energy_judgement(context, energy);
    }
}

}  // namespace ridge::cli
