#include "measure/fit/fit_widths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "hardware/error.h"
#include "measure/fit/residual_samples.h"
#include "measure/statistics/quantile.h"
#include "model/core/fields.h"
#include "model/predict.h"
#include "model/residual/features.h"
#include "model/roof/band.h"

namespace ridge::measure {
namespace {

using model::Widths;

constexpr double inside = 0.82;  ///< share of rows that a spread holds
constexpr double outside_weight = 10.0;
constexpr std::size_t fewest_of_class = 150;
constexpr std::size_t fewest_of_kernel = 60;
constexpr double few = 60.0;

/// A residual with the band that its class and correction give it, all as parts of the time.
struct WidthRow {
    double ratio;  ///< measured over predicted
    double below;  ///< of the time, from the lower end to it
    double above;
    model::WidthPlace place;
    bool half;
    const HeldOutRow* row;

    [[nodiscard]] double needed() const {
        return ratio > 1.0 ? (ratio - 1.0) / above : (1.0 - ratio) / below;
    }
};
using WidthRows = std::vector<WidthRow>;

/// In the band of its class times a spread.
WidthRow width_row(const HeldOutRow& row, double spread) {
    const model::BandRow& band = model::band_row(row.band_class);
    return {.ratio = row.ratio,
            .below = -spread * std::expm1(band.low),
            .above = spread * std::expm1(band.high),
            .place = model::width_place(row.time),
            .half = row.half,
            .row = &row};
}

double quantile_of(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return quantile(values, share);
}

double interval_score(const WidthRow& row, const Widths& widths) {
    const double width = model::width_between(widths, row.place);
    const double low = std::log(std::max(0.01, 1.0 - width * row.below));
    const double high = std::log1p(width * row.above);
    const double off = std::log(row.ratio);
    return high - low + outside_weight * std::max({low - off, off - high, 0.0});
}

double mean_score(const WidthRows& rows, const Widths& widths) {
    double sum = 0.0;
    for (const WidthRow& row : rows) sum += interval_score(row, widths);
    return sum / static_cast<double>(rows.size());
}

/// So scaled that the band holds the intended share.
Widths levelled(const WidthRows& rows, Widths widths) {
    std::vector<double> needed;
    for (const WidthRow& row : rows)
        needed.push_back(row.needed() / model::width_between(widths, row.place));
    const double factor = quantile_of(std::move(needed), inside);
    for (double& each : widths) each *= factor;
    return widths;
}

/// The score of these widths. Neighbours are drawn together as by a few rows, so that a time without rows has the
/// width of the next.
double drawn_score(const WidthRows& rows, const Widths& widths) {
    constexpr double weight = 10.0;
    double apart = 0.0;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i)
        apart += std::pow(std::log(widths[i + 1] / widths[i]), 2);
    return mean_score(rows, widths) * (1.0 + weight * apart / static_cast<double>(rows.size()));
}

/// The widths with the least score, one number after another by ever smaller steps.
Widths fitted(const WidthRows& rows) {
    constexpr double first_step = 1.2;
    constexpr double last_step = 1.02;
    constexpr double least = 0.2;
    constexpr double most = 3.0;
    Widths best = levelled(rows, {1.0, 1.0, 1.0});
    double lowest = drawn_score(rows, best);
    for (double step = first_step; step > last_step;) {
        bool moved = false;
        for (std::size_t i = 0; i < best.size(); ++i) {
            for (const double factor : {step, 1.0 / step}) {
                Widths tried = best;
                tried[i] = std::clamp(tried[i] * factor, least, most);
                const double score = drawn_score(rows, tried);
                if (score >= lowest) continue;
                lowest = score;
                best = tried;
                moved = true;
            }
        }
        if (!moved) step = std::sqrt(step);
    }
    return levelled(rows, best);
}

/// As if `few` rows more had needed no other width.
double drawn_to_one(double width, std::size_t rows) {
    const double weight = static_cast<double>(rows);
    return std::pow(width, weight / (weight + few));
}

ClassWidth fitted_class(model::BandClass band_class, const WidthRows& rows) {
    constexpr double worth = 0.01;
    constexpr Widths one{1.0, 1.0, 1.0};
    ClassWidth made{.band_class = band_class, .at = one, .rows = rows.size()};
    double plain = 0.0;
    double level = 0.0;
    double shaped = 0.0;
    for (const bool half : {false, true}) {
        WidthRows known;
        WidthRows out;
        for (const WidthRow& row : rows) (row.half == half ? out : known).push_back(row);
        if (known.empty() || out.empty()) return made;
        const double share = static_cast<double>(out.size()) / static_cast<double>(rows.size());
        plain += share * mean_score(out, one);
        level += share * mean_score(out, levelled(known, one));
        shaped += share * mean_score(out, fitted(known));
    }
    made.plain_score = plain;
    made.score = plain;
    const auto take = [&](double score, const Widths& widths) {
        if (rows.size() < fewest_of_class || score >= (1.0 - worth) * made.score) return;
        made.score = score;
        made.at = widths;
        made.kept = true;
    };
    take(level, levelled(rows, one));
    take(shaped, fitted(rows));
    return made;
}

/// Rows of ridge's own kernels that have no correction, in the bands that they have. (PyTorch compiles others.)
void add_uncorrected(const FitRequest& request, std::map<model::BandClass, WidthRows>& classes,
                     std::vector<HeldOutRow>& storage) {
    const std::vector<MeasuredRow> rows = residual_rows(request);
    AnalyticMachines machines(request);
    storage.reserve(rows.size());
    for (const MeasuredRow& row : rows) {
        const model::Machine& machine = machines.at(row.gpu);
        const model::Outcome outcome = model::predict(row.operation, row.execution, machine);
        const auto* const p = std::get_if<model::Prediction>(&outcome);
        if (p == nullptr || p->evidence.chip != model::ChipEvidence::own ||
            model::noted<model::note::Extrapolated>(*p) != nullptr ||
            row.execution.launch == model::LaunchMode::stream ||
            p->implementation == model::Implementation::compiled ||
            model::residual_features_of(row.operation, row.execution, *p, machine) ||
            model::band_row(p->band_class).basis != model::BandBasis::bundled) {
            continue;
        }
        storage.push_back({.band_class = p->band_class,
                           .kind = model::kind_of(row.operation),
                           .implementation = p->implementation,
                           .of_own_kernel = true,
                           .time = p->time,
                           .ratio = row.measured / p->time});
        classes[p->band_class].push_back(width_row(storage.back(), 1.0));
    }
}

/// The rows of one correction on one GPU, with the spread that holds the intended share of them.
void add_rows(const ResidualReport& report, std::map<model::BandClass, WidthRows>& classes) {
    std::vector<double> needed;
    for (const HeldOutRow& each : report.rows_held_out)
        needed.push_back(width_row(each, 1.0).needed());
    if (needed.empty()) return;
    const double spread = quantile_of(std::move(needed), inside);
    for (const HeldOutRow& each : report.rows_held_out)
        classes[each.band_class].push_back(width_row(each, spread));
}

/// Lines by key, in the order of the file.
using Entries = std::vector<std::pair<std::string, std::string>>;

void put_entry(Entries& entries, std::string_view key, bool kept, std::string line) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& each) { return each.first == key; });
    if (found == entries.end()) {
        if (kept) entries.emplace_back(key, std::move(line));
    } else if (kept) {
        found->second = std::move(line);
    } else {
        entries.erase(found);
    }
}

