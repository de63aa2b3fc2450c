#include "measure/fit/built_in.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "hardware/field_reader.h"
#include "hardware/loader.h"
#include "measure/fit/built_trees.h"
#include "measure/fit/fit.h"
#include "measure/fit/fit_residual.h"
#include "measure/record/overlay_text.h"
#include "measure/record/record.h"
#include "model/catalogue/calibration_text.h"
#include "model/catalogue/trees_file.h"
#include "model/machine/machine.h"
#include "model/machine/schema.h"

namespace ridge::measure {
namespace {

using hardware::Description;

constexpr std::string_view residual_program = "residual";
constexpr int written_digits = 6;

constexpr std::array<std::string_view, 1> plan_tables{"fit"};
constexpr hardware::Form plan_form{.kind = "plan", .words = {}, .tables = plan_tables, .roots = {}};

const FitProgram* program_named(const std::string& name) {
    const auto& all = fit_programs();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&name](const FitProgram& each) { return each.name == name; });
    return found == all.end() ? nullptr : &*found;
}

PlannedFit planned(const hardware::Row& row, std::vector<hardware::Problem>& problems) {
    const auto texts = [&row](std::string_view key) {
        const auto found = row.texts.find(key);
        return found == row.texts.end() ? std::vector<std::string>() : found->second;
    };
    PlannedFit fit{.program = row.text("program"),
                   .gpus = texts("gpus"),
                   .software = texts("software"),
                   .source = row.text("source"),
                   .records = texts("records"),
                   .tables = texts("tables"),
                   .date = row.text("date"),
                   .keep = texts("keep"),
                   .location = row.location};
    if (fit.program != residual_program && program_named(fit.program) == nullptr) {
        problems.push_back({row.location, "unknown program \"" + fit.program + "\""});
    }
    if (fit.gpus.empty() || fit.software.empty() || fit.source.empty() ||
        (fit.records.empty() && fit.tables.empty())) {
        problems.push_back(
            {row.location, "a fit needs gpus, software, source, and records or tables"});
    }
    return fit;
}

std::string newest_date(const std::vector<std::string>& records) {
    std::string newest;
    for (const Record& record : read_all_records(records).records) {
        newest = std::max(newest, record.date.substr(0, record.date.find('T')));
    }
    return newest;
}

/// What one fit reads, and how the files say so.
struct Inputs {
    std::vector<std::string> paths;
    std::string command;
    std::string names;
    std::string digest;
    std::string date;
};

class Builder {
  public:
    Builder(const CalibrationPlan& plan, BuildRequest request)
        : fits_(plan.fits), starts_(plan.starts, plan.gpu_starts), request_(std::move(request)) {}

    void run() {
        for (const PlannedFit& fit : fits_)
            if (fit.wanted) run(fit);
    }

    void run(const PlannedFit& fit) {
        if (!fit.tables.empty() && request_.data.empty()) {
            skipped_.push_back({fit, "it reads public tables, which --data DIR names"});
            return;
        }
        if (request_.progress) request_.progress(fit);
        const Inputs inputs = inputs_of(fit);
        const FitRequest asked = fit_request(fit, inputs);
        own_.clear();
        later_ = later_values(fit);
        if (fit.program == residual_program) {
            take(fit, inputs, fit_residuals(asked, {}, fit.keep));
        } else {
            take(fit, inputs, fitted(fit, asked));
        }
    }

    Built result() {
        Built built;
        built.skipped = std::move(skipped_);
        for (const auto& [place, calibration] : values_) {
            if (!written_.contains(place)) continue;
            built.files.push_back({path_of(place.first, place.second, ".toml"),
                                   model::calibration_text(calibration)});
        }
        for (const Place& place : written_trees_) {
            built.files.push_back({path_of(place.first, place.second, ".trees"),
                                   model::trees_file(trees_.at(place), place.first, place.second)});
        }
        return built;
    }

  private:
    using Place = std::pair<std::string, std::string>;  ///< chip and software

    static std::string path_of(const std::string& gpu, const std::string& software,
                               const char* extension) {
        return "calibration/" + gpu + "/" + software + extension;
    }

    /// The date of the newest of these records, which several fits read.
    const std::string& date_of(const std::vector<std::string>& records) {
        const auto known = dates_.find(records);
        if (known != dates_.end()) return known->second;
        return dates_.emplace(records, newest_date(records)).first->second;
    }

    /// The rows of these records, which several fits read, and each fit several times.
    const std::vector<MeasuredRow>& rows_of(const std::vector<std::string>& records) {
        const auto known = rows_.find(records);
        if (known != rows_.end()) return known->second;
        std::map<std::string, std::string> names;
        const auto name_of = [&](const std::string& driver) {
            const auto of = names.find(driver);
            if (of != names.end()) return of->second;
            return names.emplace(driver, request_.catalogue.at(driver).name).first->second;
        };
        return rows_.emplace(records, read_record_rows(records, name_of)).first->second;
    }

