#include "cli/input/timed_runs.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "answers/timed_runs.h"
#include "cli/console/table.h"
#include "cli/input/times.h"
#include "hardware/error.h"
#include "hardware/input_file.h"
#include "measure/record/record.h"
#include "programs/report/trace_report.h"
#include "programs/traces/trace_set.h"

namespace ridge::cli {
namespace {

std::vector<std::string> paths_of(const std::string& side) {
    std::vector<std::string> paths;
    std::istringstream words(side);
    for (std::string path; std::getline(words, path, ',');) {
        if (!path.empty()) paths.push_back(path);
    }
    return paths;
}

/// The files of a folder, in the order of their names; a folder of records stays one.
std::vector<std::string> files_of(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) return {path};
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
        const std::string file = entry.path().string();
        if (kind_of_times(file) != TimesKind::records) files.push_back(file);
    }
    std::sort(files.begin(), files.end());
    return files.empty() ? std::vector{path} : files;
}

answers::TimedRun trace_run(const Context& context, const std::string& path, Machines& machines) {
    const programs::Trace trace = programs::read_run({path});
    if (!trace.read.damage.empty()) {
        context.err << "ridge: " << printable(path) << ": " << printable(trace.read.damage) << '\n';
    }
    // Names and times do not depend on the GPU, so one that is unknown needs no --gpu.
    const std::string device = trace.device_name();
    const bool known = !machines.catalogue().canonical_name(device).empty();
    const std::string any = machines.catalogue().entries().front().name;
    return answers::run_of(trace, programs::report_of(trace, machines.at(known ? device : any)));
}

}  // namespace

std::vector<answers::TimedRun> read_runs(const Context& context, const std::string& side,
                                         Machines& machines) {
    std::vector<answers::TimedRun> runs;
    for (const std::string& path : paths_of(side)) {
        for (const std::string& file : files_of(path)) {
            switch (kind_of_times(file)) {
                case TimesKind::trace:
                    runs.push_back(trace_run(context, file, machines));
                    break;
                case TimesKind::table:
                    runs.push_back(answers::run_of_table(*open_input(file), file));
                    break;
                case TimesKind::records:
                    runs.push_back(
                        answers::run_of(measure::read_all_records({file}).records, file));
                    break;
            }
        }
    }
    const bool none = std::all_of(runs.begin(), runs.end(),
                                  [](const answers::TimedRun& run) { return run.items.empty(); });
    if (none) throw InputError("there is no time to compare", {.file = side});
    return runs;
}

}  // namespace ridge::cli