/// A file as the lines before its first section of widths, and its sections from there on.
struct WidthSections {
    std::string before;
    std::vector<std::pair<std::string, Entries>> sections;  ///< by header, with its comments

    Entries& at(const std::string& header) {
        for (auto& [name, entries] : sections) {
            if (name.ends_with(header)) return entries;
        }
        return sections.emplace_back(header, Entries{}).second;
    }
};

WidthSections width_sections(std::string_view text) {
    WidthSections all;
    std::string comment;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1);
        const std::string line(text.substr(0, end));
        text.remove_prefix(end + 1);
        const bool section = line.starts_with("[width]") || line.starts_with("[kernel.");
        if (section) {
            all.sections.emplace_back(comment + line, Entries{});
            comment.clear();
        } else if (line.empty() || line.starts_with('#')) {
            comment += line + '\n';
        } else if (all.sections.empty()) {
            all.before += comment + line + '\n';
            comment.clear();
        } else {
            all.sections.back().second.emplace_back(line.substr(0, line.find(' ')), line);
        }
    }
    if (all.sections.empty()) throw InputError("bands: there is no section [width]");
    return all;
}

}  // namespace

FittedWidths fit_widths(const FitRequest& request) {
    const std::vector<ResidualReport> reports = fit_residuals(request);
    std::map<model::BandClass, WidthRows> classes;
    for (const ResidualReport& report : reports) add_rows(report, classes);
    std::vector<HeldOutRow> uncorrected;
    FittedWidths made;
    std::map<model::BandClass, WidthRows> all = classes;
    add_uncorrected(request, all, uncorrected);
    std::map<std::pair<model::OperationKind, model::Implementation>, std::vector<double>> kernels;
    for (const auto& [band_class, rows] : all) {
        const auto known = classes.find(band_class);
        ClassWidth fit{.band_class = band_class};
        if (known != classes.end())
            made.classes.push_back(fit = fitted_class(band_class, known->second));
        for (const WidthRow& row : rows) {
            if (!row.row->of_own_kernel) continue;
            const double width = model::width_between(fit.at, row.place);
            kernels[{row.row->kind, row.row->implementation}].push_back(row.needed() / width);
        }
    }
    for (auto& [kernel, needed] : kernels) {
        KernelWidthFit each{
            .kind = kernel.first, .implementation = kernel.second, .rows = needed.size()};
        each.factor = drawn_to_one(quantile_of(std::move(needed), inside), each.rows);
        constexpr double least = 0.05;
        each.kept = each.rows >= fewest_of_kernel && std::abs(std::log(each.factor)) >= least;
        made.kernels.push_back(each);
    }
    return made;
}

