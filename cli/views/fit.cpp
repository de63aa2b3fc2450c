#include "cli/views/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <string>
#include <vector>

#include "cli/console/rows.h"
#include "cli/console/table.h"

namespace ridge::cli {
namespace {

using measure::FitReport;
using measure::FittedParameter;
using measure::HeldParameter;

Cell percent_cell(double part, const char* form = "{:.2f}") {
    return {fmt::format(fmt::runtime(form), 100.0 * part), part};
}

Cell logarithm(double value) {
    return {fmt::format("{:+.3f}", value), value};
}

Rows residual_rows(const std::vector<measure::ResidualSummary>& summaries) {
    Rows rows{.columns = {{"class"},
                          {"rows"},
                          {"mean_error", "mean %"},
                          {"median_error", "median %"},
                          {"p90_error", "p90 %"},
                          {"worst_error", "worst %"},
                          {"bias", "bias %"},
                          {"log_low", "ln low", Shown::where_room},
                          {"log_high", "ln high", Shown::where_room},
                          {"in_band", "in band %"}}};
    for (const measure::ResidualSummary& s : summaries) {
        rows.rows.push_back({{s.group},
                             {std::to_string(s.errors.count), static_cast<double>(s.errors.count)},
                             percent_cell(s.errors.mean),
                             percent_cell(s.errors.median),
                             percent_cell(s.errors.p90),
                             percent_cell(s.errors.worst),
                             percent_cell(s.errors.bias, "{:+.2f}"),
                             logarithm(s.errors.log_low),
                             logarithm(s.errors.log_high),
                             percent_cell(s.errors.coverage, "{:.0f}")});
    }
    return rows;
}

std::string with_gpu(const std::string& gpu, const std::string& text) {
    return gpu.empty() ? text : gpu + ": " + text;
}

std::string summary_of(const FitReport& report) {
    return fmt::format("{} after {} steps, cost {:.4g} (start {:.4g})", name_of(report.status),
                       report.iterations, report.cost, report.cost_at_start);
}

/// Writes fields of a description file, each with its uncertainty; unusable ones as comments.
void write_fields(const Context& context, const FitReport& report) {
    for (const FittedParameter& p : report.parameters) {
        std::string how = fmt::format("+- {:.2g} %", 100.0 * p.standard_error);
        if (!p.correlated_with.empty()) {
            how += fmt::format(", correlation {:+.2f} with {}", p.correlation, p.correlated_with);
        }
        context.out << (report.usable() ? "" : "# not usable: ") << p.field
                    << " = { value = " << p.value << ", source = \"FIT\" }  # "
                    << with_gpu(p.gpu, how) << '\n';
    }
    for (const HeldParameter& p : report.held) {
        context.out << "# not determined: " << p.field << " keeps " << p.value << "  # "
                    << with_gpu(p.gpu, p.reason) << '\n';
    }
}

void write_file(const Context& context, const FitReport& report) {
    context.out << "# fitted on " << report.name << '\n';
    if (!report.seeds.empty()) {
        context.out << fmt::format("# seeds of random shapes seen: {}\n",
                                   fmt::join(report.seeds, ", "));
    }
    context.out << "# " << summary_of(report) << '\n';
    write_fields(context, report);
    if (!report.usable()) return;
    context.out << "\nResiduals of the fitted rows:\n";
    write_rows(context, residual_rows(report.fitted), Format::table);
    context.out << "\nCross-validated, five folds over whole shapes:\n";
    write_rows(context, residual_rows(report.cross_validated), Format::table);
    context.out << '\n';
}

Rows empty_parameter_rows() {
    return {.columns = {{"data", {}, Shown::never},
                        {"gpu"},
                        {"field"},
                        {"value"},
                        {"standard_error", "error %"},
                        {"correlated_with", "strongest correlation", Shown::where_room},
                        {"correlation", {}, Shown::where_room},
                        {"status"},
                        {"reason", {}, Shown::where_room}}};
}

void add_parameters(Rows& rows, const FitReport& report) {
    for (const FittedParameter& p : report.parameters) {
        const bool alone = p.correlated_with.empty();
        rows.rows.push_back(
            {{report.name},
             {p.gpu},
             {p.field},
             {p.value},
             percent_cell(p.standard_error, "{:.2g}"),
             {p.correlated_with},
             alone ? Cell{} : Cell{fmt::format("{:+.2f}", p.correlation), p.correlation},
             {report.usable() ? "fitted" : "not usable"},
             {}});
    }
    for (const HeldParameter& p : report.held) {
        rows.rows.push_back({{report.name},
                             {p.gpu},
                             {p.field},
                             {p.value},
                             {},
                             {},
                             {},
                             {"not determined"},
                             {p.reason}});
    }
}

Rows parameter_rows(const FitReport& report) {
    Rows rows = empty_parameter_rows();
    add_parameters(rows, report);
    return rows;
}

void write_readable(const Context& context, const FitReport& report, Format format) {
    context.out << "Fitted on " << report.name << ": " << summary_of(report) << "\n\n";
    write_rows(context, parameter_rows(report), format);
    if (!report.usable()) return;
    context.out << "\nErrors on the fitted rows:\n\n";
    write_rows(context, residual_rows(report.fitted), format);
    context.out << "\nCross-validated, five folds over whole shapes:\n\n";
    write_rows(context, residual_rows(report.cross_validated), format);
    context.out << '\n';
}

Json json_of(const FitReport& report) {
    Json seeds = Json::array();
    for (const std::uint64_t seed : report.seeds) seeds.push_back(seed);
    return {{"data", report.name},
            {"status", name_of(report.status)},
            {"usable", report.usable()},
            {"iterations", report.iterations},
            {"cost_at_start", report.cost_at_start},
            {"cost", report.cost},
            {"seeds", std::move(seeds)},
            {"parameters", to_json(parameter_rows(report))},
            {"fitted", to_json(residual_rows(report.fitted))},
            {"cross_validated", to_json(residual_rows(report.cross_validated))}};
}

}  // namespace

void write_fits(const Context& context, std::span<const FitReport> reports,
                std::optional<Format> format) {
    if (format == Format::json) {
        Json list = Json::array();
        for (const FitReport& report : reports) list.push_back(json_of(report));
        context.out << list.text(2) << '\n';
        return;
    }
    if (format == Format::csv) {
        Rows rows = empty_parameter_rows();
        for (const FitReport& report : reports) add_parameters(rows, report);
        write_rows(context, rows, *format);
        return;
    }
    for (const FitReport& report : reports) {
        if (format) {
            write_readable(context, report, *format);
        } else {
            write_file(context, report);
        }
    }
}

void write_bands(const Context& context, std::span<const measure::FittedBand> bands,
                 std::optional<Format> format) {
    if (!format) {
        context.out << "[class]\n";
        for (const measure::FittedBand& band : bands) context.out << table_line(band) << '\n';
        return;
    }
    Rows rows{.columns = {{"class"}, {"log_low", "ln low"}, {"log_high", "ln high"}, {"rows"}}};
    for (const measure::FittedBand& band : bands) {
        rows.rows.push_back({{std::string(name_of(band.band_class))},
                             logarithm(band.low),
                             logarithm(band.high),
                             {std::to_string(band.rows), static_cast<double>(band.rows)}});
    }
    write_rows(context, rows, *format);
}

void write_widths(const Context& context, const measure::FittedWidths& widths,
                  std::optional<Format> format) {
    if (!format) {
        context.out << "[width]\n";
        std::string_view last;
        for (const measure::ClassWidth& each : widths.classes) {
            context.out << fmt::format("{}{}  # score {:.4f}, without {:.4f}\n",
                                       each.kept ? "" : "# ", table_line(each), each.score,
                                       each.plain_score);
        }
        for (const measure::KernelWidthFit& each : widths.kernels) {
            const std::string_view operation = model::info_of(each.kind).name;
            if (operation != last) context.out << "[kernel." << operation << "]\n";
            last = operation;
            context.out << (each.kept ? "" : "# ") << table_line(each) << '\n';
        }
        return;
    }
    Rows rows{.columns = {{"what"}, {"short"}, {"middle"}, {"long"}, {"rows"}, {"kept"}}};
    const auto number = [](double value) { return Cell{fmt::format("{:.2f}", value), value}; };
    const auto count = [](std::size_t value) {
        return Cell{std::to_string(value), static_cast<double>(value)};
    };
    for (const measure::ClassWidth& each : widths.classes) {
        rows.rows.push_back({{std::string(name_of(each.band_class))},
                             number(each.at[0]),
                             number(each.at[1]),
                             number(each.at[2]),
                             count(each.rows),
                             {each.kept ? "yes" : "no"}});
    }
    for (const measure::KernelWidthFit& each : widths.kernels) {
        rows.rows.push_back(
            {{fmt::format("{} {}", model::info_of(each.kind).name, name_of(each.implementation))},
             number(each.factor),
             number(each.factor),
             number(each.factor),
             count(each.rows),
             {each.kept ? "yes" : "no"}});
    }
    write_rows(context, rows, *format);
}

void write_corrections(const Context& context, std::span<const measure::ResidualReport> corrections,
                       std::optional<Format> format) {
    Rows rows{.columns = {{"class"},
                          {"gpu"},
                          {"rows"},
                          {"held_out", "held out", Shown::where_room},
                          {"trees"},
                          {"pull", {}, Shown::where_room},
                          {"mean_error_before", "mean %"},
                          {"mean_error", "after"},
                          {"p90_error_before", "p90 %"},
                          {"p90_error", "after"},
                          {"kept", "why not replaced", Shown::where_room}}};
    const auto count = [](std::size_t value) {
        return Cell{std::to_string(value), static_cast<double>(value)};
    };
    for (const measure::ResidualReport& r : corrections) {
        rows.rows.push_back({{std::string(name_of(r.residual_class))},
                             {r.gpu},
                             count(r.rows),
                             count(r.held_out),
                             count(r.fit.forest.trees().size()),
                             {fmt::format("{:g}", r.pull), r.pull},
                             percent_cell(r.before.mean),
                             percent_cell(r.after.mean),
                             percent_cell(r.before.p90),
                             percent_cell(r.after.p90),
                             {r.kept_because}});
    }
    if (!format)
        context.out << "Errors on shapes that these fits did not see: a third; for records, five "
                       "folds:\n";
    write_rows(context, rows, format.value_or(Format::table));
}

}  // namespace ridge::cli