    [[nodiscard]] Inputs inputs_of(const PlannedFit& fit) {
        Inputs inputs;
        inputs.date = fit.date;
        for (const std::string& name : fit.records) {
            inputs.paths.push_back(request_.tree + "/" + name);
        }
        if (!fit.records.empty()) inputs.date = std::max(inputs.date, date_of(inputs.paths));
        for (const std::string& name : fit.tables) {
            inputs.paths.push_back(request_.data + "/" + name);
        }
        inputs.digest = digest_of_files(inputs.paths);
        inputs.names = fmt::format("{}{}{}", fmt::join(fit.records, ", "),
                                   fit.records.empty() || fit.tables.empty() ? "" : ", ",
                                   fmt::join(fit.tables, ", "));
        inputs.command = fmt::format("ridge calibrate --built-in --gpu {} --software {}",
                                     fmt::join(fit.gpus, ","), fmt::join(fit.software, ","));
        if (!fit.tables.empty()) inputs.command += " --data DIR";
        return inputs;
    }

    [[nodiscard]] FitRequest fit_request(const PlannedFit& fit, const Inputs& inputs) {
        FitRequest asked{
            .data = fit.tables.empty() ? std::string() : request_.data,
            .gpus = fit.gpus,
            .machine = [this, &fit](const std::string& gpu) { return machine(fit, gpu); }};
        asked.start = [this, &fit](const std::string& field) { return start(fit, field).value; };
        asked.tables = fit.tables;
        asked.tried_folds = 0;
        for (std::size_t i = 0; i < fit.records.size(); ++i) {
            asked.records.push_back(inputs.paths[i]);
        }
        if (fit.tables.empty()) asked.read = &rows_of(asked.records);
        return asked;
    }

    /// The calibration of a chip, as committed until a fit changes it.
    Description& calibration(const std::string& gpu, const std::string& software) {
        const Place place{gpu, software};
        const auto present = values_.find(place);
        if (present != values_.end()) return present->second;
        const std::string path = path_of(gpu, software, ".toml");
        Description committed;
        if (const auto file = request_.catalogue.files().at(path)) {
            hardware::Loaded loaded =
                hardware::load_text(file->text, path, model::schema(), model::calibration_form());
            hardware::throw_problems(loaded.problems);
            committed = std::move(loaded.description);
        } else {
            committed.name = gpu + "." + software;
            committed.words.texts = {{"chip", {gpu}}, {"software", {software}}};
        }
        return values_.emplace(place, std::move(committed)).first->second;
    }

    /// The corrections of a chip, as committed until a fit changes them.
    Description& corrections(const std::string& gpu, const std::string& software) {
        const Place place{gpu, software};
        const auto present = trees_.find(place);
        if (present != trees_.end()) return present->second;
        const std::string path = path_of(gpu, software, ".trees");
        hardware::Loaded loaded;
        if (const auto file = request_.catalogue.files().at(path)) {
            loaded = model::read_trees(file->text, path);
            hardware::throw_problems(loaded.problems);
        }
        return trees_.emplace(place, std::move(loaded.description)).first->second;
    }

    /// Has later fits see them.
    void keep_corrections(const std::string& gpu, const std::string& software) {
        written_trees_.insert({gpu, software});
        request_.catalogue.add_text(model::trees_file(corrections(gpu, software), gpu, software),
                                    path_of(gpu, software, ".trees"));
    }

    /// Runs a program twice where its parts use each other's parameters: products of 8-bit types take
    /// the launch that those of 16 bits fitted. The first run sees the starts of all, the second what
    /// the first found, and neither what the files held.
    std::vector<FitReport> fitted(const PlannedFit& fit, const FitRequest& asked) {
        const FitProgram& program = *program_named(fit.program);
        own_.clear();
        FitRequest names = asked;
        names.only_names = true;
        for (const FitReport& report : program.run(names)) {
            for (const HeldParameter& each : report.held) {
                set_own(fit, each.gpu, each.field, start(fit, each.field).value);
            }
        }
        std::vector<FitReport> reports = program.run(asked);
        if (program.of_engine) return reports;
        for (const FitReport& report : reports) {
            for (const FittedParameter& each : report.parameters) {
                set_own(fit, each.gpu, each.field, each.number);
            }
        }
        return program.run(asked);
    }

    using Values = std::map<std::pair<std::string, std::string>, double>;  ///< by GPU and field

    /// What the fits after this one determine, at its start.
    Values later_values(const PlannedFit& fit) {
        Values values;
        bool later = false;
        for (const PlannedFit& each : fits_) {
            if (later) add_starts(each, values);
            if (&each == &fit) later = true;
        }
        return values;
    }