std::string table_line(const ClassWidth& width) {
    return fmt::format(
        R"({} = {{ short = {:.2f}, middle = {:.2f}, long = {:.2f}, rows = {}, source = "WIDTHS" }})",
        model::name_of(width.band_class), width.at[0], width.at[1], width.at[2], width.rows);
}

std::string table_line(const KernelWidthFit& width) {
    return fmt::format(R"({} = {{ factor = {:.2f}, rows = {}, source = "WIDTHS" }})",
                       model::name_of(width.implementation), width.factor, width.rows);
}

std::string with_widths(std::string_view bands, const FittedWidths& widths) {
    WidthSections file = width_sections(bands);
    for (const ClassWidth& each : widths.classes) {
        if (each.rows < fewest_of_class) continue;
        put_entry(file.at("[width]"), model::name_of(each.band_class), each.kept, table_line(each));
    }
    for (const KernelWidthFit& each : widths.kernels) {
        if (each.rows < fewest_of_kernel) continue;
        put_entry(file.at(fmt::format("[kernel.{}]", model::info_of(each.kind).name)),
                  model::name_of(each.implementation), each.kept, table_line(each));
    }
    std::string text = file.before;
    for (const auto& [header, entries] : file.sections) {
        if (entries.empty()) {  // its comment may be of what follows
            text += header.substr(0, header.rfind('\n') + 1);
            continue;
        }
        text += header + '\n';
        for (const auto& [key, line] : entries) text += line + '\n';
    }
    return text;
}

}  // namespace ridge::measure
