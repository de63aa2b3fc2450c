// What `ridge fit attention` prints: parameters as they stand in a GPU file, cross-validated errors
// by class, and the 80 % interval of measured over predicted time by regime with its coverage.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <ostream>

#include "hardware/catalogue.h"
#include "hardware/error.h"
#include "hardware/schema.h"
#include "hardware/units.h"
#include "measure/fit/fit_attention.h"

namespace ridge::measure {
namespace {

using model::FlashParameters;
using model::Implementation;

constexpr int folds = 5;

/// GPUs that share one set of parameters: one GPU, or a family.
struct Group {
    std::string name;
    Implementation implementation = Implementation::flash3;
    std::vector<MeasuredMachine> measured;
    FlashParameters fitted;
};

struct Residual {
    double log_ratio = 0.0;  ///< log(measured / predicted)
    bool judged = false;     ///< decoding, or over 20 us
    bool decodes = false;
    model::AttentionRegime regime = model::AttentionRegime::backward;
    int fold = 0;
};

double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

void print_parameters(std::ostream& out, const Group& group) {
    const std::string section = group.implementation == Implementation::flash3
                                    ? "model.attention.flash3"
                                    : "model.attention.flash2";
    const auto free = free_attention_fields(group.implementation);
    out << "# " << group.name << "\n[" << section << "]\n";
    for (const model::FlashField& field : model::flash_fields()) {
        const hardware::Field* const known =
            hardware::find_field(section + "." + std::string(field.name));
        if (known == nullptr) continue;
        const double value = rounded(field.read(group.fitted));
        const bool number = known->kind == hardware::ValueKind::number;
        const bool fitted = std::find(free.begin(), free.end(), field.name) != free.end();
        out << field.name << " = "
            << (number ? fmt::format("{}", value)
                       : '"' + format_exact(value, known->dimension) + '"')
            << (fitted ? "" : "  # not fitted") << '\n';
    }
    out << '\n';
}

std::vector<Residual> left_out_residuals(const Group& group) {
    std::vector<Residual> residuals;
    for (int fold = 0; fold < folds; ++fold) {
        const FlashParameters fitted =
            fit_attention(group.measured, group.implementation, group.fitted, fold);
        for (const MeasuredMachine& each : group.measured) {
            for (const AttentionRow& row : each.rows) {
                if (row.fold != fold) continue;
                const model::AttentionTime time = fitted_time(each.machine, fitted, row);
                const bool decodes = row.op.seq_q == 1;
                residuals.push_back({.log_ratio = std::log(row.measured / time.total),
                                     .judged = decodes || row.measured >= 20.0 * units::us,
                                     .decodes = decodes,
                                     .regime = time.regime,
                                     .fold = fold});
            }
        }
    }
    return residuals;
}

void print_errors(std::ostream& out, std::string_view name, const std::vector<double>& log_ratios) {
    if (log_ratios.empty()) return;
    std::vector<double> errors;
    double bias = 0.0;
    double mean = 0.0;
    for (const double log_ratio : log_ratios) {
        const double error = 100.0 * (std::exp(-log_ratio) - 1.0);
        errors.push_back(std::fabs(error));
        mean += std::fabs(error);
        bias += error;
    }
    std::sort(errors.begin(), errors.end());
    const double n = static_cast<double>(errors.size());
    out << fmt::format("| {:<30} | {:5} | {:5.2f} | {:6.2f} | {:5.2f} | {:+5.2f} |\n", name,
                       errors.size(), mean / n, errors[errors.size() / 2],
                       errors[errors.size() * 9 / 10], bias / n);
}

struct Interval {
    double low;
    double high;
};
Interval interval_of(std::vector<double> log_ratios) {
    std::sort(log_ratios.begin(), log_ratios.end());
    const std::size_t cut = log_ratios.size() / 10;
    return {log_ratios[cut], log_ratios[log_ratios.size() - 1 - cut]};
}

/// Share of the residuals of each fold inside the interval of the others.
double coverage_of(const std::vector<Residual>& residuals, model::AttentionRegime regime) {
    int inside = 0;
    int all = 0;
    for (int fold = 0; fold < folds; ++fold) {
        std::vector<double> others;
        for (const Residual& each : residuals) {
            if (each.regime == regime && each.fold != fold) others.push_back(each.log_ratio);
        }
        if (others.empty()) continue;
        const Interval interval = interval_of(others);
        for (const Residual& each : residuals) {
            if (each.regime != regime || each.fold != fold) continue;
            ++all;
            if (each.log_ratio >= interval.low && each.log_ratio <= interval.high) ++inside;
        }
    }
    return all > 0 ? 100.0 * inside / all : 0.0;
}

void print_residuals(std::ostream& out, const std::vector<Residual>& residuals) {
    out << "(batch, heads) groups left out, five folds; errors in %\n\n"
        << "| rows                           |     n |  mean | median |   p90 |  bias |\n"
        << "|---|---|---|---|---|---|\n";
    std::vector<double> prefill;
    std::vector<double> decode;
    std::map<model::AttentionRegime, std::vector<double>> by_regime;
    for (const Residual& each : residuals) {
        if (each.judged) (each.decodes ? decode : prefill).push_back(each.log_ratio);
        by_regime[each.regime].push_back(each.log_ratio);
    }
    print_errors(out, "prefill over 20 us", prefill);
    print_errors(out, "decode", decode);
    for (const auto& [regime, ratios] : by_regime) print_errors(out, name_of(regime), ratios);
    out << "\nmeasured / predicted, 10 % and 90 % points; coverage in left-out folds\n\n"
        << "| regime | low | high | n | coverage % |\n|---|---|---|---|---|\n";
    for (const auto& [regime, ratios] : by_regime) {
        const Interval interval = interval_of(ratios);
        out << fmt::format("| {} | {:.3f} | {:.3f} | {} | {:.0f} |\n", name_of(regime),
                           std::exp(interval.low), std::exp(interval.high), ratios.size(),
                           coverage_of(residuals, regime));
    }
    out << '\n';
}

std::vector<std::string> attention_files(const std::string& directory) {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("attention_") && name.ends_with(".csv")) {
            files.push_back(entry.path().string());
        }
    }
    if (files.empty()) {
        throw InputError("no attention_*.csv in '" + directory + "'", {},
                         "give the directory of the measured rows with --data DIR");
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Parameters to start from: the described ones, to one digit, so that a fit shows its way.
FlashParameters start_of(const model::Machine& machine, Implementation implementation) {
    const auto& described = implementation == Implementation::flash3 ? machine.attention->flash3
                                                                     : machine.attention->flash2;
    if (!described) throw InputError("GPU '" + machine.name + "' has no attention parameters");
    FlashParameters start = *described;
    const auto free = free_attention_fields(implementation);
    for (const model::FlashField& field : model::flash_fields()) {
        if (std::find(free.begin(), free.end(), field.name) == free.end()) continue;
        field.write(start, std::stod(fmt::format("{:.0e}", field.read(start))));
    }
    return start;
}

std::vector<Group> groups_of(const std::string& directory) {
    const hardware::Catalogue catalogue = hardware::Catalogue::embedded();
    std::map<std::string, MeasuredMachine> machines;
    for (const std::string& file : attention_files(directory)) {
        for (AttentionRow& row : read_attention_rows(file)) {
            MeasuredMachine& measured = machines[row.gpu];
            if (measured.rows.empty()) measured.machine = model::make_machine(catalogue.at(row.gpu));
            measured.rows.push_back(std::move(row));
        }
    }
    std::map<std::string, Group> families;
    std::vector<Group> groups;
    for (auto& [gpu, measured] : machines) {
        const Implementation implementation = measured.rows.front().execution.implementation;
        Group& family = families[catalogue.at(gpu).inherits];
        family.implementation = implementation;
        family.measured.push_back(measured);
        groups.push_back({gpu, implementation, {std::move(measured)}, {}});
    }
    for (auto& [name, family] : families) {
        family.name = name;
        groups.push_back(std::move(family));
    }
    return groups;
}

}  // namespace

void report_attention_fit(const std::string& directory, std::ostream& out) {
    for (Group& group : groups_of(directory)) {
        const FlashParameters start =
            start_of(group.measured.front().machine, group.implementation);
        group.fitted = fit_attention(group.measured, group.implementation, start, -1);
        print_parameters(out, group);
        print_residuals(out, left_out_residuals(group));
    }
}

}  // namespace ridge::measure