    void add_starts(const PlannedFit& fit, Values& values) {
        const FitProgram* const program = program_named(fit.program);
        if (program == nullptr || program->of_engine) return;
        for (const std::string& gpu : fit.gpus) {
            for (const std::string& software : fit.software) {
                for (const auto& [path, datum] : calibration(gpu, software).data) {
                    if (datum.sources != std::vector{fit.source}) continue;
                    const auto start = starts_.of(path, fit.place(), request_.catalogue.software());
                    if (start) values[{gpu, path}] = start->value;
                }
            }
        }
    }

    void set_own(const PlannedFit& fit, const std::string& of, const std::string& field,
                 double value) {
        for (const std::string& gpu : fit.gpus) {
            if (of.empty() || of == gpu) own_[{gpu, field}] = value;
        }
    }

    /// What the fits before left, and where the parameters of this one are.
    [[nodiscard]] model::Machine machine(const PlannedFit& fit, const std::string& gpu) const {
        const FitProgram* const program = program_named(fit.program);
        const bool of_engine = program != nullptr && program->of_engine;
        Description device = request_.catalogue.at(
            gpu, model::View::calibrated, of_engine ? fit.software.front() : std::string());
        for (const auto* const values : {&later_, &own_}) {
            for (const auto& [place, value] : *values) {
                const auto found = device.data.find(place.second);
                if (place.first == gpu && found != device.data.end()) found->second.value = value;
            }
        }
        if (!of_engine) return model::make_machine(device);
        return request_.catalogue.machine(device,
                                          model::SoftwareChoice::named(fit.software.front()));
    }

    [[nodiscard]] FitStart start(const PlannedFit& fit, const std::string& field) {
        const auto found = starts_.of(field, fit.place(), request_.catalogue.software());
        if (found) return *found;
        throw InputError("no start for " + field + ": the plan or its software's file gives one",
                         fit.location);
    }

    [[nodiscard]] bool is_parameter_of(const std::string& software, const std::string& path) const {
        const model::Software& of = find_software(request_.catalogue.software(), software);
        return std::any_of(of.parameters.begin(), of.parameters.end(),
                           [&path](const auto& each) { return hardware::lies_in(path, each); });
    }

    [[nodiscard]] static std::string header(const PlannedFit& fit, const Inputs& inputs,
                                            const std::string& gpu, const std::string& software) {
        std::string text = fmt::format(
            "schema = 1\nkind = \"calibration\"\nname = \"{0}.{1}\"\nchip = \"{0}\"\nsoftware = "
            "\"{1}\"\nsources.{2} = {{ kind = \"measured\", text = {3}, command = {4}, records = "
            "{5}, digest = \"{6}\"",
            gpu, software, fit.source,
            quoted_toml("fit of " + fit.program + " by ridge calibrate --built-in"),
            quoted_toml(inputs.command), quoted_toml(inputs.names), inputs.digest);
        if (!inputs.date.empty()) text += fmt::format(", date = \"{}\"", inputs.date);
        return text + " }\n";
    }

    /// Takes the values that are parameters of the fit's software.
    void take(const PlannedFit& fit, const Inputs& inputs, const std::vector<FitReport>& reports) {
        for (const FitReport& report : reports) {
            if (report.usable()) continue;
            throw InputError("the fit on " + report.name + " did not converge", fit.location);
        }
        bool any = false;
        for (const std::string& gpu : fit.gpus) {
            for (const std::string& software : fit.software) {
                const std::string lines = fitted_lines(fit, reports, gpu, software);
                if (lines.empty()) continue;
                any = true;
                merge({gpu, software}, header(fit, inputs, gpu, software) + lines, fit);
            }
        }
        if (any) return;
        throw InputError(
            fmt::format("the fit of {} gives no parameter of {}, which its software.toml "
                        "would list",
                        fit.program, fmt::join(fit.software, ", ")),
            fit.location);
    }

    [[nodiscard]] std::string fitted_lines(const PlannedFit& fit,
                                           const std::vector<FitReport>& reports,
                                           const std::string& gpu, const std::string& software) {
        std::string lines;
        const auto belongs = [&](const auto& each) {
            return (each.gpu.empty() || each.gpu == gpu) && is_parameter_of(software, each.field);
        };
        for (const FitReport& report : reports) {
            for (const FittedParameter& each : report.parameters) {
                if (belongs(each)) lines += fitted_line(each, fit.source);
            }
            for (const HeldParameter& each : report.held) {
                if (!belongs(each) || !start(fit, each.field).of_plan) continue;
                lines += fmt::format(
                    "{} = {{ value = {}, source = \"{}\", note = \"kept at its start: these rows "
                    "do not determine it\" }}\n",
                    each.field, each.value, fit.source);
            }
        }
        return lines;
    }

