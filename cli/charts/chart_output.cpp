#include "cli/charts/chart_output.h"
#include "cli/options/command_line.h"

#include <ostream>
#include <utility>

#include "plot/export.h"
#include "plot/terminal.h"

namespace ridge::cli {

void add_chart_options(CommandLine& line, ChartOutput& output) {
    line.option("-o,--output", output.file,
                "file: .svg, .html, .png or .pdf, or .json for its data (default: the terminal)")
        .value("FILE");
    line.option("--height", output.rows, "height of the drawing in the terminal")
        .value("LINES")
        .in_range(6, 200);
    line.flag("--ascii", output.ascii,
              "draw with ASCII characters only (as without a UTF-8 locale)");
}

void require_place(const ChartOutput& output) {
    if (output.file.empty()) return;
    static_cast<void>(plot::format_of(output.file));
    plot::require_writable(output.file);
}

void write_chart_output(const Context& context, const ChartOutput& output,
                        const plot::Chart& chart) {
    write_chart_output(context, output, std::span(&chart, 1));
}

void write_chart_output(const Context& context, const ChartOutput& output,
                        std::span<const plot::Chart> charts) {
    if (!output.file.empty()) {
        plot::write_charts(output.file, charts);
        context.err << "wrote " << output.file << '\n';
        return;
    }
    bool first = true;
    for (const plot::Chart& chart : charts) {
        if (!std::exchange(first, false)) context.out << '\n';
        context.out << plot::render_terminal(
            chart, {.columns = context.width,
                    .rows = output.rows,
                    .charset = output.ascii || !context.utf8 ? plot::Charset::ascii
                                                             : plot::Charset::unicode,
                    .ink = context.colour ? plot::Ink::ansi : plot::Ink::plain});
    }
}

}  // namespace ridge::cli
