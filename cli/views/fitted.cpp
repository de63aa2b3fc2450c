#include "cli/views/fitted.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/console/rows.h"

namespace ridge::cli {
namespace {

using measure::ErrorSummary;
using measure::FitStep;
using measure::ResidualReport;

Cell percent_cell(const ErrorSummary& errors, double share) {
    if (errors.count == 0) return {};
    return {fmt::format("{:.1f}", 100.0 * share), share};
}

Cell count(std::size_t value) {
    return {std::to_string(value), static_cast<double>(value)};
}

std::vector<Cell> row_of(const std::string& fit, const std::string& what, std::size_t parameters,
                         std::size_t rows, const ErrorSummary& before, const ErrorSummary& after,
                         const std::string& kept) {
    return {{fit},
            {what},
            count(rows),
            count(parameters),
            percent_cell(before, before.mean),
            percent_cell(after, after.mean),
            percent_cell(before, before.p90),
            percent_cell(after, after.p90),
            {kept.empty() ? "taken" : "kept"},
            {kept}};
}

/// What a report is about, without the name of the GPU.
std::string kernel_of(const FitStep& step, const std::string& gpu) {
    std::string name = step.report.name;
    if (name.starts_with(gpu)) name.erase(0, gpu.size());
    if (name.starts_with(' ')) name.erase(0, 1);
    return name;
}

}  // namespace

bool is_changed(const measure::AllFits& fits) {
    return std::any_of(fits.steps.begin(), fits.steps.end(),
                       [](const FitStep& step) { return step.kept_because.empty(); }) ||
           std::any_of(fits.corrections.begin(), fits.corrections.end(),
                       [](const ResidualReport& each) { return each.kept_because.empty(); }) ||
           !fits.dropped.empty();
}

std::string changes_text(const measure::AllFits& fits) {
    std::size_t parameters = 0;
    std::vector<std::string> programs;
    for (const FitStep& step : fits.steps) {
        if (!step.kept_because.empty()) continue;
        parameters += step.report.parameters.size();
        if (std::find(programs.begin(), programs.end(), step.program) == programs.end()) {
            programs.push_back(step.program);
        }
    }
    std::string text;
    if (parameters > 0) {
        text = fmt::format("{} parameter{} of ", parameters, parameters == 1 ? "" : "s");
        for (std::size_t i = 0; i < programs.size(); ++i) text += (i > 0 ? ", " : "") + programs[i];
    }
    std::size_t corrections = 0;
    for (const ResidualReport& each : fits.corrections) corrections += each.kept_because.empty();
    const auto add = [&text](std::size_t count, const char* what) {
        if (count == 0) return;
        text +=
            fmt::format("{}{} {}{}", text.empty() ? "" : "; ", count, what, count == 1 ? "" : "s");
    };
    add(corrections, "new correction");
    add(fits.dropped.size(), "dropped correction");
    return text;
}

void write_fitted(const Context& context, const measure::AllFits& fits, Format format) {
    Rows rows{.columns = {{"fit"},
                          {"kernels"},
                          {"rows"},
                          {"parameters", "free"},
                          {"mean_error_before", "mean %"},
                          {"mean_error", "after"},
                          {"p90_error_before", "p90 %"},
                          {"p90_error", "after"},
                          {"values"},
                          {"kept_because", "why", Shown::where_room}}};
    for (const FitStep& step : fits.steps) {
        rows.rows.push_back(row_of(step.program, kernel_of(step, fits.gpu),
                                   step.report.parameters.size(),
                                   static_cast<std::size_t>(step.before.count), step.before,
                                   step.after, step.kept_because));
    }
    for (const ResidualReport& each : fits.corrections) {
        rows.rows.push_back(row_of("residual", std::string(name_of(each.residual_class)),
                                   each.fit.forest.trees().size(), each.rows, each.before,
                                   each.after, each.kept_because));
    }
    write_rows(context, rows, format);
    if (format != Format::table) return;
    context.out << "\nMean and 90 % point of |predicted / measured - 1|: before the fit, and on\n"
                   "rows that the fit did not see.\n";
    bool any = false;
    for (const auto& row : rows.rows) {
        if (row.back().text.empty()) continue;
        if (!any) context.out << "\"kept\": the old values stay, because\n";
        any = true;
        context.out << fmt::format("  {} {}: {}\n", row[0].text, row[1].text, row.back().text);
    }
    for (const model::ResidualClass each : fits.dropped) {
        const bool replaced = std::any_of(
            fits.corrections.begin(), fits.corrections.end(), [each](const ResidualReport& r) {
                return r.residual_class == each && r.kept_because.empty();
            });
        if (replaced) continue;
        context.out << fmt::format(
            "The correction of {} does not hold for the new parameters and is dropped.\n",
            name_of(each));
    }
    for (const auto& [operation, number] : fits.not_modelled) {
        context.out << fmt::format(
            "{} rows of {} come from kernels for which the model has no parameters.\n", number,
            operation);
    }
}

}  // namespace ridge::cli