    [[nodiscard]] static std::string fitted_line(const FittedParameter& each,
                                                 const std::string& source) {
        const hardware::Field& field = *model::schema().find(each.field);
        const bool is_text = field.kind == hardware::ValueKind::text;
        return fmt::format(
            "{} = {{ value = {}, source = \"{}\"{} }}\n", each.field,
            is_text ? each.value : toml_value(field, each.number, written_digits), source,
            each.standard_error > 0.0
                ? fmt::format(", note = \"standard error {:.2g} %\"", 100.0 * each.standard_error)
                : std::string());
    }

    /// Puts values into the chip's calibration, and corrections of kernels into its trees.
    void merge(const Place& place, const std::string& text, const PlannedFit& fit) {
        hardware::Loaded loaded = hardware::load_text(text, "fit " + fit.program, model::schema(),
                                                      model::calibration_form());
        hardware::throw_problems(loaded.problems);
        const auto& [gpu, software] = place;
        Description& values = calibration(gpu, software);
        Description& trees = corrections(gpu, software);
        bool any_values = false;
        bool any_trees = false;
        for (auto* const into : {&values, &trees}) {
            const std::size_t dropped = std::erase_if(into->data, [&fit](const auto& field) {
                return field.second.sources == std::vector{fit.source};
            });
            (into == &trees ? any_trees : any_values) = dropped > 0;
            into->sources.insert_or_assign(fit.source, loaded.description.sources.at(fit.source));
        }
        for (auto& [path, datum] : loaded.description.data) {
            const bool is_tree = model::is_correction(path);
            (is_tree ? any_trees : any_values) = true;
            (is_tree ? trees : values).data.insert_or_assign(path, std::move(datum));
        }
        if (any_trees) keep_corrections(gpu, software);
        if (!any_values) return;
        written_.insert(place);
        request_.catalogue.add_text(model::calibration_text(values),
                                    path_of(gpu, software, ".toml"));
    }

    void take(const PlannedFit& fit, const Inputs& inputs,
              const std::vector<ResidualReport>& reports) {
        for (const std::string& gpu : fit.gpus) {
            for (const std::string& software : fit.software) {
                std::vector<ResidualReport> own;
                std::copy_if(
                    reports.begin(), reports.end(), std::back_inserter(own),
                    [&](const ResidualReport& each) {
                        return each.gpu == gpu &&
                               is_parameter_of(
                                   software,
                                   "model.residual." + std::string(name_of(each.residual_class)));
                    });
                if (own.empty()) continue;
                hardware::Source source;
                source.text = "fit of " + fit.program + " by ridge calibrate --built-in";
                source.command = SharedText::copy_of(inputs.command);
                source.records = SharedText::copy_of(inputs.names);
                source.digest = SharedText::copy_of(inputs.digest);
                source.date = SharedText::copy_of(inputs.date);
                Description& trees = corrections(gpu, software);
                trees = built_trees({.reports = std::move(own),
                                     .gpu = gpu,
                                     .source = std::move(source),
                                     .keep = fit.keep,
                                     .committed = trees});
                keep_corrections(gpu, software);
            }
        }
    }

    const std::vector<PlannedFit>& fits_;
    FitStarts starts_;
    BuildRequest request_;
    Values own_;
    Values later_;
    std::map<Place, Description> values_;
    std::set<Place> written_;
    std::map<Place, Description> trees_;
    std::set<Place> written_trees_;
    std::map<std::vector<std::string>, std::string> dates_;
    std::map<std::vector<std::string>, std::vector<MeasuredRow>> rows_;
    std::vector<SkippedFit> skipped_;
};

}  // namespace

CalibrationPlan read_plan(const std::string& toml, const std::string& file) {
    hardware::Loaded loaded = hardware::load_text(toml, file, model::schema(), plan_form);
    CalibrationPlan plan;
    std::set<std::array<std::string, 3>> written;
    for (const hardware::Row& row : loaded.description.rows) {
        plan.fits.push_back(planned(row, loaded.problems));
        const PlannedFit& fit = plan.fits.back();
        for (const std::string& gpu : fit.gpus) {
            for (const std::string& software : fit.software) {
                if (written.insert({gpu, software, fit.source}).second) continue;
                loaded.problems.push_back({row.location, "two fits write \"" + fit.source +
                                                             "\" for " + software + " on " + gpu});
            }
        }
    }
    hardware::throw_problems(loaded.problems);
    plan.starts = std::move(loaded.description);
    return plan;
}

Built build_calibrations(const CalibrationPlan& plan, BuildRequest request) {
    Builder builder(plan, std::move(request));
    builder.run();
    return builder.result();
}

}  // namespace ridge::measure
