// `ridge calibrate --built-in`: makes the calibrations that come with ridge from its records, or checks
// that the files are what the records give.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "cli/commands/calibrate.h"
#include "cli/commands/commands.h"
#include "cli/console/table.h"
#include "hardware/document.h"
#include "hardware/error.h"
#include "measure/fit/built_difference.h"
#include "measure/fit/built_in.h"
#include "plot/export.h"

namespace ridge::cli {
namespace {

std::vector<std::string> listed(const std::string& text) {
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) {
        if (!word.empty()) words.push_back(word);
    }
    return words;
}

/// Adds the files of starts of the plan's GPUs that the tree has.
void add_starts(measure::CalibrationPlan& plan, const std::string& tree) {
    for (const measure::PlannedFit& fit : plan.fits) {
        for (const std::string& gpu : fit.gpus) {
            const std::string file = tree + "/calibration/starts-" + gpu + ".toml";
            if (plan.gpu_starts.contains(gpu) || !std::filesystem::exists(file)) continue;
            plan.gpu_starts.insert(measure::read_starts(hardware::read_text_file(file), file));
        }
    }
}

/// The fits of the plan for the GPUs and the software that were asked for.
measure::CalibrationPlan wanted_fits(const CalibrateArguments& arguments,
                                     const model::Catalogue& catalogue) {
    const std::string file = arguments.tree + "/calibration/plan.toml";
    measure::CalibrationPlan plan = measure::read_plan(hardware::read_text_file(file), file);
    add_starts(plan, arguments.tree);
    std::vector<std::string> software;
    for (const std::string& name : listed(arguments.software)) {
        software.push_back(find_software(catalogue.software(), name).name);
    }
    const std::vector<std::string> gpus =
        arguments.gpu.given() ? arguments.gpu.names() : std::vector<std::string>();
    // Whether a list of what was asked for, if there is one, names any of these.
    const auto asked = [](const std::vector<std::string>& list,
                          const std::vector<std::string>& names) {
        return list.empty() || std::find_first_of(list.begin(), list.end(), names.begin(),
                                                  names.end()) != list.end();
    };
    const std::vector<std::string> programs = listed(arguments.fits);
    bool any = false;
    for (measure::PlannedFit& fit : plan.fits) {
        fit.wanted = asked(software, fit.software) && asked(gpus, fit.gpus) &&
                     asked(programs, {fit.program});
        any = any || fit.wanted;
    }
    if (!any) {
        throw InputError("no fit of the plan is for these GPUs and this software", {.file = file});
    }
    return plan;
}

/// Whether the file agrees with what was made; says where not.
bool agrees(const Context& context, const std::string& path, const measure::BuiltFile& made) {
    if (!std::filesystem::exists(path)) {
        context.err << "ridge: " << printable(path) << " is missing\n";
        return false;
    }
    const auto all = measure::differences(made, hardware::read_text_file(path));
    if (all.empty()) return true;
    context.err << "ridge: " << printable(path) << " is not what the records give\n";
    constexpr std::size_t most = 10;
    constexpr std::size_t most_text = 40;
    for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
        context.err << "  " << all[i].field << ": " << all[i].committed.substr(0, most_text)
                    << " -> " << all[i].made.substr(0, most_text) << '\n';
    }
    if (all.size() > most) context.err << "  and " << all.size() - most << " more\n";
    return false;
}

}  // namespace

int calibrate_built_in(const Context& context, const CalibrateArguments& arguments) {
    model::Catalogue catalogue = model::Catalogue::embedded();
    const measure::CalibrationPlan plan = wanted_fits(arguments, catalogue);
    const auto all = std::count_if(plan.fits.begin(), plan.fits.end(),
                                   [](const measure::PlannedFit& fit) { return fit.wanted; });
    std::int64_t begun = 0;
    const measure::Built built = measure::build_calibrations(
        plan, {.catalogue = std::move(catalogue),
               .tree = arguments.tree,
               .data = arguments.data,
               .progress = [&context, &begun, all](const measure::PlannedFit& fit) {
                   context.err << ++begun << " of " << all << ": fit " << fit.program << " for "
                               << fit.software.front() << " on " << fit.gpus.front()
                               << (fit.gpus.size() > 1 ? " and others\n" : "\n");
               }});
    bool same = true;
    for (const measure::BuiltFile& file : built.files) {
        const std::string path = arguments.tree + "/" + file.path;
        if (arguments.check) {
            same = agrees(context, path, file) && same;
            continue;
        }
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        plot::write_bytes(path, file.text, "calibration");
        context.out << "wrote " << path << '\n';
    }
    for (const measure::SkippedFit& each : built.skipped) {
        context.err << "ridge: left out " << each.fit.program << " for "
                    << each.fit.software.front() << ": " << each.reason << '\n';
    }
    if (arguments.check && same) {
        context.out << built.files.size() << (built.files.size() == 1 ? " file is" : " files are")
                    << " what the records give\n";
    }
    return same ? success : bound_exceeded;
}

}  // namespace ridge::cli
