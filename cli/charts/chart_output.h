// Writes a chart to the file of -o, or to the terminal.
#pragma once

#include <span>
#include <string>

#include "cli/console/context.h"
#include "plot/chart.h"

namespace ridge::cli {

class CommandLine;

struct ChartOutput {
    std::string file;  ///< .svg, .html, .png, .pdf or .json; empty: drawn with characters
    int rows = 22;
    bool ascii = false;
};

/// Adds -o, --height and --ascii.
void add_chart_options(CommandLine& line, ChartOutput& output);

/// InputError if the file has an unknown ending or cannot be written. Called before long work.
void require_place(const ChartOutput& output);

/// Writes the file (and says so on `err`), or draws on `out`. InputError if it cannot be written.
/// Several charts are placed one below another, many in columns.
void write_chart_output(const Context& context, const ChartOutput& output,
                        std::span<const plot::Chart> charts);
void write_chart_output(const Context& context, const ChartOutput& output,
                        const plot::Chart& chart);

}  // namespace ridge::cli
