// The report of `ridge trace`, for commands that record such files themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "cli/options/gpu_options.h"

namespace ridge::cli {

class CommandLine;

struct TraceOptions {
    explicit TraceOptions(CommandLine& line) : gpu(line) {}

    GpuOptions gpu;
    std::vector<std::string> files;
    std::string range;
    std::string execution;  ///< file of an execution trace of the same run
    std::int64_t top = 20;
    std::string format;
    std::string output;  ///< file for a page or charts, instead of text
    bool ranks = false;  ///< the files are the ranks of one run
};

/// Adds --range, --top and --format.
void add_trace_options(CommandLine& line, TraceOptions& options);

/// InputError if the report's file has an unknown ending or cannot be written. Checked before a
/// long trace is read or a program runs.
void require_report_place(const TraceOptions& options);

/// Reads the files and writes the report; returns the exit code.
int report_traces(const Context& context, const TraceOptions& options);

}  // namespace ridge::cli
