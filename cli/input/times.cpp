#include "cli/input/times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <sstream>

#include "cli/console/table.h"
#include "hardware/error.h"
#include "hardware/input_file.h"
#include "hardware/units.h"
#include "measure/record/record.h"
#include "programs/report/trace_report.h"
#include "programs/traces/nsight_compute.h"
#include "programs/traces/rocprofv3.h"
#include "programs/traces/trace_set.h"

namespace ridge::cli {
namespace {

bool ends_with_any(const std::string& text, std::initializer_list<std::string_view> endings) {
    for (const std::string_view ending : endings) {
        if (text.ends_with(ending)) return true;
    }
    return false;
}

/// Whether one of the first lines is the header of a profiler's table.
bool is_profiler_table(const std::string& path) {
    constexpr int most_lines = 200;
    const auto file = open_input(path);
    std::string line;
    for (int i = 0; i < most_lines && std::getline(*file, line); ++i) {
        if (programs::is_nsight_compute_header(line)) return true;
        if (i == 0 && programs::is_rocprofv3_header(line)) return true;
    }
    return false;
}

void write_damaged(const Context& context, const std::vector<measure::Damage>& damaged) {
    constexpr std::size_t most_named = 20;
    for (std::size_t i = 0; i < std::min(damaged.size(), most_named); ++i) {
        context.err << "ridge: " << printable(to_string(damaged[i].location)) << ": "
                    << printable(damaged[i].message) << '\n';
    }
    if (damaged.size() > most_named) {
        context.err << "ridge: and " << damaged.size() - most_named << " more rows\n";
    }
}

void add_table(const Context& context, std::istream& stream, const std::string& name,
               const answers::TimesOptions& options, Times& times) {
    answers::TimesTable table = answers::read_times(stream, name, options);
    write_damaged(context, table.damaged);
    times.damaged = times.damaged || !table.damaged.empty();
    if (!table.unused.empty()) {
        context.err << printable(
            fmt::format("ridge: {}: not used: {}\n", name, fmt::join(table.unused, ", ")));
    }
    std::move(table.rows.begin(), table.rows.end(), std::back_inserter(times.rows));
}

void add_records(const Context& context, const std::string& path, Times& times) {
    const measure::RecordFile file = measure::read_all_records({path});
    write_damaged(context, file.damaged);
    times.damaged = times.damaged || !file.damaged.empty();
    std::vector<answers::TimedOperation> rows = answers::times_of(file.records);
    std::move(rows.begin(), rows.end(), std::back_inserter(times.rows));
}

/// The operators of a profiler's trace or report; one row for calls with the same arguments.
void add_trace(const std::string& path, Machines& machines, const answers::TimesOptions& options,
               Times& times) {
    const programs::Trace trace = programs::read_run({path});
    std::string gpu = trace.device_name();
    if (gpu.empty()) gpu = options.usual_gpu;
    if (gpu.empty()) {
        throw InputError("gpu: the trace does not name its GPU", {.file = path}, "give --gpu NAME");
    }
    const programs::TraceReport report = programs::report_of(trace, machines.at(gpu));
    for (const programs::OperatorRow& row : report.operators) {
        if (row.count < 1) continue;
        times.rows.push_back({.name = row.shape.empty() ? row.name : row.name + " " + row.shape,
                              .steps = row.steps,
                              .gpu = gpu,
                              .measured = row.measured / static_cast<double>(row.count),
                              .count = row.count});
    }
}

}  // namespace

TimesKind kind_of_times(const std::string& path) {
    if (path == "-") return TimesKind::table;
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return TimesKind::records;
    if (ends_with_any(path, {".csv"})) {
        return is_profiler_table(path) ? TimesKind::trace : TimesKind::table;
    }
    if (ends_with_any(path, {".json", ".json.gz", ".sqlite", ".ridge", ".pb", ".pb.gz"})) {
        return TimesKind::trace;
    }
    return ends_with_any(path, {".tsv", ".txt"}) ? TimesKind::table : TimesKind::records;
}

Times read_all_times(const Context& context, const std::vector<std::string>& files,
                     Machines& machines, const answers::TimesOptions& options) {
    Times times;
    for (const std::string& path : files) {
        switch (kind_of_times(path)) {
            case TimesKind::trace:
                add_trace(path, machines, options, times);
                break;
            case TimesKind::records:
                add_records(context, path, times);
                break;
            case TimesKind::table:
                if (path == "-") {
                    add_table(context, context.in, "<stdin>", options, times);
                } else {
                    const auto file = open_input(path);
                    add_table(context, *file, path, options, times);
                }
                break;
        }
    }
    if (times.rows.empty()) {
        throw InputError("there is no time to judge", {.file = files.front()});
    }
    return times;
}

Time time_unit(const std::string& word) {
    if (word == "ns") return units::ns;
    if (word == "us") return units::us;
    if (word == "ms") return units::ms;
    return word == "s" ? units::s : Time{};
}

std::string command_text(std::string command, std::span<const std::string> words) {
    for (const std::string& word : words) {
        const bool plain =
            !word.empty() && word.find_first_of(" \t'\"\\$&|;<>()*?`") == std::string::npos;
        command += plain ? " " + word : " '" + word + "'";
    }
    return command;
}

}  // namespace ridge::cli
